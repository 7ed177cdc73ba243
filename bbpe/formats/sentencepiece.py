"""SentencePiece's `.model` files for BPE and Unigram, read with its protobuf (`sentencepiece_model.proto`).

The file does not define BOS and EOS around a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import VocabularyError
from ..files import StrPath, read_bytes
from ..spec.spec import TokenizerSpec
from ..splitting.patterns import Pattern
from .known import check_special_tokens
from .pieces import UNKNOWN, Piece, PieceModel, Unit, pieces_of, spec_of
from .reading import about

_UNIGRAM, _BPE = 1, 2
_UNITS: dict[int, Unit] = {3: "word", 4: "character"}
#: The name of a normalizer by which bbpe leaves U+2581 as it is, where SentencePiece takes it for a blank.
_ESCAPES = "bbpe_escaped_marks"
_MOST_BYTES = 1 << 26  # the largest models have 5 MB


def load(
    path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TokenizerSpec:
    """Read a SentencePiece model of the type BPE or Unigram.

    `pattern` splits the text before it is encoded, which such models do not do themselves.  `special_tokens` replaces
    the control symbols.

    Raises `VocabularyError` naming the file and the piece or field that is broken or not supported; `ImportError`
    without the packages `sentencepiece` and `protobuf`.
    """
    specials = check_special_tokens(special_tokens)
    model = _parsed(path)
    with about(path):
        _check(model)
        normalizer = model.normalizer_spec
        pieces = PieceModel(
            [_piece(token_id, row) for token_id, row in enumerate(model.pieces)],
            is_bpe=model.trainer_spec.model_type != _UNIGRAM,
            byte_fallback=model.trainer_spec.byte_fallback,
            add_dummy_prefix=normalizer.add_dummy_prefix,
            remove_extra_whitespaces=normalizer.remove_extra_whitespaces,
            charsmap=normalizer.precompiled_charsmap,
            is_suffix=model.trainer_spec.treat_whitespace_as_suffix,
            escapes_marks=normalizer.name == _ESCAPES,
            unit=_UNITS.get(model.trainer_spec.model_type, "piece"),
            unknown_text=_text(model.trainer_spec.unk_surface, "trainer_spec.unk_surface"),
        )
        return spec_of(pieces, place=_place, pattern=pattern, special_tokens=specials, name=name)


def _place(token_id: int) -> str:
    return f"piece {token_id}"


def _piece(token_id: int, row: Any) -> Piece:
    # protobuf returns bytes for a string that is not UTF-8
    return Piece(_text(row.piece, _place(token_id)), row.score, row.type)


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise VocabularyError(f"{value!r} is not valid UTF-8; expected text", place=place)
    return value


def _parsed(path: StrPath) -> Any:
    model = _proto().ModelProto()
    data = read_bytes(path, most=_MOST_BYTES)
    try:
        model.ParseFromString(data)
    except Exception as error:  # the class of the error depends on the version of protobuf
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
    """Refuse models with options that are not supported."""
    kind = model.trainer_spec.model_type
    if kind not in (_UNIGRAM, _BPE, *_UNITS):
        problem = f"the model is of the type {kind}; expected {_UNIGRAM} to {max(_UNITS)}"
        raise VocabularyError(problem, place="trainer_spec")
    if not model.normalizer_spec.escape_whitespaces:
        raise VocabularyError("escape_whitespaces is false; expected true", place="normalizer_spec")
    if model.denormalizer_spec.precompiled_charsmap:
        raise VocabularyError("found a normalization table, which is not supported", place="denormalizer_spec")


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a SentencePiece model of the type BPE or Unigram.

    Raises `VocabularyError` on a spec that such a model cannot express; `pieces_of` lists the reasons.
    """
    pieces = pieces_of(spec, path)
    model = _proto().ModelProto()
    model.trainer_spec.model_type = _BPE if pieces.is_bpe else _UNIGRAM
    model.trainer_spec.byte_fallback = pieces.byte_fallback
    model.trainer_spec.vocab_size = len(pieces.pieces)
    model.trainer_spec.unk_surface = pieces.unknown_text
    plain = "user_defined" if pieces.charsmap else "identity"
    model.normalizer_spec.name = _ESCAPES if pieces.escapes_marks else plain
    model.normalizer_spec.precompiled_charsmap = pieces.charsmap
    model.normalizer_spec.add_dummy_prefix = pieces.add_dummy_prefix
    model.normalizer_spec.remove_extra_whitespaces = pieces.remove_extra_whitespaces
    for token_id, (text, score, kind) in enumerate(pieces.pieces):
        model.pieces.add(piece=text, score=score, type=kind)
        if kind == UNKNOWN:
            model.trainer_spec.unk_id, model.trainer_spec.unk_piece = token_id, text
    for field, text in (("bos", "<s>"), ("eos", "</s>"), ("pad", "<pad>")):
        setattr(model.trainer_spec, f"{field}_id", spec.special_tokens.get(text, -1))
    return {path: model.SerializeToString()}
