"""SentencePiece's `.model` files, by the numbers of the fields in `sentencepiece_model.proto`.

The file does not define BOS and EOS around a text.  Fields for training are ignored, and unknown ones are refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from struct import pack

from ...errors import VocabularyError
from ...files import StrPath, read_bytes
from ...lazy import safe_import
from ...spec.spec import TokenizerSpec
from ..common.given import Given
from ..common.reading import about
from ..rows import FORMATS
from .piece_rows import CONTROL, NORMAL, UNKNOWN, PieceRow, PieceRows
from .pieces import UNKNOWN_TEXT, PieceModel, Unit, pieces_of, spec_of
from .protobuf import BYTES, Message, WireError, bytes_field, fields_of, float_of, number_field

_UNIGRAM, _BPE, _WORDS = 1, 2, 3
_UNITS: dict[int, Unit] = {_WORDS: "word", 4: "character"}
#: The name of a normalizer by which bbpe leaves U+2581 as it is, where SentencePiece takes it for a blank.
_ESCAPES = "bbpe_escaped_marks"
_OF_MARIAN = "source.spm"
_MOST_BYTES = 1 << 26  # the largest models have 5 MB

# numbers of fields: of a model, of a piece, of the spec of its trainer, and of the spec of its normalizer
_PIECES, _TRAINER, _NORMALIZER, _DENORMALIZER = 1, 2, 3, 5
_TEXT, _SCORE, _KIND = 1, 2, 3
_MODEL_TYPE, _VOCAB_SIZE, _SUFFIX, _FALLBACK, _UNK_ID, _UNK_SURFACE, _UNK_PIECE = 3, 4, 24, 35, 40, 44, 45
# the numbers of the ids and of the texts of symbols by their uses, and their usual texts
_ENDS = {"bos": (41, 46, "<s>"), "eos": (42, 47, "</s>"), "pad": (43, 48, "<pad>")}
_NAME, _TABLE, _PREPENDS, _SQUEEZES, _ESCAPES_BLANKS = 1, 2, 3, 4, 5
_ENCODES_CASE = 7  # in Marian's fork of SentencePiece
#: All fields, by number; those without a name above are for training and self-tests, and are ignored.
_OF_MODEL, _OF_PIECE, _OF_NORMALIZER = frozenset(range(1, 6)), frozenset((_TEXT, _SCORE, _KIND)), frozenset(range(1, 8))
_OF_TRAINER = frozenset((*range(1, 8), *range(10, 27), *range(30, 37), *range(40, 56)))


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read a SentencePiece model of any type; in a folder, as the class of its configuration reads it.

    `pattern` splits the text before it is encoded, which such models do not do themselves.  `special_tokens` replaces
    the control symbols.

    Raises `VocabularyError` naming the file and the piece or field that is broken or not supported.
    """
    if Path(path).is_dir():
        folder = given.folder_of(Path(path))
        if any(folder.stated):
            safe_import("bbpe.formats.transformers.load")
            from ..transformers.load import load_pieces

            made = load_pieces(read_model, folder, given)
            if made is not None:
                return made
        names = [file for (file,) in FORMATS["sentencepiece"].names]
        path = folder.opened(next(folder.path / file for file in names if (folder.path / file).is_file()))
        if Path(path).name == _OF_MARIAN:
            problem = "no file names the class MarianTokenizer, which gives pieces the ids of a vocab.json"
            way_out = f"name it in tokenizer_config.json, or load {_OF_MARIAN} alone for the ids of SentencePiece"
            raise VocabularyError(f"{problem}; {way_out}", path=path)
    pieces = read_model(path)
    with about(path):
        return spec_of(pieces, given, place=_place)


def read_model(path: StrPath) -> PieceModel:
    """Return the pieces and the flags of a model; `VocabularyError` naming what is broken or not supported."""
    data = read_bytes(path, most=_MOST_BYTES)
    with about(path):
        try:
            return _model_of(data)
        except WireError as problem:
            raise VocabularyError(f"{problem}; expected a SentencePiece model") from None


def _model_of(data: bytes) -> PieceModel:
    rows, at = PieceRows.of_model(data)
    more: list[PieceRow] = []
    joined: dict[int, bytes] = {_TRAINER: b"", _NORMALIZER: b"", _DENORMALIZER: b""}
    for number, kind, value in fields_of(data[at:]):
        if number == _PIECES and kind == BYTES and isinstance(value, bytes):
            more.append(_piece(len(rows) + len(more), value))
        elif number in joined and isinstance(value, bytes):
            joined[number] += value
        else:
            _refuse_unknown((number,), _OF_MODEL, None)
    if more:
        rows = PieceRows([*rows, *more])
    if not rows:
        raise VocabularyError("found no piece; expected a SentencePiece model")
    trainer, normalizer, denormalizer = map(Message.of, joined.values())
    _check(trainer, normalizer, denormalizer)
    model_type = trainer.number(_MODEL_TYPE, _UNIGRAM)
    return PieceModel(
        rows,
        is_bpe=model_type != _UNIGRAM,
        byte_fallback=bool(trainer.number(_FALLBACK, 0)),
        add_dummy_prefix=bool(normalizer.number(_PREPENDS, 1)),
        remove_extra_whitespaces=bool(normalizer.number(_SQUEEZES, 1)),
        charsmap=normalizer.data(_TABLE),
        denormalizer=denormalizer.data(_TABLE),
        is_suffix=bool(trainer.number(_SUFFIX, 0)),
        marks_blanks=bool(normalizer.number(_ESCAPES_BLANKS, 1)),
        escapes_marks=normalizer.data(_NAME) == _ESCAPES.encode(),
        unit=_UNITS.get(model_type, "piece"),
        names=_names(rows, trainer),
        unknown_text=_text(trainer.data(_UNK_SURFACE, UNKNOWN_TEXT.encode()), "trainer_spec.unk_surface"),
    )


def _names(rows: PieceRows, trainer: Message) -> dict[str, str]:
    """Return the texts of the unknown piece and of control symbols by their uses, which their texts alone define."""
    found = {"unk": next((rows[token_id][0] for token_id in rows.of_kind(UNKNOWN)), "")}
    controls = {rows[token_id][0] for token_id in rows.of_kind(CONTROL)}
    for use, (_, number, usual) in _ENDS.items():
        text = _text(trainer.data(number, usual.encode()), f"trainer_spec.{use}_piece")
        if text in controls:
            found[use] = text
    return found


def _place(token_id: int) -> str:
    return f"piece {token_id}"


def _piece(token_id: int, row: bytes) -> PieceRow:
    message = Message.of(row)
    _refuse_unknown(message.values, _OF_PIECE, _place(token_id))
    score = float_of(message.data(_SCORE, bytes(4)))
    return PieceRow(_text(message.data(_TEXT), _place(token_id)), score, message.number(_KIND, NORMAL))


def _text(value: bytes, place: str) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise VocabularyError(f"{value!r} is not valid UTF-8; expected text", place=place) from None


def _refuse_unknown(numbers: Iterable[int], known: frozenset[int], place: str | None) -> None:
    """Refuse a field that SentencePiece does not have, because it might change ids."""
    unknown = min(set(numbers) - known, default=None)
    if unknown is not None:
        raise VocabularyError(f"unknown field {unknown}; expected those of SentencePiece 0.2", place=place)


def _check(trainer: Message, normalizer: Message, denormalizer: Message) -> None:
    """Refuse models with options that are not supported."""
    _refuse_unknown(trainer.values, _OF_TRAINER, "trainer_spec")
    _refuse_unknown(normalizer.values, _OF_NORMALIZER, "normalizer_spec")
    _refuse_unknown(denormalizer.values, _OF_NORMALIZER, "denormalizer_spec")
    for place, spec in (("normalizer_spec", normalizer), ("denormalizer_spec", denormalizer)):
        found = spec.number(_ENCODES_CASE, 0)
        if found:
            problem = f"field {_ENCODES_CASE} is {found}, with which Marian's fork of SentencePiece encodes case"
            raise VocabularyError(f"{problem}, which is not supported; expected 0", place=place)
    kind = trainer.number(_MODEL_TYPE, _UNIGRAM)
    if kind not in (_UNIGRAM, _BPE, *_UNITS):
        problem = f"the model is of the type {kind}; expected {_UNIGRAM} to {max(_UNITS)}"
        raise VocabularyError(problem, place="trainer_spec")
    flags = (_PREPENDS, _SQUEEZES, _ESCAPES_BLANKS)
    if denormalizer.data(_TABLE) and any(denormalizer.number(flag, 1) for flag in flags):
        problem = "found a table with rules for blanks; expected a table alone, as SentencePiece's trainer writes it"
        raise VocabularyError(problem, place="denormalizer_spec")


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a SentencePiece model of the type BPE, Unigram or words.

    Raises `VocabularyError` on a spec that such a model cannot express; `pieces_of` lists the reasons.
    """
    pieces = pieces_of(spec)
    rows = b"".join(bytes_field(_PIECES, _row(*piece)) for piece in pieces.pieces)
    unknown_id, unknown = next((i, text) for i, (text, _, kind) in enumerate(pieces.pieces) if kind == UNKNOWN)
    kind = _WORDS if pieces.unit == "word" else _BPE if pieces.is_bpe else _UNIGRAM
    trainer = number_field(_MODEL_TYPE, kind) + number_field(_VOCAB_SIZE, len(pieces.pieces))
    trainer += number_field(_SUFFIX, 1) if pieces.is_suffix else b""
    trainer += number_field(_FALLBACK, int(pieces.byte_fallback)) + number_field(_UNK_ID, unknown_id)
    ends = [(row, pieces.names.get(use, row[2])) for use, row in _ENDS.items()]
    trainer += b"".join(number_field(number, spec.special_tokens.get(text, -1)) for (number, _, _), text in ends)
    trainer += bytes_field(_UNK_SURFACE, pieces.unknown_text.encode()) + bytes_field(_UNK_PIECE, unknown.encode())
    trainer += b"".join(bytes_field(number, text.encode()) for (_, number, usual), text in ends if text != usual)
    plain = "user_defined" if pieces.charsmap else "identity"
    normalizer = bytes_field(_NAME, (_ESCAPES if pieces.escapes_marks else plain).encode())
    normalizer += bytes_field(_TABLE, pieces.charsmap) + number_field(_PREPENDS, int(pieces.add_dummy_prefix))
    normalizer += number_field(_SQUEEZES, int(pieces.remove_extra_whitespaces))
    normalizer += b"" if pieces.marks_blanks else number_field(_ESCAPES_BLANKS, 0)
    data = rows + bytes_field(_TRAINER, trainer) + bytes_field(_NORMALIZER, normalizer)
    if pieces.denormalizer:
        table = bytes_field(_NAME, b"user_defined") + bytes_field(_TABLE, pieces.denormalizer)
        table += b"".join(number_field(flag, 0) for flag in (_PREPENDS, _SQUEEZES, _ESCAPES_BLANKS))
        data += bytes_field(_DENORMALIZER, table)
    return {path: data}


def _row(text: str, score: float, kind: int) -> bytes:
    number = bytes((_SCORE << 3 | 5,)) + pack("<f", score)
    return bytes_field(_TEXT, text.encode()) + number + number_field(_KIND, kind)
