"""Encode single texts and batches by the options of a call, and spread the work over threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..core.call import Call, Dropout, Pipeline
from ..core.column import extent, most_ids
from ..core.encoder import SHORT_TEXT, Encoder
from ..core.long_text import LongText
from ..core.model import Model
from ..core.parts import Parts
from ..core.tasks import Tasks
from ..lazy import lazy_property, np, npt, safe_import
from ..pipeline.special_tokens import Matcher, OptionMatcher, Selection, SpecialTokens
from ..pipeline.streaming import pieces
from ..records import dataclass, dtype_of, flag, real, whole
from ..spec.spec import TokenizerSpec, with_modelled
from ..splitting.splitter import TextSplitter, compiled_steps
from ..text import Text, text_bytes
from ..threads import run, thread_count
from .plan import EncodingPlan, plan_of

if TYPE_CHECKING:
    from ..core.column import Texts
    from ..types import Ragged

Ids: TypeAlias = "npt.NDArray[np.uint32]"
#: The ids of a template before and after those of each text.
Around: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
NOTHING_AROUND: Around = ((), ())
_T = TypeVar("_T")

#: Text shorter than this, in characters or bytes, is encoded by one thread.
THREAD_WORTH = SHORT_TEXT
#: The largest and the smallest part of a text that is one task; threads idle at the end of larger tasks, and wait for
#: each other between smaller ones.
_CHUNK, _LEAST_CHUNK = 1 << 18, 1 << 17
#: The fewest tasks for each thread, because in a text of many languages some parts take five times as long as others.
_TASKS = 16
#: Calls that are remembered, of a tokenizer; a program has few.
_MOST_CALLS = 512


@dataclass(frozen=True)
class CacheInfo:
    """The sizes of caches in bytes.

    Attributes:
        tokenizer: The size of the caches of one tokenizer.
        process: The size of the caches of all tokenizers in the process.
        limit: The limit on `process`.

    """

    tokenizer: int
    process: int
    limit: int


@cache
def id_dtypes() -> dict[np.dtype[Any], int]:
    """Return the dtypes of ids, and the highest id that each can hold."""
    return {np.dtype(kind): int(np.iinfo(kind).max) for kind in (np.uint32, np.uint16, np.int32, np.int64)}


@cache
def _one_of_dtypes() -> str:
    return f"one of {', '.join(map(str, id_dtypes()))}"


def id_dtype(dtype: npt.DTypeLike, vocab_size: int) -> np.dtype[Any]:
    """Return the dtype of ids; `ValueError` when it is not supported or is too small for the ids of a vocabulary."""
    chosen = dtype_of(dtype, _one_of_dtypes())
    most = id_dtypes().get(chosen)
    if most is None:
        raise ValueError(f"dtype is {chosen}; expected {_one_of_dtypes()}")
    if vocab_size - 1 > most:
        raise ValueError(f"dtype is {chosen}, which cannot hold ids up to {vocab_size - 1}; expected uint32 or int64")
    return chosen


def checked_seed(dropout: float, seed: int | None) -> int:
    """Return the seed for a call with dropout, a random one for None; `ValueError` when either is out of range."""
    if not 0 <= real("dropout", dropout) <= 1:
        raise ValueError(f"dropout is {dropout}; expected a probability, 0 to 1")
    if seed is None:
        safe_import("secrets")
        from secrets import randbits

        return randbits(64)
    given = whole("seed", seed, expected="an int or None")
    if not 0 <= given < 1 << 64:
        raise ValueError(f"seed is {given}; expected 0 to 2**64 - 1")
    return given


class TextEncoder:
    """Encodes texts by a plan for a spec.

    The `matcher` of a call has the special tokens that become ids and those that are refused.
    """

    def __init__(self, plan: EncodingPlan, spec: TokenizerSpec) -> None:
        self.spec, self._shrink_factor = spec, plan.shrink_factor
        self.splitter = TextSplitter(plan.pattern, plan.scheme)
        self.pipeline: Pipeline = plan.pipeline(self.splitter)
        self.encoder = Encoder(plan.model, self.splitter.compiled, spec.vocab_size)
        #: Whether rules may change any part of a text.
        self.has_rules = plan.spec is not None or bool(spec.modelled)
        # a scheme in place of the pattern depends on pairs of bytes only
        self._open_tail = plan.pattern.open_tail if plan.scheme is None else 1
        self._dropout: Dropout | None = None
        self._calls: dict[tuple[Matcher | None, Around], Call] = {}
        self._kept: dict[str, Any] = {}
        #: Most models of files have the special tokens among their own, and make them of texts that a normalizer has
        #: changed (`#tag` to `[TAG]`).  A text from outside must not become a special token, so this model has none of
        #: those `modelled`; where a call looks for some, a model that has these too encodes.
        self._modelled = frozenset(spec.modelled)
        self._with_modelled: dict[frozenset[int], TextEncoder] = {}

    def of(self, matcher: Matcher | None) -> TextEncoder:
        """Return the encoder for a call that looks for these tokens."""
        ids = self._modelled & matcher.ids if self._modelled and matcher is not None else None
        if not ids:
            return self
        found = self._with_modelled.get(ids)
        if found is None:
            found = self._with_modelled.setdefault(ids, text_encoder(with_modelled(self.spec, ids)))
        return found

    def call(self, matcher: Matcher | None, around: Around = NOTHING_AROUND) -> Call:
        """Return what encodes texts by the options of a call, between the ids of a template `around` theirs."""
        found = self._calls.get((matcher, around))
        if found is None:
            if len(self._calls) >= _MOST_CALLS:
                self._calls.clear()
            found = self._calls[matcher, around] = self._made(matcher, around)
        return found

    def _made(self, matcher: Matcher | None, around: Around) -> Call:
        chosen, (before, after) = self.of(matcher), around
        if matcher is None:
            return Call(chosen.encoder, chosen.pipeline, before=before, after=after, dropout=self._dropout)
        normalized = None if matcher.after is None else matcher.after.found
        return Call(
            chosen.encoder, chosen.pipeline, tokens=matcher.found, normalized=normalized, refused=matcher.refused,
            before=before, after=after, dropout=self._dropout, levels=matcher.levels,
        )  # fmt: skip

    @lazy_property
    def plain(self) -> Encoder | None:
        """The encoder of a call without options, if it gets texts as they are."""
        return self.encoder if self.call(None).is_plain else None

    def kept(self, name: str, make: Callable[[TextEncoder], _T]) -> _T:
        """Return what `make` makes of this encoder, from a cache."""
        if name not in self._kept:
            self._kept[name] = make(self)
        found: _T = self._kept[name]
        return found

    def splitting(self) -> TextEncoder:
        """Return an encoder that knows the pretokens of the pattern, which this one may split otherwise."""
        other = self.copy()
        if self.pipeline.pre_tokenizer is None and self.spec.pattern.scheme is None:
            other.pipeline = self.pipeline.splitting(compiled_steps(self.spec.pattern))
        return other

    def with_dropout(self, dropout: float, seed: int) -> TextEncoder:
        """Return an encoder that skips merges at random: all of its texts draw from one random generator, in turn."""
        other = self.copy()
        other._dropout = Dropout(dropout, seed)
        return other

    def copy(self) -> TextEncoder:
        """Return an encoder with the same model and caches, to which this one may refer without a circle."""
        other = copy(self)
        other._calls, other._kept = {}, {}
        return other

    # -- one text ----------------------------------------------------------------------------------------------

    def to_list(self, text: Text, matcher: Matcher | None = None, around: Around = NOTHING_AROUND) -> list[int]:
        """Return the ids of a text, between those `around` it, as a list."""
        call = self.call(matcher, around)
        if not _is_divided(text, None, call):
            return call.to_list(text)
        return call.encoder.to_list(self.to_array(text, matcher, None, around))

    def to_array(
        self, text: Text, matcher: Matcher | None = None, threads: int | None = None, around: Around = NOTHING_AROUND
    ) -> Ids:
        """Return the ids of a text, between those `around` it, as uint32[n]."""
        call = self.call(matcher, around)
        if not _is_divided(text, threads, call):
            return call.to_array(text)
        if not call.is_plain or around != NOTHING_AROUND:
            return np.concatenate([ids for ids, _ in _sections(text, call, threads, keeps=True) if ids is not None])
        cuts = call.encoder.cuts(text, chunk_length(len(text), threads))
        parts = Parts(cuts, len(text), thread_count(threads), most_ids(text, 1))
        run(parts.tasks, lambda worker: call.encoder.encode_parts(text, cuts, parts, worker))
        return parts.taken()

    def count(self, text: Text, matcher: Matcher | None = None, threads: int | None = None) -> int:
        """Return the number of ids of a text without storing them."""
        call = self.call(matcher)
        if not _is_divided(text, threads, call):
            return call.count(text)
        return sum(count for _, count in _sections(text, call, threads, keeps=False))

    def count_up_to(self, text: Text, limit: int, matcher: Matcher | None) -> int:
        """Return the number of ids of a text, or any number above `limit` if there are more than `limit`."""
        is_long = self.of(matcher)._exceeds(text, limit, matcher)
        return limit + 1 if is_long else self.call(matcher).count(text, limit)

    def _exceeds(self, text: Text, limit: int, matcher: Matcher | None) -> bool:
        """Return whether a text is longer than `limit` of the longest tokens, which is known without encoding it."""
        longest, factor = self.encoder.model.longest, self._shrink_factor
        if longest is None or factor is None or self.splitter.pattern.drops_gaps:
            return False
        if self.has_rules and (isinstance(matcher, OptionMatcher) or not isinstance(text, str)):
            return False
        return text_length(text) > limit * factor * max(longest, 0 if matcher is None else matcher.longest)

    # -- many texts --------------------------------------------------------------------------------------------

    def lists(self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None) -> list[list[int]]:
        """Return the ids of each text as a list."""
        call, batch = self.call(matcher), Batch(texts, threads)
        if batch.threads == 1 or not call.is_divided:
            return call.lists(texts, 0, len(texts), batch.length, is_all=True)
        parts = batch.each(lambda *part: call.lists(texts, *part))
        return list(chain.from_iterable(parts))

    def rows(self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None) -> Ragged:
        """Return the ids of each text in one array."""
        safe_import("bbpe.types")
        from ..types import Ragged

        call, offsets = self.call(matcher), np.zeros(len(texts) + 1, np.int64)
        if call.is_plain:  # which have as many ids at most as they have bytes, so that memory is known
            batch = Batch(texts, threads)
            marks = batch.marks()
            parts = Parts(batch.bounds(marks), batch.length, batch.threads)
            run(parts.tasks, lambda worker: call.encoder.encode_row_parts(texts, marks, offsets[1:], parts, worker))
            np.cumsum(offsets, out=offsets)
            return Ragged(parts.taken(), offsets)
        arrays, lengths = _each(texts, call, threads, keeps=True)
        np.cumsum(lengths, out=offsets[1:])
        return Ragged(arrays[0] if len(arrays) == 1 else np.concatenate([np.empty(0, np.uint32), *arrays]), offsets)

    def counts(
        self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None
    ) -> npt.NDArray[np.int64]:
        """Return the number of ids of each text, int64[n]."""
        return _each(texts, self.call(matcher), threads, keeps=False)[1]

    # -- text in chunks ----------------------------------------------------------------------------------------

    def stream(self, chunks: Iterable[Text], matcher: Matcher | None = None) -> Iterator[int]:
        """Yield the ids of the joined chunks, which are collected first if a rule may change any of them."""
        if self.has_rules:
            yield from self.to_list(_joined(chunks), matcher)
            return
        for ids in self.stream_arrays(chunks, matcher):
            yield from self.encoder.to_list(ids)

    def stream_arrays(self, chunks: Iterable[Text], matcher: Matcher | None) -> Iterator[Ids]:
        """Yield the ids of the joined chunks in parts, uint32[n] each, where no rule changes them."""
        for piece in pieces(chunks, self.splitter.cut, self._open_tail, matcher):
            yield np.array([piece], np.uint32) if isinstance(piece, int) else self.encode_pretokens(*piece)

    # -- parts of texts ----------------------------------------------------------------------------------------

    def encode_pretokens(self, data: bytes, ends: npt.NDArray[np.int64]) -> Ids:
        """Return the ids of pretokens that end at `ends`."""
        return self.encoder.encode_given(data, ends)

    def pretokens(self, text: Text) -> list[bytes]:
        """Return the pretokens of a text without special tokens, in the form that the model encodes."""
        return list(chain.from_iterable(found for found, _, _ in self.call(None).parts(text)))


def short_call(
    encoder: TextEncoder, specials: SpecialTokens, template: Around, allowed: Selection, refused: Selection, adds: bool
) -> Call:
    """Return what encodes short texts by the options of a call; `template` is around them where the call adds it."""
    return encoder.call(specials.matcher(allowed, refused), added(template, adds))


def added(template: Around, add_special_tokens: bool) -> Around:
    """Return the ids around the texts of a call, which are those of a template where the call adds them.

    Raises `TypeError` on an option that is no bool.
    """
    return template if flag("add_special_tokens", add_special_tokens) else NOTHING_AROUND


def text_encoder(spec: TokenizerSpec, *, is_fused: bool = True, model: Model | None = None) -> TextEncoder:
    """Return the encoder for a spec; `is_fused` and `model` are those of `plan_of`."""
    return TextEncoder(plan_of(spec, is_fused=is_fused, model=model), spec)


def _joined(chunks: Iterable[Text]) -> str | bytes:
    listed = list(chunks)
    texts = [text for text in listed if isinstance(text, str)]
    if len(texts) == len(listed):
        return "".join(texts)
    return b"".join(bytes(text_bytes(text)) for text in listed)


# -- threads -----------------------------------------------------------------------------------------------


def _is_divided(text: Text, threads: int | None, call: Call) -> bool:
    """Return whether several threads encode a text."""
    return text_length(text) >= THREAD_WORTH and call.is_divided and thread_count(threads) > 1


def _sections(text: Text, call: Call, threads: int | None, *, keeps: bool) -> Iterator[tuple[Ids | None, int]]:
    """Yield the ids of the parts of a long text, if they are wanted, and their number."""
    length = text_length(text)
    long = LongText(text, call, chunk_length(length, threads))
    while parts := long.next_section():
        tasks = Tasks(parts, length, thread_count(threads))
        found: dict[int, tuple[Ids | None, int]] = {}

        def encode(worker: int, tasks: Tasks = tasks, found: dict[int, tuple[Ids | None, int]] = found) -> None:
            while (taken := tasks.take(worker)) is not None:
                for part in range(taken.start, taken.stop):
                    found[part] = long.encode(part, keeps, tasks.share, worker)

        run(tasks, encode)
        yield from (found[part] for part in range(parts))


def _each(
    texts: Texts, call: Call, threads: int | None, *, keeps: bool
) -> tuple[list[Ids], npt.NDArray[np.int64]]:
    """Return the ids of texts in arrays to be joined, and the number of ids of each text, int64[n]."""
    batch = Batch(texts, threads)
    if batch.threads == 1 or not call.is_divided:
        return call.rows(texts, 0, len(texts), keeps, batch.length)
    parts = batch.each(lambda start, stop, share, worker: call.rows(texts, start, stop, keeps, share, worker))
    lengths = np.concatenate([np.empty(0, np.int64), *(lengths for _, lengths in parts)])
    return [ids for arrays, _ in parts for ids in arrays], lengths


def chunk_length(length: int, threads: int | None) -> int:
    """Return the length of a task for a text of some length, so that all threads get equally many tasks."""
    workers = thread_count(threads)
    rounds = max(_TASKS, -(-length // (workers * _CHUNK)))
    return max(_LEAST_CHUNK, -(-length // (workers * rounds)))


class Batch:
    """The lengths of the texts of a batch, in characters or bytes, and the number of threads for them."""

    def __init__(self, texts: Texts, threads: int | None) -> None:
        self._ends = np.empty(len(texts), np.int64)
        self.length, self._most = extent(texts, self._ends)
        self.threads = 1 if threads is None and self.length < THREAD_WORTH else thread_count(threads)

    def marks(self) -> npt.NDArray[np.int64]:
        """Return the number of the first text of each part of the batch, then the number of texts, int64[n + 1]."""
        if self.threads == 1:  # one part for all texts
            return np.array([0, len(self._ends)][: 1 + len(self._ends)])
        chunk = chunk_length(self._most, self.threads)
        marks = np.searchsorted(self._ends, np.arange(chunk, self._most, chunk)) + 1
        marks = np.concatenate([[0], marks, [len(self._ends)]])
        # not numpy.unique, because its first call imports modules for 10 ms
        differ = np.concatenate([[True], marks[1:] > marks[:-1]])
        return np.compress(differ, marks)

    def bounds(self, marks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the most ids that the texts before each mark can have, int64[n + 1]."""
        return np.concatenate([[0], self._ends[marks[1:] - 1]])

    def each(self, work: Callable[[int, int, int, int], _T]) -> list[_T]:
        """Have threads call `work(start, stop, share, worker)` for parts of the batch; return the results in order."""
        marks = self.marks()
        tasks = Tasks(len(marks) - 1, self.length, self.threads)
        found: dict[int, _T] = {}

        def take(worker: int) -> None:
            while (taken := tasks.take(worker)) is not None:
                start, stop = int(marks[taken.start]), int(marks[taken.stop])
                found[taken.start] = work(start, stop, tasks.share, worker)

        run(tasks, take)
        return [found[part] for part in sorted(found)]


def text_length(text: Text) -> int:
    """Return the number of characters or bytes of a text; `TypeError` unless it is a text."""
    try:
        return len(text)
    except TypeError:
        raise TypeError(f"a text is str or bytes-like, not {type(text).__name__}") from None
