"""Decode ids to text and bytes; threads share the ranges of one array or the rows of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any, TypeAlias, cast, get_args

from ..core.id_column import id_rows
from ..core.id_source import as_ids, as_int
from ..core.ids import TokenBytes
from ..core.places import map_places
from ..core.stops import StopStream
from ..core.stream import FormStream
from ..errors import TokenIdError
from ..lazy import lazy_property, np, npt, safe_import
from ..pipeline.decoders import ERRORS
from ..records import check_unmasked, choice, flag, is_text_or_bytes, replace
from ..spec.rules import Charsmap
from ..spec.spec import TokenizerSpec, other_tokens
from ..threads import check_threads, imap, thread_count
from ..types import Ragged
from .forms import TokenKeys, forms_of
from .limits import check_order
from .stream import MachineStream, MappedStream, Stream, StreamDecoder, UnknownIds, stop_strings

#: The types of ids that all decoding methods accept.
Ids: TypeAlias = "Sequence[int] | npt.NDArray[np.integer[Any]]"
#: The types of batches of ids that all decoding methods accept.
Rows: TypeAlias = "Iterable[Ids] | Ragged | npt.NDArray[np.integer[Any]]"

_UNKNOWN_IDS = get_args(UnknownIds)
#: The most ids of which Python drops the special ones as quickly as numpy.
_FEW = 64
#: The number of ids that one task decodes.
_GROUP = 1 << 16
#: A batch with fewer ids than this is decoded by one thread.
_THREAD_WORTH = 1 << 19


class Decoder:
    """Decodes the ids of a spec; the methods of `Tokenizer` document the arguments."""

    def __init__(self, spec: TokenizerSpec, tokens: TokenBytes) -> None:
        self._spec, self._tokens, self._keys = spec, tokens, TokenKeys(spec)
        #: The bytes of tokens by their positions; `None` if only the steps of the decoder can decode.
        self._forms = forms_of(spec, self._keys, tokens)
        #: The bytes that decoding writes for each id within a text.
        self.token_bytes = tokens if self._forms is None else self._forms.within
        #: Whether a text is the concatenation of its tokens.
        self.is_plain = self._forms is not None and self._forms.is_plain

    @lazy_property
    def special_ids(self) -> frozenset[int]:
        """The ids of special tokens."""
        return frozenset(self._spec.special_tokens.values())

    @lazy_property
    def special_array(self) -> npt.NDArray[np.int64]:
        """The ids of special tokens, in any order; `numpy.isin` takes no list, which has no type when it is empty."""
        return np.fromiter(self.special_ids, np.int64)

    @lazy_property
    def _skipped(self) -> bytes:
        flags = np.zeros(self._tokens.id_count, np.uint8)
        flags[list(self.special_ids)] = 1
        return flags.tobytes()

    def text(
        self, ids: Ids, errors: str, threads: int | None, skip_special_tokens: bool, unknown_ids: UnknownIds
    ) -> str:
        """Return the text of ids."""
        check_threads(threads)
        kept = self._kept(ids, skip_special_tokens, unknown_ids)
        if self.is_plain and unknown_ids != "mark":
            return self.token_bytes.text(kept, errors, _mapper(threads))
        return self._text(kept, errors, unknown_ids, threads)

    def data(self, ids: Ids, threads: int | None) -> bytes:
        """Return the bytes of ids."""
        check_threads(threads)
        kept = checked_ids(ids)
        return self.token_bytes.join(kept, _mapper(threads)) if self.is_plain else self._joined(kept, threads)

    def documents(
        self, ids: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64]
    ) -> tuple[bytes, npt.NDArray[np.int64]]:
        """Return the bytes of documents, one after another, and where each ends.

        Document i is ids[offsets[i]:offsets[i + 1]].
        """
        return self.segments(ids, offsets[:-1], offsets[1:], np.empty(0, np.int64), np.ones(len(offsets) - 1, np.int64))

    def texts(
        self, batch: Rows, errors: str, threads: int | None, skip_special_tokens: bool, unknown_ids: UnknownIds
    ) -> list[str]:
        """Return the text of each row of ids."""
        check_threads(threads)
        rows, skips = checked_rows(batch), flag("skip_special_tokens", skip_special_tokens)
        if skips or unknown_ids != "raise":
            rows = [self._kept(row, skips, unknown_ids) for row in rows]
        if self.is_plain and unknown_ids != "mark":
            return self._row_texts(rows, errors, threads)
        if self._forms is None or self._forms.has_last or unknown_ids == "mark":
            return [self._text(row, errors, unknown_ids, threads=1) for row in rows]
        return self._row_texts([rows[number] for number in range(len(rows))], errors, threads)

    def text_with_offsets(self, ids: Ids) -> tuple[str, list[int]]:
        """Return the text of ids, and for each id the index of the first character with a byte of it."""
        kept = as_ids(checked_ids(ids))
        if self.is_plain:
            data = self.token_bytes.join(kept)
            spans = self.token_bytes.spans(kept.astype(np.uint32))
        else:
            starts: list[npt.NDArray[np.int64]] = []
            data = self._joined(kept, starts=starts)
            bounds = np.minimum(np.concatenate([*starts, [len(data)]]), len(data))
            spans = np.stack([bounds[:-1], bounds[1:]], axis=1)
        text = data.decode("utf-8", "strict")
        map_places(text, spans, "char")
        return text, spans[:, 0].tolist()

    def stream(
        self, errors: str, skip_special_tokens: bool, unknown_ids: UnknownIds, prompt: Ids = (),
        stop: Iterable[str] | None = None, include_stop: bool = False,
    ) -> StreamDecoder:  # fmt: skip
        """Return a decoder that takes one id at a time."""
        _check_unknown_ids(unknown_ids)
        skips = flag("skip_special_tokens", skip_special_tokens)
        stream = self._begun(errors, self._skipped if skips else None, unknown_ids)
        before = checked_ids(prompt)
        for token_id in (as_ids(before) if unknown_ids == "raise" else _of_64_bits(before)).tolist():
            stream.push(token_id)
        included, stops = flag("include_stop", include_stop), stop_strings(stop)
        if included and stops is None:
            raise ValueError("include_stop is True, but stop is None; expected a list of stop strings")
        return StreamDecoder(stream if stops is None else StopStream(stream, stops, included=included))

    def _begun(self, errors: str, skipped: bytes | None, unknown_ids: UnknownIds) -> Stream:
        return self._fresh(errors, skipped, unknown_ids)

    # -- one state machine: all of it, or its end and beginning around what needs no state ----------------------------

    def _fresh(
        self, errors: str = "replace", skipped: bytes | None = None, unknown_ids: UnknownIds = "raise"
    ) -> FormStream | MachineStream:
        if self._forms is None:
            return MachineStream(self._spec.decoder, self._keys, self._tokens, errors, skipped, unknown_ids)
        return FormStream(self._forms, errors, skipped, unknown_ids)

    def _text(self, ids: Ids, errors: str, unknown_ids: UnknownIds, threads: int | None) -> str:
        if unknown_ids == "mark":
            return "".join(StreamDecoder(self._fresh(errors, None, "mark")).stream(as_ids(ids).tolist()))
        if self._forms is None or self._forms.has_last:
            return self._joined(ids, threads).decode("utf-8", errors)
        first, count = self._forms.begun(ids, errors)
        return first + self.token_bytes.text(ids, errors, _mapper(threads), count)

    def _joined(self, ids: Ids, threads: int | None = None, starts: list[Any] | None = None) -> bytes:
        """Return the bytes of ids; `starts` gets arrays of the places in them where ids begin."""
        ids = _sliceable(ids)
        stream, number, size = self._fresh(), 0, 0
        stop = 0 if self._forms is None else len(ids) - self._forms.has_last
        parts: list[bytes] = []
        while number < len(ids):
            if number < stop and isinstance(stream, FormStream) and stream.is_within:
                parts += stream.flush(), self.token_bytes.join(ids[number:stop], _mapper(threads))
                if starts is not None:
                    lengths = self.token_bytes.lengths(np.ascontiguousarray(ids[number:stop], np.uint32))
                    starts.append(np.cumsum(lengths) - lengths + size + len(parts[-2]))
                number, size = stop, size + len(parts[-2]) + len(parts[-1])
                continue
            if starts is not None:
                starts.append(np.array([size + stream.held_count]))
            parts.append(stream.add(ids[number]))
            number, size = number + 1, size + len(parts[-1])
        return b"".join([*parts, stream.rest()])

    def segments(
        self, ids: npt.NDArray[np.integer[Any]], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64], counts: npt.NDArray[np.int64],
    ) -> tuple[bytes, npt.NDArray[np.int64]]:  # fmt: skip
        """Return the bytes of texts, which are divided at some ids, and where each segment ends in them, int64[n].

        Text i is ids[starts[i]:ends[i]], in order.  `places` are those of ids, whose bytes are left out, and text i has
        `counts[i]` segments, one more than such ids.
        """
        if self.is_plain:
            if len(places):
                starts, ends = np.sort(np.concatenate([starts, places + 1])), np.sort(np.concatenate([ends, places]))
            return self.token_bytes.rows(ids, starts, ends)
        if self._forms is not None and not self._forms.has_last and not len(places):
            return self._forms.rows(ids, starts, ends)
        found: list[bytes] = []
        at = 0
        for start, end, count in zip(starts.tolist(), ends.tolist(), counts.tolist(), strict=True):
            found += self._divided(ids[start:end], places[at : at + count - 1] - start)
            at += count - 1
        return b"".join(found), np.cumsum([len(part) for part in found], dtype=np.int64)

    def _divided(self, ids: Ids, places: npt.NDArray[np.int64]) -> list[bytes]:
        """Return the bytes of a text between the ids at some places."""
        if not len(places):
            return [self._joined(ids, 1)]
        found: list[npt.NDArray[np.int64]] = []
        data = self._joined(ids, 1, found)
        bounds = np.minimum(np.concatenate([*found, [len(data)]]), len(data))
        first, last = [0, *bounds[places + 1].tolist()], [*bounds[places].tolist(), len(data)]
        return [data[start:end] for start, end in zip(first, last, strict=True)]

    def _kept(self, ids: Ids, skip_special_tokens: bool, unknown_ids: str) -> Ids:
        """Return ids without the special and unknown ones that the options skip."""
        kept: Ids = checked_ids(ids)
        _check_unknown_ids(unknown_ids)
        if unknown_ids != "raise":
            array = _of_64_bits(kept)
            kept = array[self._are_tokens(array)] if unknown_ids == "skip" else array
        if skip_special_tokens is False or not flag("skip_special_tokens", skip_special_tokens):
            return kept
        if len(kept) < _FEW and not isinstance(kept, np.ndarray):
            return [token_id for token_id in kept if token_id not in self.special_ids]
        array = as_ids(kept)
        return cast(Ids, array[~np.isin(array, self.special_array, kind="table")])

    def _are_tokens(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        count = self.token_bytes.id_count
        are_tokens = np.zeros(count, np.bool_)
        are_tokens[[*self._spec.vocab, *other_tokens(self._spec)]] = True
        in_range = (ids >= 0) & (ids < count)
        found: npt.NDArray[np.bool_] = in_range & are_tokens[np.where(in_range, ids, 0)]
        return found

    def _group(self, rows: Sequence[Ids], errors: str) -> list[str]:
        if self._forms is None or self._forms.is_plain:
            return self.token_bytes.texts_of(rows, errors)
        begun = [self._forms.begun(ids, errors) for ids in rows]
        texts = self.token_bytes.texts_of(rows, errors, [count for _, count in begun])
        return [first + text for (first, _), text in zip(begun, texts, strict=True)]

    def _row_texts(self, rows: Rows, errors: str, threads: int | None) -> list[str]:
        if isinstance(rows, Ragged):
            ids: Ids = rows.ids
            offsets = rows.offsets
        elif isinstance(rows, np.ndarray) and rows.ndim == 2:
            ids, offsets = rows.reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]
        else:
            batch = cast(Sequence[Ids], rows)
            offsets = np.cumsum([0, *map(len, batch)], dtype=np.int64)
            return _by_groups(lambda start, stop: self._group(batch[start:stop], errors), offsets, threads)
        return _by_groups(
            lambda start, stop: self.token_bytes.texts(ids, offsets[start : stop + 1], errors), offsets, threads
        )


def decoder_of(spec: TokenizerSpec, tokens: TokenBytes) -> Decoder:
    """Return the decoder of a spec, whose last step may be a table for decoded text."""
    *steps, last = spec.decoder
    if not isinstance(last, Charsmap):
        return Decoder(spec, tokens)
    return _MappedDecoder(replace(spec, decoder=tuple(steps)), tokens, last.data)


class _MappedDecoder(Decoder):
    """Decodes ids, and applies SentencePiece's table to the text; the bytes of tokens are those without the table."""

    def __init__(self, spec: TokenizerSpec, tokens: TokenBytes, table: bytes) -> None:
        super().__init__(spec, tokens)
        self._table, self.is_plain = table, False

    def text(self, *options: Any) -> str:
        return self._mapped(super().text(*options))

    def data(self, ids: Ids, threads: int | None) -> bytes:
        return self._mapped(super().data(ids, threads).decode("utf-8", ERRORS)).encode("utf-8", ERRORS)

    def texts(self, *options: Any) -> list[str]:
        return [self._mapped(text) for text in super().texts(*options)]

    def text_with_offsets(self, ids: Ids) -> tuple[str, list[int]]:
        text, starts = super().text_with_offsets(ids)
        parts = self._parts(text)
        sources = chain.from_iterable([number] * len(found) for number, (found, _) in enumerate(parts))
        ends = np.cumsum([0, *(len(written) for _, written in parts)])
        places = [*ends[list(sources)].tolist(), int(ends[-1])]
        return "".join(written for _, written in parts), [places[start] for start in starts]

    def _begun(self, errors: str, skipped: bytes | None, unknown_ids: UnknownIds) -> Stream:
        return MappedStream(self._fresh(errors, skipped, unknown_ids), self._table)

    def segments(self, *options: Any) -> tuple[bytes, npt.NDArray[np.int64]]:
        # the table applies to texts, of which a special token is none
        data, ends = super().segments(*options)
        bounds = pairwise([0, *ends.tolist()])
        found = [self._mapped(data[start:end].decode("utf-8", ERRORS)).encode("utf-8", ERRORS) for start, end in bounds]
        return b"".join(found), np.cumsum([len(part) for part in found], dtype=np.int64)

    def _mapped(self, text: str) -> str:
        return "".join(written for _, written in self._parts(text))

    def _parts(self, text: str) -> list[tuple[str, str]]:
        safe_import("bbpe.pipeline.compiled_normalizers")
        from ..pipeline.compiled_normalizers import mapped_parts

        return list(mapped_parts(self._table, text))


def checked_ids(ids: object) -> Any:
    """Return ids; `TypeError` unless they are a sequence of int or an integer array of one dimension."""
    if isinstance(ids, list | tuple):
        return ids
    if isinstance(ids, np.ndarray):
        check_unmasked("ids", ids)
        if ids.ndim == 1 and (ids.dtype.kind in "iu" or not len(ids)):
            return ids
        found = f"an array of {ids.dtype} with {ids.ndim} dimensions"
    elif (isinstance(ids, Sequence) and not is_text_or_bytes(ids)) or hasattr(ids, "__array__"):
        return ids if isinstance(ids, Sequence) else checked_ids(np.asarray(ids))
    else:
        found = type(ids).__name__
    raise TypeError(f"ids must be a sequence of int or an integer array of one dimension, not {found}")


def _of_64_bits(ids: Any) -> npt.NDArray[np.int64]:
    """Return ids, with -1, which no token has either, in place of numbers of more than 64 bits."""
    try:
        return as_ids(ids)
    except TokenIdError:
        return as_ids([number if abs(number) < 1 << 63 else -1 for number in map(as_int, ids)])


def _sliceable(ids: Any) -> Any:
    """Return ids in a sequence that has slices."""
    if isinstance(ids, list | tuple):  # for which numpy is not imported
        return ids
    return ids if isinstance(ids, np.ndarray) else as_ids(ids)


def checked_rows(batch: object) -> Any:
    """Return rows of ids; `TypeError` naming the first row that does not have ids."""
    if isinstance(batch, Ragged) or (isinstance(batch, np.ndarray) and batch.ndim == 2 and batch.dtype.kind in "iu"):
        if not isinstance(batch, Ragged):
            check_unmasked("batch", batch)
        return batch
    if (found := id_rows(batch)) is not None:
        return Ragged(cast(Any, found[0]), found[1])  # ids of any integer type, which decoding checks
    check_order(batch, "batch")
    if not isinstance(batch, Iterable) or isinstance(batch, str | bytes | np.ndarray):
        shape = f" of {batch.dtype} with {batch.ndim} dimensions" if isinstance(batch, np.ndarray) else ""
        raise TypeError(
            "a batch must be an iterable of rows of ids, a Ragged or an integer array of two dimensions, not "
            f"{type(batch).__name__}{shape}"
        )
    rows = batch if isinstance(batch, list | tuple) else list(batch)
    for number, row in enumerate(rows):
        if not isinstance(row, list):
            try:
                checked_ids(row)
            except TypeError as error:
                raise TypeError(f"row {number}: {error}") from None
    return rows


def _check_unknown_ids(unknown_ids: str) -> None:
    choice("unknown_ids", unknown_ids, _UNKNOWN_IDS)


def _mapper(threads: int | None) -> Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]:
    """Return a function like `map` that uses this many threads and keeps the order."""
    if threads is None:
        return imap
    return map if thread_count(threads) == 1 else partial(imap, threads=threads)


def _by_groups(
    decode: Callable[[int, int], list[str]], offsets: npt.NDArray[np.int64], threads: int | None
) -> list[str]:
    """Decode rows in groups of about `_GROUP` ids."""
    count = len(offsets) - 1
    if threads is None and offsets[-1] < _THREAD_WORTH:
        threads = 1
    marks = np.searchsorted(offsets, np.arange(0, offsets[-1], _GROUP), side="right")
    borders = sorted({0, count, *marks.tolist()})
    return list(chain.from_iterable(_mapper(threads)(lambda group: decode(*group), pairwise(borders))))
