"""SentencePiece's `.model` for BPE and Unigram, through its own protobuf (`sentencepiece_model.proto`).

Its symbols are characters.  In BPE any two neighbours merge whose concatenation is a piece, the highest score first; in
Unigram the pieces are taken whose scores sum up highest.  What is no piece becomes the tokens of its bytes, or unknown.
Control symbols are special tokens here; user-defined ones are added tokens of BPE, found in the text as normalised, and
pieces of Unigram that score by their length.  The file says nothing of BOS and EOS around a text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..characters import CharacterModel, ordered_by_score
from ..charsmap import read_charsmap
from ..errors import VocabularyError
from ..files import StrPath, read_bytes, write_atomic
from ..models import Unigram
from ..patterns import PATTERNS, Pattern, get_pattern
from ..rules import BLANK, BYTE_KEYS, Characters, Charsmap, Normalizer, Prepend, Replace, SqueezeBlanks, TokenOptions
from ..spec import TextRules, TokenizerSpec, make_spec
from .character_keys import key_of
from .known import check_special_tokens
from .reading import about

NAMES = (("tokenizer.model",),)
HEAD = re.compile(rb"\n[\x00-\xff]{1,2}\n[\x00-\xff]{1,80}\x15")

_UNIGRAM, _BPE = 1, 2
_MODELS = {3: "word", 4: "character"}
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)
# the largest models have 5 MB; pieces are words
_MOST_BYTES, _LONGEST_PIECE = 1 << 26, 1024
_MARK = Replace(" ", False, BLANK)


def load(
    path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TokenizerSpec:
    """Read a SentencePiece model of the type BPE or Unigram.

    `pattern` cuts the text before it is encoded, which such models do not; `special_tokens` replaces control symbols.

    Raises `VocabularyError` with file and piece on what is broken or not supported, by name; `ImportError` without
    the packages `sentencepiece` and `protobuf`.
    """
    given = check_special_tokens(special_tokens)
    model = _parsed(path)
    with about(path):
        _check(model)
        pieces = _Pieces(model)
        is_bpe = model.trainer_spec.model_type == _BPE
        return make_spec(
            pieces.vocab,
            _merges(pieces) if is_bpe else [],
            pattern=PATTERNS["none"] if pattern is None else get_pattern(pattern),
            special_tokens=pieces.special if given is None else given,
            added_tokens=pieces.user_defined,
            name=name,
            rules=TextRules(_normalizers(model, pieces.kept), strip_blanks=_strips(model)),
            characters=pieces.characters(),
            token_options={text: TokenOptions(normalized=True, verbatim=True) for text in pieces.user_defined},
            model=None if is_bpe else _unigram(pieces, len(model.pieces)),
        )


class _Pieces:
    """The pieces of a model by what they are."""

    def __init__(self, model: Any) -> None:
        self.vocab: dict[int, bytes] = {}
        self.scores: dict[int, float] = {}
        self.special: dict[str, int] = {}
        self.user_defined: dict[str, int] = {}
        self.kept: list[str] = []
        self.unknown: int | None = None
        self.byte_ids: tuple[int, ...] = ()
        self.is_bpe = model.trainer_spec.model_type == _BPE
        self.by_length: list[int] = []
        found: dict[str, int] = {}
        for token_id, row in enumerate(model.pieces):
            place = f"piece {token_id}"
            if not row.piece or row.piece in found:
                problem = f"{row.piece!r} is empty or stands twice; expected each piece once"
                raise VocabularyError(problem, place=place)
            found[row.piece] = token_id
            self._add(token_id, row, place)
        bytes_found = [key for key in BYTE_KEYS if key in found and model.pieces[found[key]].type == _BYTE]
        if model.trainer_spec.byte_fallback and len(bytes_found) < 256:
            raise VocabularyError(f"byte_fallback is set and {len(bytes_found)} bytes have pieces; expected all 256")
        if self.unknown is None:
            raise VocabularyError("no piece has the type UNKNOWN; expected one")
        if model.trainer_spec.byte_fallback:
            self.byte_ids = tuple(found[key] for key in BYTE_KEYS)

    def _add(self, token_id: int, row: Any, place: str) -> None:
        text = row.piece
        if len(text) > _LONGEST_PIECE:
            problem = f"it has {len(text)} characters; expected at most {_LONGEST_PIECE}"
            raise VocabularyError(problem, place=place)
        if row.type == _NORMAL:
            if " " in text:
                raise VocabularyError(f"{text!r} holds a blank; expected U+2581 for each", place=place)
            if math.isnan(row.score):
                raise VocabularyError(f"the score of {text!r} is no number", place=place)
            self.vocab[token_id] = text.replace(BLANK, " ").encode()
            self.scores[token_id] = row.score
        elif row.type == _UNKNOWN:
            if self.unknown is not None:
                raise VocabularyError(f"{text!r} is the second piece of the type UNKNOWN; expected one", place=place)
            self.unknown = self.special[text] = token_id
        elif row.type == _USER_DEFINED:
            self.kept.append(text)
            if self.is_bpe:
                self.user_defined[text.replace(BLANK, " ")] = token_id
            else:
                self.vocab[token_id] = text.replace(BLANK, " ").encode()
                self.scores[token_id] = row.score
                self.by_length.append(token_id)
        elif row.type == _CONTROL:
            if len(text) == 1:
                problem = f"the control symbol {text!r} is one character, which is not supported"
                raise VocabularyError(problem, place=place)
            self.special[text] = token_id
        elif row.type == _BYTE:
            if text not in BYTE_KEYS:
                raise VocabularyError(f"{text!r} has the type BYTE; expected <0x00> to <0xFF>", place=place)
        else:
            raise VocabularyError(f"{text!r} has the type UNUSED, which is not supported", place=place)


    def characters(self) -> Characters:
        """Return what the model has beside its pieces of text."""
        return Characters(self.byte_ids, self.unknown, True, True)


def _merges(pieces: _Pieces) -> list[tuple[bytes, bytes]]:
    """Return the merges that happen when any two neighbours merge whose concatenation is a piece."""
    merges = CharacterModel(pieces.vocab, pieces.characters(), _in_order(pieces)).merges_by_rank()
    return [(pieces.vocab[left], pieces.vocab[right]) for left, right, _ in merges]


def _unigram(pieces: _Pieces, count: int) -> Unigram:
    if pieces.byte_ids and b" " not in pieces.vocab.values():
        # its three bytes would be three tokens of what is one blank here
        raise VocabularyError("byte_fallback is set and U+2581 alone is no piece, which is not supported")
    scores = tuple(pieces.scores.get(token_id, 0.0) for token_id in range(count))
    return Unigram(scores, True, tuple(pieces.by_length))


def _in_order(pieces: _Pieces) -> list[int]:
    """Return the pieces of several characters, the first to merge first."""
    rows = [(pieces.scores[token_id], token_id, token) for token_id, token in pieces.vocab.items()]
    try:
        return ordered_by_score([row for row in rows if len(row[2].decode()) > 1])
    except ValueError as error:
        raise VocabularyError(str(error)) from None


def _parsed(path: StrPath) -> Any:
    model = _proto().ModelProto()
    data = read_bytes(path, most=_MOST_BYTES)
    try:
        model.ParseFromString(data)
    except Exception as error:  # the class of the error is google.protobuf's, of whichever version
        raise VocabularyError(f"{error}; expected a SentencePiece model", path=path) from None
    if not model.pieces:
        raise VocabularyError("found no piece; expected a SentencePiece model", path=path)
    return model


def _proto() -> Any:
    try:
        from sentencepiece import sentencepiece_model_pb2
    except ImportError:
        raise ImportError(
            "SentencePiece models need the packages sentencepiece and protobuf: pip install 'bbpe[sentencepiece]'"
        ) from None
    return sentencepiece_model_pb2


def _check(model: Any) -> None:
    """Refuse what is not followed."""
    kind = model.trainer_spec.model_type
    if kind not in (_UNIGRAM, _BPE):
        problem = f"the model is of the type {_MODELS.get(kind, kind)}; expected BPE or Unigram"
        raise VocabularyError(problem, place="trainer_spec")
    if model.trainer_spec.treat_whitespace_as_suffix:
        raise VocabularyError("treat_whitespace_as_suffix is not supported; expected false", place="trainer_spec")
    if not model.normalizer_spec.escape_whitespaces:
        raise VocabularyError("escape_whitespaces is false; expected true", place="normalizer_spec")
    if model.denormalizer_spec.precompiled_charsmap:
        raise VocabularyError("a table of the denormalizer is not supported", place="denormalizer_spec")


def _normalizers(model: Any, kept: Sequence[str]) -> tuple[Normalizer, ...]:
    """Return the rules of a model; user-defined symbols are `kept` as they are in the text given."""
    spec = model.normalizer_spec
    rules: list[Normalizer] = []
    prefix = BLANK if spec.add_dummy_prefix else ""
    if spec.precompiled_charsmap:
        read_charsmap(spec.precompiled_charsmap)
        rules.append(Charsmap(spec.precompiled_charsmap, tuple(kept), "" if spec.remove_extra_whitespaces else prefix))
    if spec.remove_extra_whitespaces:
        blank = next((text for text in kept if " " in text or BLANK in text), None)
        if blank is not None:
            raise VocabularyError(
                f"user-defined symbol {blank!r} holds a blank and remove_extra_whitespaces is true, which together are "
                "not supported"
            )
        rules.append(SqueezeBlanks())
    if prefix and (spec.remove_extra_whitespaces or not spec.precompiled_charsmap):
        rules.append(Prepend(prefix))
    return (*rules, _MARK)


def _strips(model: Any) -> int:
    spec = model.normalizer_spec
    return 1 if spec.add_dummy_prefix or spec.remove_extra_whitespaces else 0


def dump(spec: TokenizerSpec, path: StrPath) -> None:
    """Write a SentencePiece model of the type BPE or Unigram.

    Raises `VocabularyError` on what such a model cannot say: symbols that are bytes, splits, rules of other kinds,
    holes between ids, merges that are not all those that the pieces allow, sums of scores that are not SentencePiece's.
    """
    characters = spec.characters
    if characters is None or not characters.marks_blanks:
        raise VocabularyError("its symbols are not characters with U+2581 for blanks; write tokenizer.json", path=path)
    table, squeezes, prepends = _rules_of(spec, path)
    if isinstance(spec.model, Unigram):
        if not spec.model.is_float:
            problem = "its scores are summed up as HF's tokenizers does, which may give other ids; write tokenizer.json"
            raise VocabularyError(problem, path=path)
    else:
        _check_merges(spec, characters, path)
    proto = _proto()
    model = proto.ModelProto()
    model.trainer_spec.model_type = _BPE if spec.model is None else _UNIGRAM
    model.trainer_spec.byte_fallback = bool(characters.byte_ids)
    model.trainer_spec.vocab_size = spec.vocab_size
    model.normalizer_spec.name = "user_defined" if table else "identity"
    model.normalizer_spec.precompiled_charsmap = table
    model.normalizer_spec.add_dummy_prefix = prepends
    model.normalizer_spec.remove_extra_whitespaces = squeezes
    for token_id, (text, score, kind) in enumerate(_rows(spec, characters, path)):
        model.pieces.add(piece=text, score=score, type=kind)
        if kind == _UNKNOWN:
            model.trainer_spec.unk_id, model.trainer_spec.unk_piece = token_id, text
    for field, text in (("bos", "<s>"), ("eos", "</s>"), ("pad", "<pad>")):
        setattr(model.trainer_spec, f"{field}_id", spec.special_tokens.get(text, -1))
    write_atomic(path, model.SerializeToString())


def _rules_of(spec: TokenizerSpec, path: StrPath) -> tuple[bytes, bool, bool]:
    """Return the table, whether blanks are squeezed and whether one is put in front."""
    left = list(spec.rules.normalizers)
    table = left.pop(0) if left and isinstance(left[0], Charsmap) else Charsmap(b"")
    assert isinstance(table, Charsmap)
    squeezes, prepends = SqueezeBlanks() in left, Prepend(BLANK) in left
    expected = [*([SqueezeBlanks()] if squeezes else []), *([Prepend(BLANK)] if prepends else []), _MARK]
    others = spec.rules.prefix or spec.rules.pre_tokenizers or spec.pattern != PATTERNS["none"] or spec.whole_pretokens
    verbatim = TokenOptions(normalized=True, verbatim=True)
    options = {spec.token_options.get(text) for text in spec.added_tokens} | {
        spec.token_options.get(text, verbatim) for text in spec.special_tokens
    }
    if left != expected or table.prefix not in ("", BLANK) or others or options - {verbatim}:
        raise VocabularyError(
            "a SentencePiece model has no place for its normalizers, splits or options of tokens; write tokenizer.json",
            path=path,
        )
    return table.data, squeezes, prepends or bool(table.prefix)


def _rows(spec: TokenizerSpec, characters: Characters, path: StrPath) -> list[tuple[str, float, int]]:
    """Return all pieces in order of ids: text, score and type."""
    rows: dict[int, tuple[str, float, int]] = {}
    if isinstance(spec.model, Unigram):
        for token_id, token in spec.vocab.items():
            kind = _USER_DEFINED if token_id in spec.model.user_defined else _NORMAL
            rows[token_id] = (key_of(token, characters), spec.model.scores[token_id], kind)
    else:
        rank = {made: number for number, (_, _, made) in enumerate(spec.merges or ())}
        for token_id, token in spec.vocab.items():
            rows[token_id] = (key_of(token, characters), -float(rank.get(token_id, len(rank) + token_id)), _NORMAL)
    rows.update({token_id: (key, 0.0, _BYTE) for token_id, key in zip(characters.byte_ids, BYTE_KEYS, strict=False)})
    added = {token_id: text.replace(" ", BLANK) for text, token_id in spec.added_tokens.items()}
    rows.update({token_id: (text, 0.0, _USER_DEFINED) for token_id, text in added.items()})
    for text, token_id in spec.special_tokens.items():
        rows[token_id] = (text, 0.0, _UNKNOWN if token_id == characters.unknown else _CONTROL)
    if characters.unknown not in rows or sorted(rows) != list(range(len(rows))):
        problem = "ids have holes, or there is no unknown token; a SentencePiece model numbers its pieces from 0"
        raise VocabularyError(problem, path=path)
    return [rows[token_id] for token_id in sorted(rows)]


def _check_merges(spec: TokenizerSpec, characters: Characters, path: StrPath) -> None:
    """Refuse merges that are not those of any two neighbours whose concatenation is a token."""
    order = list(dict.fromkeys(made for _, _, made in spec.merges or ()))
    several = [token_id for token_id, token in spec.vocab.items() if len(token.decode()) > 1]
    order += sorted(set(several).difference(order))
    model = CharacterModel(spec.vocab, characters, order)
    if model.merges_by_rank() != model.live_merges(spec.merges or ()):
        raise VocabularyError(
            "its list of merges differs from all merges that its tokens allow, which is what a SentencePiece model "
            "does; write tokenizer.json",
            path=path,
        )
