"""Ids to text and bytes, and how that is spread over threads: ranges of one array, groups of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain, pairwise
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt

from ..core.id_source import as_ids
from ..core.ids import TokenBytes
from ..identity import Identity
from ..lazy import FirstUse
from ..spec.spec import other_tokens
from ..threads import check_threads, imap, thread_count
from ..types import Ragged
from .edges import Edges, edges_of
from .stream import StreamDecoder, UnknownIds

#: Ids as every decoding method takes them.
Ids = Sequence[int] | npt.NDArray[np.integer[Any]]
#: Rows of ids.
Rows = Iterable[Ids] | Ragged | npt.NDArray[np.integer[Any]]

_UNKNOWN_IDS = get_args(UnknownIds)
#: Ids that one task decodes.
_GROUP = 1 << 16
#: Rows of fewer ids together are not worth a thread.
_THREAD_WORTH = 1 << 19


class Decoding(Identity):
    """The part of a `Tokenizer` that gives the text of ids."""

    @FirstUse
    def _edges(self) -> Edges | None:
        return edges_of(self.spec, self._token_bytes)

    def decode(
        self,
        ids: Ids,
        *,
        errors: str = "replace",
        threads: int | None = None,
        skip_special_tokens: bool = False,
        unknown_ids: UnknownIds = "raise",
    ) -> str:
        """Return the text of ids.

        Args:
            ids: A sequence of int, or an integer array of one dimension.
            errors: What becomes of bytes that are not UTF-8, as in `bytes.decode`.
            threads: How many threads to use; None uses every core when there are enough ids.
            skip_special_tokens: Whether special tokens are left out; added tokens are not.
            unknown_ids: What becomes of an id that no token has, as the padded last layer of a model may sample one:
                "raise", "skip", or "mark", which writes U+FFFD.

        Raises:
            TokenIdError: An id is negative, too large, or a hole in the vocabulary; the message names the first one.
            TypeError: These are no ids.

        Example:
            >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
            >>> tok.decode(tok.encode("a b")), tok.decode(tok.encode_to_numpy("é")[:1], errors="ignore")
            ('a b', '')

        """
        check_threads(threads)
        kept = self._kept(ids, skip_special_tokens, unknown_ids)
        if unknown_ids == "mark":
            return self._marked(kept, errors)
        text = self._token_bytes.text(kept, errors, run_with(threads))
        return text if self._edges is None else self._edges.trimmed(text, kept)

    def decode_bytes(self, ids: Ids, *, threads: int | None = None) -> bytes:
        """Return the bytes of ids; for every text that no rule changes, `decode_bytes(encode(text))` is its UTF-8.

        Ids, threads and errors as in `decode`.
        """
        check_threads(threads)
        kept = checked_ids(ids)
        data = self._token_bytes.join(kept, run_with(threads))
        return data if self._edges is None else self._edges.trimmed(data, kept)

    def decode_batch(
        self,
        batch: Rows,
        *,
        errors: str = "replace",
        threads: int | None = None,
        skip_special_tokens: bool = False,
        unknown_ids: UnknownIds = "raise",
    ) -> list[str]:
        """Return the text of each row of ids, in order.

        Args:
            batch: Rows of ids, each as `decode` takes them; a `Ragged`; or an integer array [rows, ids].
            errors: What becomes of bytes that are not UTF-8, as in `bytes.decode`.
            threads: How many threads to use; None uses every core when there are enough ids.
            skip_special_tokens: Whether special tokens are left out; added tokens are not.
            unknown_ids: What becomes of an id that no token has, as in `decode`.

        Raises:
            TokenIdError: An id of a row is none.
            TypeError: These are no rows of ids; the message names the first that is none.

        Example:
            >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
            >>> tok.decode_batch(tok.encode_batch_to_numpy(["a", "", "b a"]))
            ['a', '', 'b a']

        """
        check_threads(threads)
        rows = checked_rows(batch)
        if skip_special_tokens or unknown_ids != "raise":
            rows = [self._kept(row, skip_special_tokens, unknown_ids) for row in rows]
        if unknown_ids == "mark":
            return [self._marked(row, errors) for row in rows]
        texts = decode_rows(self._token_bytes, rows, errors=errors, threads=threads)
        if self._edges is None:
            return texts
        return [self._edges.trimmed(text, row) for text, row in zip(texts, rows, strict=True)]

    def _kept(self, ids: Ids, skip_special_tokens: bool, unknown_ids: str) -> Ids:
        """Return ids, without those of special tokens and those that no token has where these are skipped."""
        kept: Ids = checked_ids(ids)
        if unknown_ids not in _UNKNOWN_IDS:
            raise ValueError(f"unknown_ids is {unknown_ids!r}; expected {', '.join(map(repr, _UNKNOWN_IDS))}")
        if unknown_ids == "skip":
            array = as_ids(kept)
            kept = array[self._are_tokens(array)]
        if not skip_special_tokens:
            return kept
        if isinstance(kept, np.ndarray):
            kept = kept[~np.isin(kept, list(self._special_ids))]
            return cast(Ids, kept)
        return [token_id for token_id in kept if token_id not in self._special_ids]

    def _are_tokens(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        are_tokens = np.zeros(self.vocab_size, np.bool_)
        are_tokens[[*self.spec.vocab, *other_tokens(self.spec)]] = True
        in_range = (ids >= 0) & (ids < self.vocab_size)
        return in_range & are_tokens[np.where(in_range, ids, 0)]

    def _marked(self, ids: Ids, errors: str) -> str:
        """Return the text of ids with U+FFFD for each that no token has."""
        decoder = StreamDecoder(self._token_bytes, self._edges, errors=errors, unknown_ids="mark")
        return "".join(decoder.stream(as_ids(ids).tolist()))


def checked_ids(ids: object) -> Any:
    """Return ids; `TypeError` unless they are a sequence of int or an integer array of one dimension."""
    if isinstance(ids, list | tuple):
        return ids
    if isinstance(ids, np.ndarray):
        if ids.ndim == 1 and (ids.dtype.kind in "iu" or not len(ids)):
            return ids
        found = f"an array of {ids.dtype} with {ids.ndim} dimensions"
    elif (isinstance(ids, Sequence) and not isinstance(ids, str | bytes)) or hasattr(ids, "__array__"):
        return ids if isinstance(ids, Sequence) else checked_ids(np.asarray(ids))
    else:
        found = type(ids).__name__
    raise TypeError(f"ids are a sequence of int or an integer array of one dimension, not {found}")


def checked_rows(batch: object) -> Any:
    """Return rows of ids; `TypeError` naming the row that is none."""
    if isinstance(batch, Ragged) or (isinstance(batch, np.ndarray) and batch.ndim == 2 and batch.dtype.kind in "iu"):
        return batch
    is_ordered = isinstance(batch, Iterable) and not isinstance(batch, str | bytes | Mapping | Set | np.ndarray)
    if not is_ordered:
        shape = f" of {batch.dtype} with {batch.ndim} dimensions" if isinstance(batch, np.ndarray) else ""
        raise TypeError(
            "a batch is an iterable of rows of ids, a Ragged or an integer array of two dimensions, not "
            f"{type(batch).__name__}{shape}"
        )
    rows = batch if isinstance(batch, list | tuple) else list(batch)  # type: ignore[call-overload]
    for number, row in enumerate(rows):
        if not isinstance(row, list):
            try:
                checked_ids(row)
            except TypeError as error:
                raise TypeError(f"row {number}: {error}") from None
    return rows


def run_with(threads: int | None) -> Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]:
    """Return an ordered map over as many threads: `map` itself for one.

    Raises `ValueError` when fewer than one is asked for.
    """
    if threads is None:
        return imap
    return map if thread_count(threads) == 1 else partial(imap, threads=threads)


def decode_rows(token_bytes: TokenBytes, rows: Rows, *, errors: str, threads: int | None) -> list[str]:
    """Return the text of each row; `Tokenizer.decode_batch` says the rest."""
    if isinstance(rows, Ragged):
        return _decode_flat(token_bytes, rows.ids, rows.offsets, errors=errors, threads=threads)
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        count, width = rows.shape
        offsets = np.arange(count + 1, dtype=np.int64) * width
        return _decode_flat(token_bytes, rows.reshape(-1), offsets, errors=errors, threads=threads)
    batch = cast(Sequence[Ids], rows)
    return _decode_groups(
        lambda start, stop: token_bytes.texts_of(batch[start:stop], errors),
        np.cumsum([0, *map(len, batch)], dtype=np.int64),
        threads,
    )


def _decode_flat(
    token_bytes: TokenBytes, ids: Ids, offsets: npt.NDArray[np.int64], *, errors: str, threads: int | None
) -> list[str]:
    return _decode_groups(
        lambda start, stop: token_bytes.texts(ids, offsets[start : stop + 1], errors), offsets, threads
    )


def _decode_groups(
    decode: Callable[[int, int], list[str]], offsets: npt.NDArray[np.int64], threads: int | None
) -> list[str]:
    """Decode rows, those of about `_GROUP` ids at a time."""
    count = len(offsets) - 1
    if threads is None and offsets[-1] < _THREAD_WORTH:
        threads = 1
    marks = np.searchsorted(offsets, np.arange(0, offsets[-1], _GROUP), side="right")
    borders = sorted({0, count, *marks.tolist()})
    return list(chain.from_iterable(run_with(threads)(lambda group: decode(*group), pairwise(borders))))
