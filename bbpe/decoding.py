"""Ids to text and bytes, and how that is spread over threads: ranges of one array, groups of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any, AnyStr

import numpy as np
import numpy.typing as npt

from .core.ids import TokenBytes
from .identity import Identity
from .parallel import imap, thread_count
from .ragged import Ragged

#: Ids as every decoding method takes them.
Ids = Sequence[int] | npt.NDArray[np.integer[Any]]
#: Rows of ids.
Rows = Iterable[Ids] | Ragged | npt.NDArray[np.integer[Any]]

#: Ids that one task decodes.
_GROUP = 1 << 16
#: Rows of fewer ids together are not worth a thread.
_THREAD_WORTH = 1 << 19


class Decoding(Identity):
    """The part of a `Tokenizer` that gives the text of ids."""

    _blanks: tuple[int, int]  # that are taken away at both ends

    def decode(
        self, ids: Ids, *, errors: str = "replace", threads: int | None = None, skip_special_tokens: bool = False
    ) -> str:
        """Return the text of ids: a sequence of int or any integer array of one dimension.

        `errors` says what becomes of bytes that are not UTF-8, as in `bytes.decode`.  `threads=None` uses every
        core when there are enough ids.  `skip_special_tokens` leaves special tokens out, added ones not.  Raises
        `TokenIdError` naming the first id that is negative, too large or a hole, and `TypeError` on what are no ids.

        >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
        >>> tok.decode(tok.encode("a b")), tok.decode(tok.encode_to_numpy("é")[:1], errors="ignore")
        ('a b', '')
        """
        text = self._token_bytes.text(self._kept(ids) if skip_special_tokens else ids, errors, run_with(threads))
        return strip_blanks(text, *self._blanks) if any(self._blanks) else text

    def decode_bytes(self, ids: Ids, *, threads: int | None = None) -> bytes:
        """Return the bytes of ids; for every text that no rule changes, `decode_bytes(encode(text))` is its UTF-8.

        Ids, threads and errors as in `decode`.
        """
        data = self._token_bytes.join(ids, run_with(threads))
        return strip_blanks(data, *self._blanks) if any(self._blanks) else data

    def decode_batch(
        self,
        batch: Rows,
        *,
        errors: str = "replace",
        threads: int | None = None,
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """Return the text of each row of ids, in order: rows of any kind, a `Ragged` or an array [rows, ids].

        `threads=None` uses every core when there are enough ids; otherwise as `decode`.

        >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
        >>> tok.decode_batch(tok.encode_batch_to_numpy(["a", "", "b a"]))
        ['a', '', 'b a']
        """
        if skip_special_tokens:
            batch = [self._kept(row) for row in batch]
        texts = decode_rows(self._token_bytes, batch, errors=errors, threads=threads)
        return [strip_blanks(text, *self._blanks) for text in texts] if any(self._blanks) else texts

    def _kept(self, ids: Ids) -> Ids:
        """Return ids without those of special tokens."""
        skipped = frozenset(self.spec.special_tokens.values())
        if isinstance(ids, np.ndarray):
            return ids[~np.isin(ids, list(skipped))]
        return [token_id for token_id in ids if token_id not in skipped]


def run_with(threads: int | None) -> Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]:
    """Return an ordered map over as many threads: `map` itself for one.

    Raises `ValueError` when fewer than one is asked for.
    """
    if threads is None:
        return imap
    return map if thread_count(threads) == 1 else partial(imap, threads=threads)


def strip_blanks(text: AnyStr, count: int, behind: int = 0) -> AnyStr:
    """Return a text without up to `count` blanks at its beginning and `behind` at its end, which are no part of it.

    >>> strip_blanks("  a", 1)
    ' a'
    """
    blank = " " if isinstance(text, str) else b" "
    while count > 0 and text.startswith(blank):
        text, count = text[1:], count - 1
    while behind > 0 and text.endswith(blank):
        text, behind = text[:-1], behind - 1
    return text


def decode_rows(token_bytes: TokenBytes, rows: Rows, *, errors: str, threads: int | None) -> list[str]:
    """Return the text of each row; `Tokenizer.decode_batch` says the rest."""
    if isinstance(rows, Ragged):
        return _decode_flat(token_bytes, rows.ids, rows.offsets, errors=errors, threads=threads)
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        count, width = rows.shape
        offsets = np.arange(count + 1, dtype=np.int64) * width
        return _decode_flat(token_bytes, rows.reshape(-1), offsets, errors=errors, threads=threads)
    batch = rows if isinstance(rows, (list, tuple)) else list(rows)
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
