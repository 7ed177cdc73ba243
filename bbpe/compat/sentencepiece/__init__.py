"""A view for `sentencepiece`: the interface of its `SentencePieceProcessor` over the engine of bbpe.

The package `sentencepiece` is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from random import Random
from typing import Any, TypeAlias

from ...core.column import Column
from ...encoding.limits import check_list
from ...errors import VocabularyError, described
from ...files import StrPath
from ...formats.common.reading import read_text
from ...formats.sentencepiece.piece_rows import BYTE, CONTROL, UNKNOWN, UNUSED
from ...lazy import np
from ...loading import load
from ...records import kind, real, replace, whole
from ...tokenizer import Tokenizer
from ..columns import listed, opened
from . import results
from .model import SpModel, checked_text, str_of
from .results import PROTOS, WITH_PLACES, snake_case, with_kinds

_Kind: TypeAlias = type | str


@snake_case
@with_kinds
class SentencePieceProcessor:
    """A tokenizer with the interface of `sentencepiece.SentencePieceProcessor`; `Tokenizer.as_sentencepiece` makes one.

    Each method has its name in CamelCase and in snake_case, and takes one text, a list of texts, or a column of Arrow,
    of whose texts ids need no `str`.  `out_type` is `int` for ids, `str` or `bytes` for pieces, "numpy" for int32
    arrays, "offset_mapping" for a dictionary of ids, pieces and offsets, "proto" for an object with the place of each
    piece in bytes, "immutable_proto" for one with places in characters, and "serialized_proto" for the bytes of either.
    `EncodeAs...`, `SampleEncodeAs...`, `NBestEncodeAs...` and `SampleEncodeAndScoreAs...` end in `Ids`, `Pieces`,
    `Numpy`, `OffsetMapping`, `Proto`, `ImmutableProto` or `SerializedProto`.

    It differs from sentencepiece in two points: pieces of `emit_unk_piece=False` that no model has are the normalized
    text; and scores that no id depends on (of BPE, of characters, of words) only have the right order.

    Args:
        model_file: The path of a model.
        model_proto: The bytes of a model.
        out_type: What `Encode` returns.
        add_bos: Whether `Encode` adds the piece for the beginning of a text.
        add_eos: Whether `Encode` adds the piece for the end of a text.
        reverse: Whether `Encode` reverses the order.
        emit_unk_piece: Whether the piece of unknown text is that of the model, not the text.
        enable_sampling: Whether `Encode` draws a random segmentation.
        nbest_size: The number of segmentations to draw from; -1 draws from all.
        alpha: The smoothing of Unigram's segmentations, or the dropout of BPE.
        num_threads: The number of threads; -1 uses every core.
        return_type: Another name for `out_type`, of newer versions.

    Raises:
        TypeError: An option has the wrong type, such as a text where a flag is expected; by methods that decode: what
            is given is neither ids nor pieces.

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
        *, return_type: _Kind | None = None,
    ) -> None:  # fmt: skip
        out_type = out_type if return_type is None else return_type
        self._options: dict[str, Any] = {"out_type": results.checked_kind(out_type)}
        self._options |= {name: results.checked(name, value) for name, value in {
            "add_bos": add_bos, "add_eos": add_eos, "reverse": reverse, "emit_unk_piece": emit_unk_piece,
            "enable_sampling": enable_sampling, "nbest_size": nbest_size, "alpha": alpha, "num_threads": num_threads,
        }.items()}  # fmt: skip
        self._random = Random()
        self._extra: tuple[list[str], list[str]] = ([], [])
        self._found: SpModel | None = None
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
        made._found = SpModel(tokenizer)
        return made

    def __getstate__(self) -> dict[str, Any]:
        # without random numbers, so that equal views have equal bytes: `datasets` finds its cache by them
        return {name: value for name, value in vars(self).items() if name != "_random"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _random=Random())

    @property
    def _model(self) -> SpModel:
        if self._found is None:
            raise VocabularyError("no model is loaded; call Load(model_file)")
        return self._found

    # -- models ----------------------------------------------------------------------------------------------

    def Load(self, model_file: StrPath | None = None, model_proto: bytes | None = None) -> bool:
        """Load a model from a file or from its bytes."""
        if (model_file is None) == (model_proto is None):
            raise ValueError("found both or neither of model_file and model_proto; expected one of them")
        if model_file is not None:
            self._found = SpModel(load(model_file))
        else:
            assert model_proto is not None
            kind("model_proto", model_proto, bytes | bytearray | memoryview, "bytes")
            self._found = SpModel.of_bytes(bytes(model_proto))
        return True

    def LoadFromFile(self, filename: StrPath) -> bool:
        """Load a model from a file."""
        return self.Load(filename)

    def LoadFromSerializedProto(self, serialized: bytes) -> bool:
        """Load a model from its bytes."""
        return self.Load(model_proto=serialized)

    def serialized_model_proto(self) -> bytes:
        """Return a model with the same ids, as bytes; `VocabularyError` when such a model cannot hold the tokenizer."""
        return self._model.written()

    def OverrideNormalizerSpec(
        self,
        *,
        add_dummy_prefix: bool | None = None,
        remove_extra_whitespaces: bool | None = None,
        escape_whitespaces: bool | None = None,
    ) -> bool:
        """Change flags of the normalization; `VocabularyError` when no model holds the tokenizer."""
        names = "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"
        given = zip(names, (add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces), strict=True)
        flags = {name: results.truth(name, flag) for name, flag in given if flag is not None}
        self._found = self._model.with_flags(flags)
        return True

    def SetVocabulary(self, valid_vocab: Iterable[str]) -> bool:
        """Write only these of the pieces of several characters; `VocabularyError` when no model holds the tokenizer."""
        check_list(valid_vocab if not isinstance(valid_vocab, Set) else (), "valid_vocab")
        pieces = list(valid_vocab)
        if isinstance(valid_vocab, str | bytes) or not all(isinstance(piece, str) for piece in pieces):
            raise TypeError(f"valid_vocab is {described(valid_vocab)}; expected a list of str")
        self._found = self._model.with_only(frozenset(pieces))
        return True

    def ResetVocabulary(self) -> bool:
        """Write all pieces again."""
        self._found = self._model.with_only(None)
        return True

    def LoadVocabulary(self, filename: StrPath, threshold: int) -> bool:
        """Write only the pieces of a file, a piece and a count on each line, whose count is at least `threshold`."""
        real("threshold", threshold)
        rows = [line.split("\t") for line in read_text(filename).splitlines()]
        return self.SetVocabulary(row[0] for row in rows if len(row) < 2 or int(row[1]) >= threshold)

    def SetEncodeExtraOptions(self, extra_option: str) -> bool:
        """Do this to all encoded texts: "bos", "eos", "reverse" and "unk" in any order, with ":" between, or ""."""
        self._extra = (results.extra_options(extra_option), self._extra[1])
        return True

    def SetDecodeExtraOptions(self, extra_option: str) -> bool:
        """Do this to ids and pieces before they are decoded; the options are those of `SetEncodeExtraOptions`."""
        self._extra = (self._extra[0], results.extra_options(extra_option))
        return True

    # -- encoding --------------------------------------------------------------------------------------------

    def Encode(self, input: Any, out_type: _Kind | None = None, **options: Any) -> Any:
        """Return the ids or the pieces of a text, or of each text of a list; `options` are those of the class."""
        given, texts = self._with(options, out_type), opened(input)
        if not isinstance(texts, list | Column):
            return self._one(texts, given)
        if given["enable_sampling"] or given["out_type"] not in (int, "numpy"):
            return [self._one(text, given) for text in listed(texts)]
        if not isinstance(texts, Column):
            texts = [checked_text(text) for text in texts]
        threads = None if given["num_threads"] < 0 else max(given["num_threads"], 1)
        rows = self._model.tokenizer.encode_batch(texts, threads=threads)
        return [self._formed("", row, given) for row in rows]

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
        return self._sampled(input, nbest_size, alpha, int, **options)

    def SampleEncodeAsPieces(
        self,
        input: Any,
        nbest_size: int | None = None,
        alpha: float | None = None,
        **options: Any,
    ) -> Any:
        """Return the pieces of a random segmentation."""
        return self._sampled(input, nbest_size, alpha, str, **options)

    def _sampled(
        self,
        input: Any,
        nbest_size: int | None = None,
        alpha: float | None = None,
        out_type: _Kind | None = None,
        **options: Any,
    ) -> Any:
        return self.Encode(input, out_type, enable_sampling=True, nbest_size=nbest_size, alpha=alpha, **options)

    def NBestEncode(
        self,
        input: Any,
        nbest_size: int | None = None,
        out_type: _Kind | None = None,
        **options: Any,
    ) -> Any:
        """Return the best segmentations of a text, or of each text of a list; `TypeError` if no model scores them."""
        if isinstance(texts := listed(input), list):
            return [self.NBestEncode(text, nbest_size, out_type, **options) for text in texts]
        given = self._with({**options, "nbest_size": nbest_size}, out_type)
        found = self._model.tokenizer.encode_nbest(checked_text(input), max(given["nbest_size"], 1))
        return self._formed_all(input, found, given)

    def NBestEncodeAsIds(self, input: Any, nbest_size: int | None = None, **options: Any) -> Any:
        """Return the ids of the best segmentations."""
        return self.NBestEncode(input, nbest_size, int, **options)

    def NBestEncodeAsPieces(self, input: Any, nbest_size: int | None = None, **options: Any) -> Any:
        """Return the pieces of the best segmentations."""
        return self.NBestEncode(input, nbest_size, str, **options)

    def SampleEncodeAndScore(
        self,
        input: Any,
        out_type: _Kind | None = None,
        *,
        num_samples: int = 1,
        alpha: float = 1.0,
        wor: bool = False,
        include_best: bool = False,
        **options: Any,
    ) -> Any:
        """Return random segmentations of a text, or of each text of a list, each with a logarithm of a probability.

        It is that of the segmentation, or with `wor` (without replacement) that it is among the samples.  With
        `include_best` the best segmentation is the first one.  `TypeError` if no model scores segmentations.
        """
        wor, include_best = results.truth("wor", wor), results.truth("include_best", include_best)
        drawing: Any = {"num_samples": num_samples, "alpha": alpha, "wor": wor, "include_best": include_best}
        given = self._with(options, out_type)
        real("alpha", alpha)
        if whole("num_samples", num_samples) < 1 or (include_best and not wor):
            problem = f"num_samples is {num_samples} and include_best {include_best}"
            raise ValueError(f"{problem}; expected 1 or more, and wor=True with include_best")
        if isinstance(texts := listed(input), list):
            return [self.SampleEncodeAndScore(text, out_type, **drawing, **options) for text in texts]
        lattice = self._model.lattice(checked_text(input), alpha)
        if not wor:
            found = [lattice.sample(self._random) for _ in range(num_samples)]
        else:
            found = lattice.samples_without_replacement(num_samples, self._random)
        if include_best:
            best = self._model.tokenizer.encode(input)
            found = [(best, 0.0), *[row for row in found if row[0] != best][: num_samples - 1]]
        formed = self._formed_all(input, found, given)
        if given["out_type"] in PROTOS:
            return formed
        return [(row, score) for row, (_, score) in zip(formed, found, strict=True)]

    def _sampled_and_scored(
        self, input: Any, num_samples: int = 1, alpha: float = 1.0, wor: bool = False, include_best: bool = False,
        out_type: _Kind | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        return self.SampleEncodeAndScore(
            input, out_type, num_samples=num_samples, alpha=alpha, wor=wor, include_best=include_best, **options
        )

    def CalculateEntropy(self, input: Any, alpha: float, num_threads: int | None = None) -> Any:
        """Return the entropy of the segmentations of a text, or of each text of a list, in nats.

        The probability of one is proportional to e^(alpha * sum of scores).  `TypeError` if no model scores them.
        """
        results.check_threads(num_threads)
        if isinstance(texts := listed(input), list):
            return [self.CalculateEntropy(text, alpha) for text in texts]
        return self._model.lattice(checked_text(input), real("alpha", alpha)).entropy()

    Tokenize = Encode

    def _with(self, options: dict[str, Any], out_type: _Kind | None) -> dict[str, Any]:
        out_type = results.either(out_type, options.get("return_type"))
        unknown = options.keys() - self._options.keys() - {"return_type"}
        if unknown:
            raise TypeError(f"unexpected argument {min(unknown)!r}; expected one of {', '.join(self._options)}")
        named = {name: value for name, value in options.items() if value is not None and name != "return_type"}
        given = self._options | {name: results.checked(name, value) for name, value in named.items()}
        if out_type is not None:
            given["out_type"] = results.checked_kind(out_type)
        if "unk" in self._extra[0]:
            given["emit_unk_piece"] = True
        return given

    def _one(self, text: Any, given: dict[str, Any]) -> Any:
        tokenizer, text = self._model.tokenizer, checked_text(text)
        if not given["enable_sampling"]:
            return self._formed(text, tokenizer.encode(text), given)
        size = given["nbest_size"]
        if size in (0, 1):
            raise ValueError(f"nbest_size is {size}; expected at least 2, or -1 to draw from all segmentations")
        seed = self._random.getrandbits(63)
        if self._model.is_scored:
            ids = tokenizer.encode_sampled(text, alpha=given["alpha"], nbest=None if size < 0 else size, seed=seed)
        else:
            ids = tokenizer.encode(text, dropout=given["alpha"], seed=seed)
        return self._formed(text, ids, given)

    def _formed_all(self, text: Any, found: list[tuple[list[int], float]], given: dict[str, Any]) -> Any:
        """Return scored segmentations as a call wants them."""
        if given["out_type"] not in PROTOS:
            return [self._formed(text, ids, given) for ids, _ in found]
        made = [replace(self._with_places(text, ids, given), score=score) for ids, score in found]
        return results.of_kind(results.ImmutableNBestSentencePieceText(tuple(made)), given["out_type"])

    def _formed(self, text: str | bytes, ids: list[int], given: dict[str, Any]) -> Any:
        """Return ids as a call wants them, with those around them."""
        kind = given["out_type"]
        if kind in WITH_PLACES:
            made = self._with_places(text, ids, given)
            if kind == "offset_mapping":
                return results.offset_mapping(made, of_bytes=isinstance(text, bytes))
            return results.of_kind(made, kind)
        if kind in (str, bytes):
            found = self._model.pieces_of(text, ids, emit_unk_piece=given["emit_unk_piece"])
            around = self._around(found, {**given, "named": self._model.piece})
            return [piece.encode() for piece in around] if kind is bytes else around
        around = self._around(ids, given)
        return around if kind is int else np.array(around, np.int32)

    def _with_places(
        self, text: str | bytes, ids: list[int], given: dict[str, Any]
    ) -> results.ImmutableSentencePieceText:
        if given["add_bos"] or given["add_eos"] or given["reverse"] or self._extra[0]:
            raise ValueError("add_bos, add_eos and reverse have no place in a text; expected out_type int or str")
        return self._model.with_places(text, ids, emit_unk_piece=given["emit_unk_piece"])

    def _around(self, row: list[Any], given: dict[str, Any]) -> list[Any]:
        as_kind: Callable[[int], Any] = given.get("named", int)
        chosen = ["reverse"] * given["reverse"] + ["bos"] * given["add_bos"] + ["eos"] * given["add_eos"]
        return self._applied([*self._extra[0], *chosen], row, as_kind)

    def _applied(self, options: list[str], row: list[Any], as_kind: Callable[[int], Any]) -> list[Any]:
        for option in options:
            if option == "reverse":
                row = row[::-1]
            elif option == "bos":
                row = [as_kind(self._model.needed("bos")), *row]
            elif option == "eos":
                row = [*row, as_kind(self._model.needed("eos"))]
        return row

    # -- decoding --------------------------------------------------------------------------------------------

    def Decode(
        self, input: Any, out_type: _Kind | None = None, num_threads: int | None = None, *,
        return_type: _Kind | None = None,
    ) -> Any:  # fmt: skip
        """Return the text of ids or pieces, or of each row of a list; control pieces have no text.

        With `out_type=bytes` texts are UTF-8; "proto", "immutable_proto", "serialized_proto" and "offset_mapping" are
        those of `Encode`.
        """
        out_type = results.either(out_type, return_type)
        results.check_threads(num_threads)
        if out_type not in (None, str, bytes, *WITH_PLACES):
            raise ValueError(f"out_type is {out_type!r}; expected str, bytes or one of {', '.join(WITH_PLACES)}")
        if input is None or (isinstance(input, str | bytes) and not input):
            return self._decoded([], out_type)
        if isinstance(input, str | bytes | int | np.integer):
            return self._decoded([input], out_type)
        check_list(input, "input")
        rows = list(input)
        if rows and isinstance(rows[0], list | tuple | np.ndarray):
            for row in rows:
                kind("a row of input", row, list | tuple | np.ndarray, "a list")
            return [self._decoded(list(row), out_type) for row in rows]
        return self._decoded(rows, out_type)

    def _decoded(self, row: list[Any], kind: _Kind | None) -> Any:
        is_pieces = bool(row) and isinstance(row[0], str | bytes)
        row = self._applied(self._extra[1], row, self._model.piece if is_pieces else int)
        if kind not in WITH_PLACES:
            text = self._model.decoded(row)
            return text.encode() if kind is bytes else text
        made = self._model.decoded_with_places(row)
        if kind == "offset_mapping":
            return {"text": made.text, **results.offset_mapping(made, of_bytes=False)}
        return results.of_kind(made, kind)

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
        with_offsets = with_offsets is not None and results.truth("with_offsets", with_offsets)
        if isinstance(texts := listed(input), list):
            return [self.Normalize(text, with_offsets) for text in texts]
        text, is_bytes = str_of(input), isinstance(input, bytes)
        if not with_offsets:
            return self._model.normalized(text).encode() if is_bytes else self._model.normalized(text)
        found = self._model.normalized_with_sources(text)
        return results.of_bytes(text, *found) if is_bytes else found

    def GetPieceSize(self) -> int:
        """Return the number of pieces."""
        return self._model.tokenizer.vocab_size

    piece_size = vocab_size = __len__ = GetPieceSize

    def PieceToId(self, piece: str | bytes | list[str]) -> Any:
        """Return the id of a piece, that of the unknown piece if there is none, or the ids of a list."""
        return [self.PieceToId(one) for one in piece] if isinstance(piece, list) else self._model.id_of(str_of(piece))

    def __getitem__(self, piece: str) -> int:
        found: int = self.PieceToId(piece)
        return found

    def IdToPiece(self, id: int | list[int]) -> Any:
        """Return the piece of an id, or the pieces of a list."""
        return results.each(id, self._model.piece)

    def GetScore(self, id: int | list[int]) -> Any:
        """Return the score of an id, or the scores of a list."""
        return results.each(id, lambda token_id: self._model.row(token_id).score)

    def IsUnknown(self, id: int | list[int]) -> Any:
        """Return whether an id is the unknown one."""
        return results.each(id, lambda token_id: self._model.row(token_id).kind == UNKNOWN)

    def IsControl(self, id: int | list[int]) -> Any:
        """Return whether an id is that of a control piece, which no text has."""
        return results.each(id, lambda token_id: self._model.row(token_id).kind == CONTROL)

    def IsUnused(self, id: int | list[int]) -> Any:
        """Return whether an id has no piece."""
        return results.each(id, lambda token_id: self._model.row(token_id).kind == UNUSED)

    def IsByte(self, id: int | list[int]) -> Any:
        """Return whether an id is that of a byte."""
        return results.each(id, lambda token_id: self._model.row(token_id).kind == BYTE)

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
