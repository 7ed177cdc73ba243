"""Encode texts that pass the compiled pipeline: special and added tokens, rules, and the ids of a template."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from ..core.encoder import Encoder
from ..core.long_text import LongText
from ..core.piped import Call, Piped, Pipeline
from ..core.tasks import Tasks
from ..lazy import np, npt, safe_import
from ..pipeline.special_tokens import Matcher
from ..text import Text
from ..threads import run, thread_count
from .batches import THREAD_WORTH, Batch, chunk_length, text_length

if TYPE_CHECKING:
    from ..core.column import Texts
    from ..types import Ragged

Ids: TypeAlias = "npt.NDArray[np.uint32]"
#: The ids of a template before and after those of each text.
Around: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
NOTHING_AROUND: Around = ((), ())

#: Calls that are remembered, of a tokenizer; a program has few.
_MOST_CALLS = 512


class PipedTexts:
    """Encodes texts by a pipeline and the encoder after it; all ids are below `id_count`."""

    def __init__(self, encoder: Encoder, pipeline: Pipeline, id_count: int) -> None:
        self.model, self.piped, self._pipeline = encoder.model, Piped(encoder, id_count), pipeline
        self._calls: dict[tuple[Matcher | None, Around], Call] = {}

    def call(self, matcher: Matcher | None, around: Around) -> Call:
        """Return what a call of these arguments needs."""
        key = matcher, around
        call = self._calls.get(key)
        if call is None:
            if len(self._calls) >= _MOST_CALLS:
                self._calls.clear()
            call = self._calls[key] = self._made(matcher, around)
        return call

    def _made(self, matcher: Matcher | None, around: Around) -> Call:
        before, after = around
        if matcher is None:
            return Call(self._pipeline, before=before, after=after)
        normalized = None if matcher.after is None else matcher.after.found
        return Call(
            self._pipeline,
            tokens=matcher.found,
            normalized=normalized,
            refused=matcher.refused,
            before=before,
            after=after,
        )

    def to_list(self, text: Text, matcher: Matcher | None, around: Around) -> list[int]:
        """Return the ids of a text as a list."""
        call = self.call(matcher, around)
        if text_length(text) < THREAD_WORTH or thread_count(None) == 1:
            return self.piped.to_list(text, call)
        return list(chain.from_iterable(ids.tolist() for ids in self._long(text, call, None)))

    def to_array(self, text: Text, matcher: Matcher | None, threads: int | None, around: Around) -> Ids:
        """Return the ids of a text as uint32[n]."""
        call = self.call(matcher, around)
        if text_length(text) < THREAD_WORTH or thread_count(threads) == 1:
            return self.piped.to_array(text, call)
        return np.concatenate(self._long(text, call, threads))

    def count(self, text: Text, matcher: Matcher | None, threads: int | None) -> int:
        """Return the number of ids of a text."""
        call = self.call(matcher, NOTHING_AROUND)
        if text_length(text) < THREAD_WORTH or thread_count(threads) == 1:
            return self.piped.count(text, call)
        return sum(count for _, count in self._sections(text, call, threads, keeps=False))

    def count_up_to(self, text: Text, matcher: Matcher | None, limit: int) -> int:
        """Return the number of ids of a text, or any number above `limit` if there are more."""
        return self.piped.count(text, self.call(matcher, NOTHING_AROUND), limit)

    def _long(self, text: Text, call: Call, threads: int | None) -> list[Ids]:
        """Return the ids of a long text in parts."""
        return [ids for ids, _ in self._sections(text, call, threads, keeps=True) if ids is not None]

    def _sections(
        self, text: Text, call: Call, threads: int | None, *, keeps: bool
    ) -> Iterator[tuple[Ids | None, int]]:
        """Yield the ids of the parts of a long text, if they are wanted, and their number."""
        length = text_length(text)
        long = LongText(self.piped, text, call, chunk_length(length, threads))
        while parts := long.next_section():
            tasks = Tasks(parts, length, thread_count(threads))
            found: dict[int, tuple[Ids | None, int]] = {}

            def encode(worker: int, tasks: Tasks = tasks, found: dict[int, tuple[Ids | None, int]] = found) -> None:
                while (taken := tasks.take(worker)) is not None:
                    for part in range(taken.start, taken.stop):
                        found[part] = long.encode(part, keeps, tasks.share, worker)

            run(tasks, encode)
            yield from (found[part] for part in range(parts))

    def lists(self, texts: Texts, matcher: Matcher | None, threads: int | None) -> list[list[int]]:
        """Return the ids of each text as a list."""
        batch, call = Batch(texts, threads), self.call(matcher, NOTHING_AROUND)
        if batch.threads == 1:
            return self.piped.lists(texts, 0, len(texts), call, batch.length, is_all=True)
        parts = batch.each(
            lambda start, stop, share, worker: self.piped.lists(texts, start, stop, call, share, worker)
        )
        return list(chain.from_iterable(parts))

    def rows(self, texts: Texts, matcher: Matcher | None, threads: int | None) -> Ragged:
        """Return the ids of each text in one array."""
        safe_import("bbpe.types")
        from ..types import Ragged

        arrays, lengths = self._each(texts, matcher, threads, keeps=True)
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Ragged(arrays[0] if len(arrays) == 1 else np.concatenate([np.empty(0, np.uint32), *arrays]), offsets)

    def counts(self, texts: Texts, matcher: Matcher | None, threads: int | None) -> npt.NDArray[np.int64]:
        """Return the number of ids of each text, int64[n]."""
        return self._each(texts, matcher, threads, keeps=False)[1]

    def _each(
        self, texts: Texts, matcher: Matcher | None, threads: int | None, *, keeps: bool
    ) -> tuple[list[Ids], npt.NDArray[np.int64]]:
        """Return the ids of texts in arrays to be joined, and the number of ids of each text, int64[n]."""
        batch, call = Batch(texts, threads), self.call(matcher, NOTHING_AROUND)
        if batch.threads == 1:
            return self.piped.rows(texts, 0, len(texts), call, keeps, batch.length)
        parts = batch.each(
            lambda start, stop, share, worker: self.piped.rows(texts, start, stop, call, keeps, share, worker)
        )
        lengths = np.concatenate([np.empty(0, np.int64), *(lengths for _, lengths in parts)])
        return [ids for arrays, _ in parts for ids in arrays], lengths
