"""Texts -> chunks: pieces of a corpus that may be counted apart, in any order, by anyone.

A text longer than a block is cut where the pattern is sure of a border and no special token stands, so that the
pretokens of its parts are those of the whole; small texts share a chunk.  A pattern that only the `regex`
package follows offers no such place, except between lines when these are texts of their own; its long texts are
split here, and their pretokens handed on.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from ..budget import shown
from ..core.rows import hashes, take
from ..errors import MemoryLimitError
from ..lazy import np, npt
from ..pipeline.special_tokens import Matcher
from ..pipeline.streaming import complete_characters, pieces
from ..records import dataclass, field, replace
from ..splitting.patterns import Pattern
from ..splitting.splitter import TextSplitter
from ..text import Buffer
from .files import FilePath
from .sources import Int64s, Pending, Reading, Texts
from .unique import Unique

#: How far from the end of a block a cut is looked for first, in bytes.
_NEAR = 256
#: The head of a text that decides whether it is in the sample.
_HEAD = 1 << 16
#: What may come after a part of a text, of each kind: a pretoken may depend on it from afar.
_FUTURES = (b"x", b".", b"\nx", b" x")
# up to so many are looked for one by one, 4 GB/s each, before the search for all, 0.2 to 3.5 GB/s
_FEW_SPECIALS = 16


@dataclass(frozen=True, order=True)
class Position:
    """Where reading goes on: in which source, behind how many of its records, behind how many bytes of the next."""

    source: int = 0
    text: int = 0
    byte: int = 0


_BEGIN = Position()


@dataclass(frozen=True)
class CorpusChunk:
    """A piece of a corpus, and the place behind it; `None` where reading cannot be taken up again.

    `ends`: where the texts in `data` end, int64[n], or the pretokens if these are `given`.  `texts` is how many whole
    texts the chunk ends, `left_out` how many the sample left out, `duplicates` how many were there before, `skipped`
    and `refused` how many records have no text or cannot be read, `read` how far in its source it ends, in bytes.
    `cut_before`: 1 when its first pretoken is the rest of one that was cut, and so counted as cut, in the chunk before.
    """

    data: bytes | memoryview
    ends: Int64s
    place: Position | None
    read: int = 0
    texts: int = 0
    left_out: int = 0
    skipped: int = 0
    size: int = 0
    given: bool = False
    ends_text: bool = True
    cut_before: int = 0
    refused: int = 0
    duplicates: int = 0


@dataclass(frozen=True)
class ChunkOptions:
    """The options that decide how a corpus is counted; picklable.

    `specials` are special tokens as UTF-8, `by_line` makes each line a text, `longest` cuts longer pretokens (0: none),
    `sample` is the share of texts that is counted, chosen by a hash of each.  `reading` is how files are read: a chunk
    has about `reading.block` bytes, and `reading.most` bytes of a text may wait for a place to cut it.
    """

    pattern: Pattern
    specials: tuple[bytes, ...] = ()
    by_line: bool = False
    longest: int = 0
    sample: float = 1.0
    reading: Reading = field(default_factory=Reading)


@dataclass
class _Small:
    """Small texts that wait to share a chunk."""

    parts: list[bytes | memoryview] = field(default_factory=list)
    size: int = 0
    left_out: int = 0
    duplicates: int = 0

    def __bool__(self) -> bool:
        return bool(self.parts or self.left_out or self.duplicates)

    def clear(self) -> None:
        self.parts, self.size, self.left_out, self.duplicates = [], 0, 0, 0


class Cutter:
    """Cuts the texts of one source after another into chunks.

    `splitter` cuts in place of the one of the pattern.  `unique` leaves out texts that were there before.
    """

    def __init__(
        self, options: ChunkOptions, splitter: TextSplitter | None = None, unique: Unique | None = None
    ) -> None:
        self._options, self._block, self._most = options, options.reading.block, options.reading.most
        self._splitter = TextSplitter(options.pattern) if splitter is None else splitter
        self._longest_special = max(map(len, options.specials), default=1)
        self._unique = unique
        #: Whether each line is chosen or left out by itself.
        self._sampled_lines = options.by_line and (options.sample < 1 or unique is not None)
        self._matcher = Matcher.of(dict.fromkeys(options.specials, 0))

    def chunks(self, sources: Iterable[tuple[int, Iterable[Texts]]], start: Position = _BEGIN) -> Iterator[CorpusChunk]:
        """Yield the chunks of sources, given by number; `start` is where the first one is taken up."""
        small = _Small()
        for number, events in sources:
            place = start if number == start.source else Position(number)
            yield from self._source(events, place, small)
        if small:
            yield self._shared(small, Position(number + 1), 0)

    def _source(self, events: Iterable[Texts], place: Position, small: _Small) -> Iterator[CorpusChunk]:
        pending, chosen, first = Pending(self._most), True, place.byte == 0
        is_new, cut_before = True, 0
        stream = iter(events)
        for event in stream:
            if event.ends is not None:
                yield from self._drained(small, place)
                place = Position(place.source, place.text + event.records)
                yield from self._divided(self._whole(event, place))
                continue
            if first:
                (chosen, is_new), first = self._is_chosen(event, place.source), False
                if chosen and not event.last and self._options.pattern.scheme is None and not self._options.by_line:
                    yield from self._drained(small, place)
                    yield from self._by_regex(_chained(event, stream), place.source)
                    return
            whole = place.byte == 0 and event.last and event.complete
            if not chosen:
                if event.last:
                    small.left_out, small.duplicates = small.left_out + is_new, small.duplicates + (not is_new)
                continue
            if whole and not pending and len(event.data) <= self._block and not self._sampled_lines:
                small.parts.append(bytes(event.data))
                small.size += len(event.data)
                if small.size >= self._block:
                    yield self._shared(small, Position(place.source + 1), event.read)
                continue
            yield from self._drained(small, place)
            tried = len(pending)
            if not pending.add(event):
                continue
            data, forced = pending.data, 0
            cut = len(data) if event.last else self.cut(data, max(tried - 4 - self._longest_special, 1))
            if not cut and 0 < self._most < len(data):
                cut = forced = self._forced(data, event.path, place.byte)
            if cut:
                place = Position(place.source + 1) if event.last else Position(place.source, 0, place.byte + cut)
                part = self._part(memoryview(data)[:cut], place, event)
                if forced or cut_before:
                    # nobody can go on within a pretoken
                    part = replace(part, place=None if forced else place, cut_before=self._cut_before(part, cut_before))
                yield part
                cut_before = int(forced > 0)
            pending.keep(cut)

    def _forced(self, data: Buffer, path: FilePath | None, byte: int) -> int:
        """Find a place to cut the pretoken that a text of one endless pretoken ends with: where its pieces end anyway.

        Raises `MemoryLimitError` when pretokens are not cut, or are cut in pieces as large as memory.
        """
        compiled, longest = self._splitter.compiled, self._options.longest
        if longest and compiled is not None and not self._sampled_lines:
            whole = bytes(data)
            whole = whole[: complete_characters(whole)]
            ends = array("q", [len(whole)])
            starts = spans_between(whole, ends, self._matcher, self._options.specials)[0]
            last = 0 if starts is None else starts[-1]
            limit = len(whole) - self._longest_special
            # whatever comes next, the pretoken must begin there, and what is left of it must begin as more of it
            ends_of = [self._around(whole[last:] + after, limit - last) for after in _FUTURES]
            start, limit = last + ends_of[0][0], min(limit, last + min(end for _, end in ends_of) - _NEAR)
            if len({begin for begin, _ in ends_of}) > 1:
                raise self._refusal(path, byte + len(data))
            for count in range((limit - start) // longest, 1, -1):
                cut = start + count * longest
                before = whole[max(cut - 4, 0) : cut]
                if complete_characters(before) == len(before) and not self._straddled(whole, cut):
                    return cut
        raise self._refusal(path, byte + len(data))

    def _around(self, data: bytes, at: int) -> tuple[int, int]:
        """Return where the pretoken begins and ends that a place lies in."""
        assert self._splitter.compiled is not None
        borders = self._splitter.compiled.spans(data)
        number = max(int(np.searchsorted(borders, at)) - 1, 0)
        return int(borders[number]), int(borders[min(number + 1, len(borders) - 1)])

    def _refusal(self, path: FilePath | None, byte: int) -> MemoryLimitError:
        if self._splitter.compiled is None:
            way = "a named split pattern, which no regex follows, or document='line'"
        elif self._options.longest:
            way = "another max_pretoken_bytes, such as a smaller one"
        else:
            way = "max_pretoken_bytes, which cuts long words"
        return MemoryLimitError(
            f"{'the text' if path is None else path}: there is no place to cut the text before byte {byte}, and "
            f"max_memory leaves {shown(self._most)} for a part of it; give {way}, or a larger max_memory"
        )

    def _cut_before(self, part: CorpusChunk, cut_before: int) -> int:
        """Return 1 when a part begins with more than one piece of a pretoken that is counted as cut already."""
        compiled = self._splitter.compiled
        if not cut_before or compiled is None:
            return 0
        head = bytes(part.data[: self._options.longest + _NEAR])
        return int(compiled.spans(head)[1] > self._options.longest)

    def _drained(self, small: _Small, place: Position) -> Iterator[CorpusChunk]:
        if small:
            yield self._shared(small, place, 0)

    def _shared(self, small: _Small, place: Position, read: int) -> CorpusChunk:
        ends = array("q", accumulate(map(len, small.parts)))
        data = small.parts[0] if len(small.parts) == 1 else b"".join(small.parts)
        chunk = CorpusChunk(
            data, ends, place, read, len(ends), small.left_out, size=len(data), duplicates=small.duplicates
        )
        small.clear()
        return chunk

    def _part(self, data: memoryview, place: Position, event: Texts) -> CorpusChunk:
        ends, ended = array("q", [len(data)]), event.last and event.complete
        if self._sampled_lines:
            return self._whole(Texts(data, ends, True, event.read), place)
        return CorpusChunk(data, ends, place, event.read, int(ended), size=len(data), ends_text=ended)

    def _whole(self, event: Texts, place: Position) -> CorpusChunk:
        """Make a chunk of whole texts, less what the sample leaves out."""
        data, ends = event.data, event.ends
        assert ends is not None
        size = len(data)
        if self._sampled_lines and len(ends):
            # not np.union1d, which imports numpy.ma where no gate is
            ends = np.sort(np.concatenate([ends, _line_ends(data)]))
            ends = ends[np.diff(ends, prepend=-1) > 0]
        count = len(ends)
        if self._options.sample < 1 and count:
            offsets = np.concatenate([np.zeros(1, np.int64), ends])
            array = np.frombuffer(data, np.uint8)
            kept = np.flatnonzero(self._in_sample(hashes(array, offsets))).astype(np.int64)
            array, offsets = take(array, offsets, kept)
            data, ends = array.data, offsets[1:]
        left_out, count = count - len(ends), len(ends)
        if self._unique is not None and count and len(kept := self._unique.new(data, ends)) < count:
            offsets = np.concatenate([np.zeros(1, np.int64), ends])
            array, offsets = take(np.frombuffer(data, np.uint8), offsets, kept)
            data, ends = array.data, offsets[1:]
        return CorpusChunk(
            data, ends, place, event.read, len(ends), left_out, event.skipped, size, refused=event.refused,
            duplicates=count - len(ends),
        )  # fmt: skip

    def _divided(self, chunk: CorpusChunk) -> Iterator[CorpusChunk]:
        """Yield a chunk of whole texts in several when it is much too large, as one long text makes it."""
        block, view, at, texts = self._block, memoryview(chunk.data), 0, chunk.texts
        if len(view) <= 2 * block or (self._splitter.compiled is None and not self._options.by_line):
            yield chunk
            return
        ends = np.asarray(chunk.ends)
        for end in ends[np.diff(ends, prepend=0) > 2 * block].tolist():
            start = int(ends[np.searchsorted(ends, end) - 1]) if end != ends[0] else 0
            if start > at:
                between = self._among(chunk, view, at, start)
                texts -= between.texts
                yield between
            at, room = start, block
            while end - at > 2 * block:
                cut = self.cut(bytes(view[at : at + room]), 1) if end - at > room else 0
                if not cut and end - at > room:
                    room *= 2
                    continue
                if not cut:
                    break
                piece = view[at : at + cut]
                yield CorpusChunk(piece, array("q", [cut]), None, chunk.read, size=cut, ends_text=False)
                at, room = at + cut, block
            yield CorpusChunk(view[at:end], array("q", [end - at]), None, chunk.read, 1, size=end - at)
            at, texts = end, texts - 1
        last = self._among(chunk, view, at, len(view))
        yield replace(chunk, data=last.data, ends=last.ends, size=chunk.size - at, texts=texts)

    def _among(self, chunk: CorpusChunk, view: memoryview, start: int, stop: int) -> CorpusChunk:
        """Return the texts between two ends as a chunk of their own."""
        ends = np.asarray(chunk.ends)
        ends = ends[(ends > start) & (ends <= stop)] - start
        return CorpusChunk(view[start:stop], ends, None, chunk.read, len(ends), size=stop - start)

    def _is_chosen(self, event: Texts, source: int) -> tuple[bool, bool]:
        """Return whether the text that begins with an event is counted, and whether it is new if that is asked."""
        if self._options.by_line:
            return True, True
        if self._options.sample < 1:
            head = event.data[:_HEAD]
            array = np.frombuffer(head, np.uint8)
            if not self._in_sample(hashes(array, np.array([0, len(head)], np.int64)))[0]:
                return False, True
        is_new = self._unique is None or self._unique.is_new(source, event)
        return is_new, is_new

    def _in_sample(self, values: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        chosen: npt.NDArray[np.bool_] = values < np.uint64(int(self._options.sample * 2.0**64))
        return chosen

    def _by_regex(self, events: Iterator[Texts], source: int) -> Iterator[CorpusChunk]:
        """Yield the pretokens of one long text, split as it is read."""
        tail, matcher = self._options.pattern.open_tail, Matcher.of(dict.fromkeys(self._options.specials, 0))
        read = size = done = 0

        def blocks() -> Iterator[bytes | memoryview]:
            nonlocal read, size, done
            for event in events:
                read, size, done = event.read, size + len(event.data), done + len(event.data)
                # as much as came since the last pretokens, and perhaps as much before, waits for its end
                if 0 < self._most < size:
                    raise self._refusal(event.path, done)
                yield event.data

        after = Position(source + 1)
        if tail is None:
            data = b"".join(blocks())
            ends: Int64s = array("q", [len(data)])
            yield CorpusChunk(data, ends, after, read, 1, size=size)
            return
        for piece in pieces(blocks(), self._splitter.cut, tail, matcher):
            data, ends = (b"", array("q")) if isinstance(piece, int) else piece
            # what is pending stands in no chunk yet, so nobody can go on from here
            yield CorpusChunk(data, ends, None, read, size=size, given=True, ends_text=False)
            size = 0
        yield CorpusChunk(b"", array("q"), after, read, 1, size=size, given=True)

    def cut(self, data: Buffer, first: int) -> int:
        """Find the last place, from `first` on, where a text that goes on may be cut; 0: there is none."""
        limit = len(data) - max(4, self._longest_special)
        if self._options.by_line:
            for at in _line_feeds(data, first - 1, limit):
                if not self._straddled(data, at + 1):
                    return at + 1
        compiled = self._splitter.compiled
        if compiled is None or self._sampled_lines:
            return 0
        window = _NEAR
        while limit > first:
            start = max(limit - window, first)
            cut = compiled.safe_cut(data, start, limit - start)
            while cut != -1 and self._straddled(data, cut):
                cut = compiled.safe_cut(data, cut + 1, limit - cut - 1) if cut + 1 < limit else -1
            if cut > 0:
                return cut
            if start == first:
                break
            window *= 16
        return 0

    def _straddled(self, data: Buffer, cut: int) -> bool:
        """Whether a special token stands on both sides of a place, wherever the search for them begins."""
        reach = self._longest_special - 1
        around = bytes(data[max(0, cut - reach) : cut + reach])
        middle = min(cut, reach)
        return any(
            around.find(token, max(0, middle - len(token) + 1), middle + len(token) - 1) >= 0
            for token in self._options.specials
            if len(token) > 1
        )


def _chained(first: Texts, rest: Iterator[Texts]) -> Iterator[Texts]:
    yield first
    yield from rest


def _line_feeds(data: Buffer, first: int, limit: int) -> Iterator[int]:
    """Yield where line feeds stand, the last one first, before `limit` and not before `first`."""
    window = _NEAR
    while limit > first:
        start = max(limit - window, first)
        part = bytes(data[start:limit])
        at = len(part)
        while (at := part.rfind(b"\n", 0, at)) >= 0:
            yield start + at
        limit, window = start, 16 * window


def _line_ends(data: bytes | memoryview) -> npt.NDArray[np.int64]:
    """Return where the lines of a text end, each behind its line feed."""
    array = np.frombuffer(data, np.uint8)
    ends = (np.flatnonzero(array == 0x0A) + 1).astype(np.int64)
    if len(array) and (not len(ends) or ends[-1] != len(array)):
        ends = np.append(ends, len(array))
    return ends


def spans_between(
    data: bytes | memoryview, ends: Int64s, matcher: Matcher, specials: Sequence[bytes]
) -> tuple[Int64s | None, Int64s, int]:
    """Return where the stretches of texts between special tokens begin and end, int64[n] each, and how many tokens.

    Each begins where the last one ends if the starts are `None`.
    """
    whole = data if isinstance(data, bytes) else bytes(data) if specials else b""
    if len(specials) <= _FEW_SPECIALS and not any(token in whole for token in specials):
        return None, ends, 0
    found = matcher.find(whole)
    if found is None:
        return None, ends, 0
    stops, first, last = ends.tolist(), list[int](), list[int]()
    while found is not None:
        start, stop, _ = found
        end = stops[bisect_right(stops, start)]
        if stop > end:
            # it runs into the next text; a shorter token, or a later one, may yet stand in this one
            inside = matcher.find(whole[start:end])
            if inside is None:
                found = matcher.find(whole, end)
                continue
            start, stop = start + inside[0], start + inside[1]
        first.append(start)
        last.append(stop)
        found = matcher.find(whole, stop)
    starts = sorted([0, *stops[:-1], *last])
    return array("q", starts), array("q", sorted([*stops, *first])), len(first)
