"""Cut a text into chunks of a number of tokens: at tokens, words, sentences, lines, paragraphs or given positions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias

from ..core.encoder import Encoder
from ..core.ids import TokenBytes
from ..core.places import map_places
from ..core.truncate import cluster_after, cluster_before, next_parts
from ..core.word_bpe import WordBPE
from ..core.wordpiece import WordPiece
from ..lazy import lazy_re, np, npt
from ..pipeline.special_tokens import Matcher
from ..pipeline.streaming import complete_characters
from ..records import choice, kind, whole
from ..text import Text, text_bytes
from ..types import Chunk
from .engine import TextEncoder
from .limits import checked_limit, truncated

#: Where a chunk may end: between tokens, or where a word, a sentence, a line or a paragraph ends; or a function that
#: takes the text and returns the indices.
Boundary: TypeAlias = Literal["token", "word", "sentence", "line", "paragraph"] | Callable[[Text], Iterable[int]]
_Part: TypeAlias = tuple[int, int]
#: Returns the last position between two others at which a chunk may end, 0 if there is none.
_LastEnd: TypeAlias = Callable[[int, int], int]

#: Where chunks may end by name.
KINDS = ("token", "word", "sentence", "line", "paragraph")
_BLANKS = b" \t\n\r\v\f"
# parts that one compiled call finds, between which Ctrl-C is noticed
_PARTS = 1 << 12
# bytes of text for each token that are looked at first
_LOOK_AHEAD = 16
# bytes of the longest grapheme cluster that is tried alone: 128 characters of four bytes
_ALONE = 512
_CLOSERS = "|".join(re.escape(mark) for mark in "\"')]}»”’」』）】")
_STOPS = "|".join(re.escape(mark) for mark in "。！？…｡")
# a run of marks is tried from its beginning alone, or it would take the square of its length
_MARKS = rf"(?<![.!?])[.!?]+(?:{_CLOSERS})*(?=[ \t\r\n])"
_SENTENCE = lazy_re(rf"(?:{_MARKS}|(?:{_STOPS})+(?:{_CLOSERS})*|\n[ \t\r]*\n)".encode())


def chunked(
    encoder: TextEncoder, tokens: TokenBytes, text: Text, max_tokens: int, overlap: int, boundary: Boundary,
    matcher: Matcher | None,
) -> list[Chunk]:  # fmt: skip
    """Return the chunks of a text; `Tokenizer.chunk` documents the details."""
    limit, repeated = checked_limit(max_tokens, "max_tokens", 1) + 1, checked_limit(overlap, "overlap")
    if repeated >= limit:
        raise ValueError(f"overlap is {overlap}; expected less than max_tokens, which is {max_tokens}")
    data = bytes(text_bytes(text))
    last_end = _last_end_of(boundary, text, data)
    cutter = _Cutter(encoder, tokens, data, limit, matcher)
    if last_end is None and repeated == 0:
        rows = cutter.all()
    else:
        rows = np.array(list(_each(cutter, last_end, repeated)), np.int64).reshape(-1, 3)
    spans = _indices(text, rows[:, :2]) if isinstance(text, str) and len(rows) else rows
    starts, ends = spans[:, 0].tolist(), spans[:, 1].tolist()
    whole: str | bytes = text if isinstance(text, str) else data
    parts = [whole[start:end] for start, end in zip(starts, ends, strict=True)]
    return list(map(Chunk, starts, ends, rows[:, 2].tolist(), parts))


def _indices(text: str, spans: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return spans of the UTF-8 of a text, which may overlap, as indices of the text."""
    # not np.unique, which imports np.ma where no gate is
    edges = np.sort(spans, axis=None)
    edges = edges[np.append(True, edges[1:] != edges[:-1])]
    between = np.column_stack([edges[:-1], edges[1:]])
    map_places(text, between, "char")
    return np.append(between[:, 0], between[-1, 1])[np.searchsorted(edges, spans)]


class _Cutter:
    """Cuts the UTF-8 of a text into parts of at most `limit` tokens, encoded alone."""

    def __init__(
        self, encoder: TextEncoder, tokens: TokenBytes, data: bytes, limit: int, matcher: Matcher | None
    ) -> None:
        self._encoder, self._tokens, self.data, self._limit, self._matcher = encoder, tokens, data, limit, matcher
        plain = encoder.plain if matcher is None else None
        is_fast = plain is not None and not isinstance(plain.model, WordBPE | WordPiece)
        self._fast: Encoder | None = plain if is_fast else None
        self._one = np.zeros((1, 2), np.int64)

    def all(self) -> npt.NDArray[np.int64]:
        """Return the start, end and number of tokens of all parts, int64[n, 3]."""
        found = [np.zeros((1, 2), np.int64)]
        start = 0
        while start < len(self.data):
            parts = np.zeros((_PARTS if self._fast else 1, 2), np.int64)
            count = self._fill(start, parts)
            found.append(parts[:count])
            start = int(parts[count - 1, 0])
        parts = np.concatenate(found)
        return np.column_stack([parts[:-1, 0], parts[1:]])

    def part(self, start: int) -> _Part:
        """Return the end of the longest part from `start` on, and its number of tokens."""
        self._fill(start, self._one)
        return int(self._one[0, 0]), int(self._one[0, 1])

    def count(self, start: int, end: int) -> int:
        """Return the number of tokens of a part."""
        return self._encoder.count(self.data[start:end], self._matcher, 1)

    def end_of_last(self, start: int, end: int, count: int) -> int:
        """Return where the last `count` tokens of a part begin, at a grapheme cluster."""
        part = self.data[start:end]
        begin = end - len(truncated(self._encoder, self._tokens, part, count, "left", self._matcher))
        floor = cluster_before(self.data, start, begin)
        return begin if floor == begin else min(cluster_after(self.data, floor, end - floor), end)

    def _fill(self, start: int, parts: npt.NDArray[np.int64]) -> int:
        if self._fast is not None:
            count = next_parts(self._fast, self._tokens, self.data, start, self._limit, parts)
        else:
            parts[0], count = self._slow(start), 1
        if parts[count - 1, 0] in (0, start):
            at = start if count == 1 else int(parts[count - 2, 0])
            raise ValueError(f"max_tokens is {self._limit}, but the character at byte {at} alone has more tokens")
        return count

    def _slow(self, start: int) -> _Part:
        """Return the end of the longest part by any tokenizer, and its number of tokens; `start` if there is none."""
        look = _LOOK_AHEAD * self._limit + 64
        while True:
            stop = min(start + look, len(self.data))
            # a cluster may be longer than all that is looked at
            whole = cluster_before(self.data, start, stop)
            stop = whole if whole > start else start + complete_characters(self.data[start:stop])
            piece = self.data[start:stop]
            kept = truncated(self._encoder, self._tokens, piece, self._limit, "right", self._matcher)
            if len(kept) < len(piece) or stop == len(self.data):
                break
            look *= 2
        end, limit = start + len(kept), self._limit
        while end > start:
            whole = cluster_before(self.data, start, end) or end
            end = whole if whole > start else end
            count = self.count(start, end)
            if count <= self._limit:
                return end, count
            limit = max(limit - 1, 0)
            end = start + len(truncated(self._encoder, self._tokens, piece, limit, "right", self._matcher))
        # alone, the first cluster or character may have other tokens, and fewer
        ends = cluster_after(self.data, start, _ALONE), start + _first_character(self.data[start : start + 4])
        counts = ((end, self.count(start, end)) for end in ends if end - start <= _ALONE)
        return next((found for found in counts if found[1] <= self._limit), (start, 0))


def _first_character(data: bytes) -> int:
    """Return the length of the first character, or of a byte that is no part of one."""
    for length in range(1, len(data)):
        if len(data[:length].decode("utf-8", "ignore")) == 1:
            return length
    return len(data) if len(data.decode("utf-8", "ignore")) == 1 else 1


def _each(cutter: _Cutter, last_end: _LastEnd | None, overlap: int) -> Iterator[tuple[int, int, int]]:
    """Yield the chunks with an overlap or boundaries: start, end and number of tokens."""
    start = done = 0
    while done < len(cutter.data):
        end, count = cutter.part(start)
        if end <= done:  # the overlap leaves no room for more
            start = done
            continue
        chosen = last_end(done, end) if last_end is not None and end < len(cutter.data) else 0
        if chosen > done and (fewer := cutter.count(start, chosen)) <= cutter._limit:
            end, count = chosen, fewer
        yield start, end, count
        begin = cutter.end_of_last(start, end, overlap) if overlap else end
        start, done = begin if begin > start else end, end


def _last_end_of(boundary: Boundary, text: Text, data: bytes) -> _LastEnd | None:
    """Return the function that finds where a chunk may end; `None` if that is after any token."""
    if callable(boundary):
        found = boundary(text)
        kind("boundary(text)", found, Iterable, "indices of the text")
        return _given(sorted(whole("each of boundary(text)", index) for index in found), text, data)
    choice("boundary", boundary, KINDS, "a function")
    if boundary == "word":
        return lambda done, end: _word(data, done, end)
    if boundary == "sentence":
        return lambda done, end: _sentence(data, done, end)
    if boundary == "paragraph":
        return lambda done, end: _paragraph(data, done, end)
    return (lambda done, end: data.rfind(b"\n", done, end) + 1) if boundary == "line" else None


def _word(data: bytes, done: int, end: int) -> int:
    """Return the last position before blanks after `done`, up to `end`."""
    at = end if data[end] in _BLANKS else max(data.rfind(blank, done, end) for blank in _BLANKS)
    while at > done and data[at - 1] in _BLANKS:
        at -= 1
    return at


def _sentence(data: bytes, done: int, end: int) -> int:
    """Return the last end of a sentence after `done`, up to `end`."""
    look, last = 1 << 8, 0
    while last == 0:
        begin = max(end - look, done)
        for found in _SENTENCE.finditer(data[begin : end + 1]):
            last = begin + found.end() if begin + found.end() <= end else last
        if begin == done:
            break
        look *= 4
    return last


def _paragraph(data: bytes, done: int, end: int) -> int:
    """Return the last position after a blank line after `done`, up to `end`."""
    at = data.rfind(b"\n", done, end)
    while (before := data.rfind(b"\n", done, max(at, done))) >= 0:
        if not data[before + 1 : at].strip(b" \t\r"):
            return at + 1
        at = before
    return 0


def _given(indices: list[int], text: Text, data: bytes) -> _LastEnd:
    """Return the function for ends that a caller has given as indices of the text."""
    if indices and not 0 <= indices[0] <= indices[-1] <= len(text):
        raise ValueError(f"boundary returned {indices[0]} to {indices[-1]}; expected indices of 0 to {len(text)}")
    ends = indices
    if isinstance(text, str) and not text.isascii():
        begins = np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)
        ends = np.append(begins, len(data))[indices].tolist()

    def last(done: int, end: int) -> int:
        number = bisect_right(ends, end)
        return ends[number - 1] if number and ends[number - 1] > done else 0

    return last
