"""A view for `sentencepiece`: the interface of its `SentencePieceProcessor` over the engine of bbpe.

The package `sentencepiece` is not needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from .. import formats
from ..core.normalizer import Normalizer
from ..errors import VocabularyError
from ..files import ReadFile, StrPath
from ..formats.piece_rows import BYTE, CONTROL, UNKNOWN, UNUSED, Piece, rows_of
from ..lazy import lazy_property, np
from ..loading import load
from ..pipeline.alignment import align
from ..pipeline.compiled_normalizers import compiled_normalizer
from ..pipeline.normalizers import normalizer
from ..spec.models import WordLevelModel
from ..spec.rules import SPACE_MARK, SqueezeBlanks
from ..text import well_formed
from ..tokenizer import Tokenizer
from .piece_calls import of_bytes, snake_case

_T = TypeVar("_T")
_Kind: TypeAlias = type | str
_KINDS = (int, str, "numpy")
# the names of the pieces around a text, and of padding, unless a model's files name others
_NAMED = {"bos": "<s>", "eos": "</s>", "pad": "<pad>"}


@snake_case
class SentencePieceProcessor:
    """A tokenizer with the interface of `sentencepiece.SentencePieceProcessor`; `Tokenizer.as_sentencepiece` makes one.

    Each method has its name in CamelCase and in snake_case, and takes one text or a list of texts.  It differs from
    sentencepiece in three points: `out_type` is `int`, `str` or "numpy"; pieces of `emit_unk_piece=False` that no
    model has are the normalized text; and scores that no id depends on (of BPE, of characters, of words) only have the
    right order.

    Args:
        model_file: The path of a model.
        model_proto: The bytes of a model.
        out_type: What `Encode` returns: `int` for ids, `str` for pieces, "numpy" for int32 arrays.
        add_bos: Whether `Encode` adds the piece for the beginning of a text.
        add_eos: Whether `Encode` adds the piece for the end of a text.
        reverse: Whether `Encode` reverses the order.
        emit_unk_piece: Whether the piece of unknown text is that of the model, not the text.
        enable_sampling: Whether `Encode` draws a random segmentation.
        nbest_size: The number of segmentations to draw from; -1 draws from all.
        alpha: The smoothing of Unigram's segmentations, or the dropout of BPE.
        num_threads: The number of threads; -1 uses every core.

    Example:
        >>> tok = bbpe.train_from_iterator(["see my dogs", "see me"], 300, model="unigram")
        >>> sp = tok.as_sentencepiece()
        >>> sp.Decode(sp.EncodeAsIds("see my dogs")), "".join(sp.encode_as_pieces("see me"))
        ('see my dogs', '▁see▁me')
    """

    def __init__(
        self, model_file: StrPath | None = None, model_proto: bytes | None = None, out_type: _Kind = int,
        add_bos: bool = False, add_eos: bool = False, reverse: bool = False, emit_unk_piece: bool = False,
        enable_sampling: bool = False, nbest_size: int = -1, alpha: float = 0.1, num_threads: int = -1,
    ) -> None:  # fmt: skip
        self._options: dict[str, Any] = {
            "out_type": _kind(out_type), "add_bos": add_bos, "add_eos": add_eos, "reverse": reverse,
            "emit_unk_piece": emit_unk_piece, "enable_sampling": enable_sampling, "nbest_size": nbest_size,
            "alpha": alpha, "num_threads": num_threads,
        }  # fmt: skip
        self._found: _Model | None = None
        if model_file is not None or model_proto is not None:
            self.Load(model_file, model_proto)

    @classmethod
    def from_file(cls, model_file: StrPath, **options: Any) -> SentencePieceProcessor:
        """Return a processor for the model of a file; `options` are those of the class."""
        return cls(model_file, **options)

    @classmethod
    def from_proto(cls, model_proto: bytes, **options: Any) -> SentencePieceProcessor:
        """Return a processor for the bytes of a model; `options` are those of the class."""
        return cls(None, model_proto, **options)

    @classmethod
    def _of(cls, tokenizer: Tokenizer) -> SentencePieceProcessor:
        """Return a view of a tokenizer."""
        made = cls()
        made._found = _Model(tokenizer)
        return made

    @property
    def _model(self) -> _Model:
        if self._found is None:
            raise VocabularyError("no model is loaded; call Load(model_file)")
        return self._found

    # -- models ----------------------------------------------------------------------------------------------

    def Load(self, model_file: StrPath | None = None, model_proto: bytes | None = None) -> bool:
        """Load a model from a file or from its bytes."""
        if (model_file is None) == (model_proto is None):
            raise ValueError("found both or neither of model_file and model_proto; expected one of them")
        if model_file is not None:
            self._found = _Model(load(model_file))
        else:
            assert model_proto is not None
            source = ReadFile(Path("model_proto"), bytes(model_proto))
            self._found = _Model(Tokenizer(formats.FORMATS["sentencepiece"].load(source)))
        return True

    def LoadFromFile(self, filename: StrPath) -> bool:
        """Load a model from a file."""
        return self.Load(filename)

    def LoadFromSerializedProto(self, serialized: bytes) -> bool:
        """Load a model from its bytes."""
        return self.Load(model_proto=serialized)

    def serialized_model_proto(self) -> bytes:
        """Return a model with the same ids, as bytes; `VocabularyError` when such a model cannot hold the tokenizer."""
        path = Path("model_proto")
        return formats.FORMATS["sentencepiece"].written(self._model.tokenizer.spec, path)[path]

    # -- encoding --------------------------------------------------------------------------------------------

    def Encode(self, input: Any, out_type: _Kind | None = None, **options: Any) -> Any:
        """Return the ids or the pieces of a text, or of each text of a list; `options` are those of the class."""
        given = self._with(options, out_type)
        if not isinstance(input, list):
            return self._one(input, given)
        if not given["enable_sampling"] and given["out_type"] is int:
            threads = None if given["num_threads"] < 0 else max(given["num_threads"], 1)
            rows = self._model.tokenizer.encode_batch([_text(text) for text in input], threads=threads)
            return [self._around(row, given) for row in rows]
        return [self._one(text, given) for text in input]

    def EncodeAsIds(self, input: Any, **options: Any) -> Any:
        """Return the ids of a text, or of each text of a list."""
        return self.Encode(input, int, **options)

    def EncodeAsPieces(self, input: Any, **options: Any) -> Any:
        """Return the pieces of a text, or of each text of a list."""
        return self.Encode(input, str, **options)

    def EncodeAsNumpy(self, input: Any, **options: Any) -> Any:
        """Return the ids of a text as int32[n], or those of each text of a list."""
        return self.Encode(input, "numpy", **options)

    def SampleEncodeAsIds(
        self,
        input: Any,
        nbest_size: int | None = None,
        alpha: float | None = None,
        **options: Any,
    ) -> Any:
        """Return the ids of a random segmentation."""
        return self.Encode(input, int, enable_sampling=True, nbest_size=nbest_size, alpha=alpha, **options)

    def SampleEncodeAsPieces(
        self,
        input: Any,
        nbest_size: int | None = None,
        alpha: float | None = None,
        **options: Any,
    ) -> Any:
        """Return the pieces of a random segmentation."""
        return self.Encode(input, str, enable_sampling=True, nbest_size=nbest_size, alpha=alpha, **options)

    def NBestEncode(
        self,
        input: Any,
        nbest_size: int | None = None,
        out_type: _Kind | None = None,
        **options: Any,
    ) -> Any:
        """Return the best segmentations of a text, or of each text of a list; `TypeError` if no model scores them."""
        if isinstance(input, list):
            return [self.NBestEncode(text, nbest_size, out_type, **options) for text in input]
        given = self._with({**options, "nbest_size": nbest_size}, out_type)
        found = self._model.tokenizer.encode_nbest(_text(input), max(given["nbest_size"], 1))
        return [self._formed(input, ids, given) for ids, _ in found]

    def NBestEncodeAsIds(self, input: Any, nbest_size: int | None = None, **options: Any) -> Any:
        """Return the ids of the best segmentations."""
        return self.NBestEncode(input, nbest_size, int, **options)

    def NBestEncodeAsPieces(self, input: Any, nbest_size: int | None = None, **options: Any) -> Any:
        """Return the pieces of the best segmentations."""
        return self.NBestEncode(input, nbest_size, str, **options)

    Tokenize = Encode

    def _with(self, options: dict[str, Any], out_type: _Kind | None) -> dict[str, Any]:
        unknown = options.keys() - self._options.keys()
        if unknown:
            raise TypeError(f"unexpected argument {min(unknown)!r}; expected one of {', '.join(self._options)}")
        given = {**self._options, **{name: value for name, value in options.items() if value is not None}}
        if out_type is not None:
            given["out_type"] = _kind(out_type)
        return given

    def _one(self, text: Any, given: dict[str, Any]) -> Any:
        tokenizer, text = self._model.tokenizer, _text(text)
        if not given["enable_sampling"]:
            return self._formed(text, tokenizer.encode(text), given)
        size = given["nbest_size"]
        if size in (0, 1):
            raise ValueError(f"nbest_size is {size}; expected at least 2, or -1 to draw from all segmentations")
        if self._model.is_scored:
            ids = tokenizer.encode_sampled(text, alpha=given["alpha"], nbest=None if size < 0 else size)
        else:
            ids = tokenizer.encode(text, dropout=given["alpha"])
        return self._formed(text, ids, given)

    def _formed(self, text: str | bytes, ids: list[int], given: dict[str, Any]) -> Any:
        """Return ids as a call wants them, with those around them."""
        kind = given["out_type"]
        if kind is str:
            found = self._model.pieces_of(text, ids, emit_unk_piece=given["emit_unk_piece"])
            return self._around(found, {**given, "named": self._model.piece})
        around = self._around(ids, given)
        return around if kind is int else np.array(around, np.int32)

    def _around(self, row: list[Any], given: dict[str, Any]) -> list[Any]:
        as_kind: Callable[[int], Any] = given.get("named", int)
        before = [as_kind(self._model.needed("bos"))] if given["add_bos"] else []
        after = [as_kind(self._model.needed("eos"))] if given["add_eos"] else []
        return [*before, *(row[::-1] if given["reverse"] else row), *after]

    # -- decoding --------------------------------------------------------------------------------------------

    def Decode(self, input: Any, out_type: _Kind | None = None, num_threads: int | None = None) -> Any:
        """Return the text of ids or pieces, or of each row of a list; control pieces have no text.

        With `out_type=bytes` texts are UTF-8.
        """
        if out_type is bytes:
            decoded = self.Decode(input)
            return [text.encode() for text in decoded] if isinstance(decoded, list) else decoded.encode()
        if out_type not in (None, str):
            raise ValueError(f"out_type is {out_type!r}; expected str or bytes")
        if input is None or (isinstance(input, str | bytes) and not input):
            return ""
        if isinstance(input, str | bytes | int | np.integer):
            return self._model.decoded([input])
        rows = list(input)
        if rows and isinstance(rows[0], list | tuple | np.ndarray):
            return [self._model.decoded(list(row)) for row in rows]
        return self._model.decoded(rows)

    def DecodeIds(self, input: Any, **options: Any) -> Any:
        """Return the text of ids."""
        return self.Decode(input, **options)

    def DecodePieces(self, input: Any, **options: Any) -> Any:
        """Return the text of pieces."""
        return self.Decode(input, **options)

    Detokenize = Decode

    # -- text and pieces -------------------------------------------------------------------------------------

    def Normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Return the normalized text, or of a list each one; with offsets, also the character that each comes from.

        Of bytes these are bytes, and the offsets are those of bytes.
        """
        if isinstance(input, list):
            return [self.Normalize(text, with_offsets) for text in input]
        text, is_bytes = _str(input), isinstance(input, bytes)
        if not with_offsets:
            return self._model.normalized(text).encode() if is_bytes else self._model.normalized(text)
        found = self._model.normalized_with_sources(text)
        return of_bytes(text, *found) if is_bytes else found

    def GetPieceSize(self) -> int:
        """Return the number of pieces."""
        return self._model.tokenizer.vocab_size

    piece_size = vocab_size = __len__ = GetPieceSize

    def PieceToId(self, piece: str | bytes | list[str]) -> Any:
        """Return the id of a piece, that of the unknown piece if there is none, or the ids of a list."""
        return [self.PieceToId(one) for one in piece] if isinstance(piece, list) else self._model.id_of(_str(piece))

    def __getitem__(self, piece: str) -> int:
        found: int = self.PieceToId(piece)
        return found

    def IdToPiece(self, id: int | list[int]) -> Any:
        """Return the piece of an id, or the pieces of a list."""
        return _each(id, self._model.piece)

    def GetScore(self, id: int | list[int]) -> Any:
        """Return the score of an id, or the scores of a list."""
        return _each(id, lambda token_id: self._model.row(token_id).score)

    def IsUnknown(self, id: int | list[int]) -> Any:
        """Return whether an id is the unknown one."""
        return _each(id, lambda token_id: self._model.row(token_id).kind == UNKNOWN)

    def IsControl(self, id: int | list[int]) -> Any:
        """Return whether an id is that of a control piece, which no text has."""
        return _each(id, lambda token_id: self._model.row(token_id).kind == CONTROL)

    def IsUnused(self, id: int | list[int]) -> Any:
        """Return whether an id has no piece."""
        return _each(id, lambda token_id: self._model.row(token_id).kind == UNUSED)

    def IsByte(self, id: int | list[int]) -> Any:
        """Return whether an id is that of a byte."""
        return _each(id, lambda token_id: self._model.row(token_id).kind == BYTE)

    def unk_id(self) -> int:
        """Return the id of the unknown piece, -1 if there is none."""
        return self._model.named("unk")

    def bos_id(self) -> int:
        """Return the id for the beginning of a text, -1 if there is none."""
        return self._model.named("bos")

    def eos_id(self) -> int:
        """Return the id for the end of a text, -1 if there is none."""
        return self._model.named("eos")

    def pad_id(self) -> int:
        """Return the id for padding, -1 if there is none."""
        return self._model.named("pad")


class _Model:
    """A tokenizer with its pieces; `VocabularyError` when it has none."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        spec = tokenizer.spec
        if spec.characters is None or not spec.characters.marks_blanks:
            raise VocabularyError(
                "the symbols of the vocabulary are not characters with U+2581 for blanks, which SentencePiece needs"
            )
        self.tokenizer, self._characters = tokenizer, spec.characters
        self.is_scored = spec.model is not None and not isinstance(spec.model, WordLevelModel)
        self._unknown = -1 if spec.characters.unknown is None else spec.characters.unknown

    def __reduce__(self) -> tuple[type[_Model], tuple[Tokenizer]]:
        return type(self), (self.tokenizer,)

    @lazy_property
    def _rows(self) -> list[Piece]:
        rows = rows_of(self.tokenizer.spec, self._characters)
        unused = Piece("", 0.0, UNUSED)
        return [rows.get(token_id, unused) for token_id in range(self.tokenizer.vocab_size)]

    @lazy_property
    def _ids(self) -> dict[str, int]:
        return {row.text: token_id for token_id, row in enumerate(self._rows)}

    @lazy_property
    def _normalize(self) -> Callable[[str], str] | None:
        return normalizer(self.tokenizer.spec.rules.normalizers)

    @lazy_property
    def _compiled(self) -> Normalizer | None:
        return compiled_normalizer(self.tokenizer.spec.rules.normalizers, marks_blanks=False)

    def normalized(self, text: str) -> str:
        return text if self._normalize is None else self._normalize(text)

    def normalized_with_sources(self, text: str) -> tuple[str, list[int]]:
        """Return a normalized text, and where in the text its characters and its end come from."""
        rules = self.tokenizer.spec.rules.normalizers
        compiled, end = self._compiled, len(text)
        while SqueezeBlanks() in rules and end and not self.normalized(text[end - 1]):
            end -= 1  # blanks at the end are removed
        if compiled is None:
            aligned = align(rules, text)
            return aligned.text, [*aligned.sources.tolist(), end]
        data, sources = compiled.aligned(text.encode())
        number = list(accumulate((byte & 0xC0 != 0x80 for byte in text.encode()), initial=-1))[1:]
        first = [number[source] for byte, source in zip(data, sources.tolist(), strict=True) if byte & 0xC0 != 0x80]
        return data.decode(), [*first, end]

    def row(self, token_id: int) -> Piece:
        if not 0 <= token_id < len(self._rows):
            raise IndexError(f"piece id {token_id} is out of range; expected 0 to {len(self._rows) - 1}")
        return self._rows[token_id]

    def piece(self, token_id: int) -> str:
        return self.row(token_id).text

    def id_of(self, piece: str) -> int:
        return self._ids.get(piece, self._unknown)

    def named(self, use: str) -> int:
        """Return the id of the piece with a use, -1 if there is none."""
        if use == "unk":
            return self._unknown
        found = self.tokenizer._vocabulary.id_of_named(use)
        return self.tokenizer.spec.special_tokens.get(_NAMED[use], -1) if found is None else found

    def needed(self, use: str) -> int:
        found = self.named(use)
        if found < 0:
            raise ValueError(f"the model has no piece {_NAMED[use]!r} for add_{use}; expected a model with one")
        return found

    def pieces_of(self, text: str | bytes, ids: list[int], *, emit_unk_piece: bool) -> list[str]:
        """Return the pieces of ids; text without a piece is a piece itself unless that of the model is wanted."""
        rows = self._rows
        found = [rows[token_id].text for token_id in ids]
        if emit_unk_piece or self._unknown not in ids:
            return found
        normalized = self.normalized(_str(text))
        if isinstance(self.tokenizer.spec.model, WordLevelModel):
            return list(self._words(normalized))
        at = 0
        for number, token_id in enumerate(ids):
            if token_id == self._unknown:
                # unknown text has no piece in it, and characters in a row become one id
                following = found[number + 1] if number + 1 < len(ids) else ""
                end = normalized.find(following, at + 1) if following else len(normalized)
                found[number] = normalized[at : end if end > 0 else at + 1]
            at += len(found[number])
        return found

    def _words(self, normalized: str) -> Iterator[str]:
        unknown = ""
        for word in re.findall(f"{SPACE_MARK}[^{SPACE_MARK}]*|[^{SPACE_MARK}]+", normalized):
            if self._ids.get(word, self._unknown) in (self._unknown, *self._characters.unused):
                unknown += word
                continue
            if unknown:
                yield unknown
                unknown = ""
            yield word
        if unknown:
            yield unknown

    def decoded(self, row: Sequence[Any]) -> str:
        """Return the text of a row of ids or of pieces."""
        if row and isinstance(row[0], str | bytes):
            texts = [_str(piece) for piece in row]
            ids = [self.id_of(text) for text in texts]
            if any(token_id == self._unknown != self._ids.get(text) for text, token_id in zip(texts, ids, strict=True)):
                return self._with_unknown(texts, ids)
        else:
            ids = [int(token_id) for token_id in row]
        kept = [token_id for token_id in ids if self.row(token_id).kind != CONTROL]
        return self.tokenizer.decode(kept)

    def _with_unknown(self, texts: list[str], ids: list[int]) -> str:
        """Return the text of pieces some of which no model has, and which are text themselves."""
        mark, stream, parts = self.tokenizer.decode([self._unknown]), self.tokenizer.stream_decoder(), list[str]()
        for text, token_id in zip(texts, ids, strict=True):
            if self.row(token_id).kind != CONTROL:
                part = stream.push(token_id)
                is_text = token_id == self._unknown != self._ids.get(text)
                parts.append(part.removesuffix(mark) + text if is_text else part)
        return "".join([*parts, stream.finish()])


def _kind(out_type: _Kind) -> _Kind:
    if out_type not in _KINDS:
        raise ValueError(f'out_type is {out_type!r}; expected int, str or "numpy"')
    return out_type


def _text(text: Any) -> str | bytes:
    if not isinstance(text, str | bytes):
        raise TypeError(f"a text is str or bytes, not {type(text).__name__}")
    return text


def _str(text: Any) -> str:
    checked = _text(text)
    return well_formed(checked) if isinstance(checked, str) else checked.decode("utf-8", "replace")


def _each(ids: int | list[int], find: Callable[[int], _T]) -> Any:
    return [find(token_id) for token_id in ids] if isinstance(ids, list | tuple | np.ndarray) else find(int(ids))
