"""What one worker does with a chunk of a corpus: find special tokens, split, count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..core.count import PretokenTable
from ..core.split import Splitter
from ..corpus.chunks import Chunk, Rules, spans_between
from ..pipeline.special_tokens import Matcher
from ..splitting.splitter import TextSplitter
from .counts import Summary


class ChunkCounter:
    """Counts chunks by the rules; each thread has one of its own."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._splitter = TextSplitter(rules.pattern)
        scheme = rules.pattern.scheme
        self._compiled = None if scheme is None else Splitter(replace(scheme, by_line=rules.by_line))
        self._matcher = Matcher.of(dict.fromkeys(rules.specials, 0))

    def count(self, chunk: Chunk, table: PretokenTable) -> Summary:
        """Add the pretokens of a chunk to a table; returns what there was in it."""
        rules, data = self._rules, chunk.data
        cut, specials, dropped = table.cut, 0, 0
        if chunk.given:
            cut_here = self._count_given(table, data, chunk.ends)
        else:
            starts, ends, specials = spans_between(data, chunk.ends, self._matcher, rules.specials)
            if self._compiled is not None:
                table.count_spans(data, starts, ends, self._compiled, rules.longest)
                cut_here = table.cut - cut - chunk.cut_before
            else:
                cut_here, dropped = self._count_by_regex(table, data, starts, ends)
        documents = self._lines(chunk) if rules.by_line else chunk.texts
        return Summary(0, documents, chunk.size, 0, 0, chunk.left_out, chunk.skipped, specials, cut_here, dropped)

    def _lines(self, chunk: Chunk) -> int:
        if not len(chunk.data):
            return chunk.texts
        array = np.frombuffer(chunk.data, np.uint8)
        last = chunk.ends[np.diff(chunk.ends, prepend=0) > 0] - 1
        open_ends = np.count_nonzero(array[last] != 0x0A) if chunk.ends_text else 0
        return int(np.count_nonzero(array == 0x0A) + open_ends)

    def _count_by_regex(
        self, table: PretokenTable, data: bytes | memoryview, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> tuple[int, int]:
        cut = dropped = 0
        view = memoryview(data)
        for start, stop in zip(starts.tolist(), ends.tolist(), strict=True):
            for first, last in _line_spans(data, start, stop) if self._rules.by_line else ((start, stop),):
                dropped += last - first
                for pretokens, pretoken_ends in self._splitter.batches(view[first:last]):
                    cut += self._count_given(table, pretokens, pretoken_ends)
                    dropped -= len(pretokens)
        return cut, dropped

    def _count_given(self, table: PretokenTable, data: bytes | memoryview, ends: npt.NDArray[np.int64]) -> int:
        longest = self._rules.longest
        lengths = np.diff(ends, prepend=0)
        too_long = int((lengths > longest).sum()) if longest else 0
        if too_long:
            pieces = [np.arange(start + longest, stop, longest) for start, stop in _spans(ends, lengths > longest)]
            ends = np.union1d(ends, np.concatenate(pieces))
        table.count_given(data, ends)
        return too_long


def _spans(ends: npt.NDArray[np.int64], chosen: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    return zip(starts[chosen].tolist(), ends[chosen].tolist(), strict=True)


def _line_spans(data: bytes | memoryview, start: int, stop: int) -> Iterator[tuple[int, int]]:
    whole = data if isinstance(data, bytes) else bytes(data)
    while start < stop:
        end = whole.find(b"\n", start, stop) + 1 or stop
        yield start, end
        start = end
