"""Encode single texts and batches: split off special tokens and spread the work over threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from ..core.batch import most_ids
from ..core.encoder import Encoder
from ..core.model import Model
from ..core.parts import Parts
from ..core.piped import Pipeline
from ..core.short_calls import ShortCall
from ..core.tasks import Tasks
from ..core.word_bpe import WordBPE
from ..lazy import lazy_property, np, npt, safe_import
from ..pipeline.special_tokens import NOTHING, Matcher, Selection, SpecialTokens
from ..pipeline.streaming import pieces
from ..records import dataclass, real, whole
from ..splitting.patterns import Pattern
from ..splitting.scheme import Scheme
from ..splitting.splitter import TextSplitter, compiled_steps
from ..text import Text, text_bytes
from ..threads import imap, run, thread_count
from .batches import THREAD_WORTH, Batch, chunk_length, text_length
from .piped import NOTHING_AROUND, Around, PipedTexts

if TYPE_CHECKING:
    from ..core.column import Texts
    from ..types import Ragged
    from .aligned import AlignedTexts

Ids: TypeAlias = "npt.NDArray[np.uint32]"


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


def id_dtype(dtype: npt.DTypeLike, vocab_size: int) -> np.dtype[Any]:
    """Return the dtype of ids; `ValueError` when it is not supported or is too small for the ids of a vocabulary."""
    try:
        chosen: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"dtype is {dtype!r}; expected one of {', '.join(map(str, id_dtypes()))}") from None
    most = id_dtypes().get(chosen)
    if most is None:
        raise ValueError(f"dtype is {chosen}; expected one of {', '.join(map(str, id_dtypes()))}")
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
    """Encodes texts by a pattern and a model.

    The `matcher` of a call has the special tokens that become ids and those that are refused.  A `scheme` that gives
    the same ids splits texts instead of the pattern.
    """

    #: Whether rules change texts before the engine gets them, as in `RuleEncoder`.
    has_rules = False

    def __init__(self, model: Model, pattern: Pattern, scheme: Scheme | None = None) -> None:
        self.splitter = TextSplitter(pattern, scheme)
        self.encoder = Encoder(model, self.splitter.compiled)
        self._open_tail = pattern.open_tail if scheme is None else 1  # such a scheme depends on pairs of bytes only
        #: Encodes texts with special tokens or a template; `None` if a regex splits.
        self.piped: PipedTexts | None = None
        #: Makes the encoder of texts with the offsets of ids, or `None` when a rule needs Python. It gets this encoder
        #: as an argument: one that referred to itself would keep its caches until the next garbage collection.
        self.aligned: Callable[[TextEncoder], AlignedTexts | None] = lambda _: None
        #: Makes the same with the numbers of pretokens.
        self.with_words: Callable[[TextEncoder], AlignedTexts | None] = lambda _: None
        #: The encoder for short texts without special tokens; `None` if a regex splits.
        self.short: Encoder | None = None if self.splitter.compiled is None else self.encoder

    def pipeline(self) -> Pipeline | None:
        """Return the rules that are applied before the engine, compiled; `None` when some need Python."""
        if self.splitter.compiled is not None:
            return Pipeline()
        split = compiled_steps(self.splitter.pattern)
        return None if split is None else Pipeline(pre_tokenizer=split)

    def of(self, matcher: Matcher | None) -> TextEncoder:
        """Return the encoder for a call that looks for these tokens: this one, but for `PolicyEncoder`."""
        return self

    @lazy_property
    def aligned_texts(self) -> AlignedTexts | None:
        """The encoder of texts with the offsets of ids; `None` when a rule needs Python."""
        return self.aligned(self)

    @lazy_property
    def word_texts(self) -> AlignedTexts | None:
        """The encoder of texts with offsets and the numbers of pretokens; `None` when a rule needs Python."""
        return self.with_words(self)

    def _pipe(self, matcher: Matcher | None, around: Around = NOTHING_AROUND) -> PipedTexts | None:
        """Return what encodes the texts of a call through the compiled pipeline; `None` if the engine alone does."""
        is_plain = matcher is None and around == NOTHING_AROUND and self.splitter.compiled is not None
        return None if is_plain else self.piped

    def to_list(self, text: Text, matcher: Matcher | None = None, around: Around = NOTHING_AROUND) -> list[int]:
        """Return the ids of a text, between those `around` it, as a list."""
        is_short = self.splitter.compiled is not None and text_length(text) < THREAD_WORTH
        if matcher is None and is_short:
            return self.encoder.encode_list(text, *around)
        if (pipe := self._pipe(matcher, around)) is not None:
            return pipe.to_list(text, matcher, around)
        if matcher is not None or around != NOTHING_AROUND:
            before, after = around
            ids = list(before)
            for piece in (matcher or NOTHING).checked_pieces(text_bytes(text)):
                if isinstance(piece, int):
                    ids.append(piece)
                else:
                    ids += self.to_list(piece)
            return [*ids, *after]
        return self.encoder.to_list(self.to_array(text))

    def to_array(
        self, text: Text, matcher: Matcher | None = None, threads: int | None = None, around: Around = NOTHING_AROUND
    ) -> Ids:
        """Return the ids of a text, between those `around` it, as uint32[n]."""
        if (pipe := self._pipe(matcher, around)) is not None:
            return pipe.to_array(text, matcher, threads, around)
        if matcher is not None or around != NOTHING_AROUND:
            found = (
                np.array([piece], np.uint32) if isinstance(piece, int) else self.to_array(piece, threads=threads)
                for piece in (matcher or NOTHING).checked_pieces(text_bytes(text))
            )
            before, after = (np.array(ids, np.uint32) for ids in around)
            return np.concatenate([before, *found, after])
        if self.splitter.compiled is None:
            batches = self.splitter.batches(text_bytes(text))
            return np.concatenate([np.empty(0, np.uint32), *(self.encoder.encode_given(*batch) for batch in batches)])
        if text_length(text) < THREAD_WORTH or thread_count(threads) == 1:
            return self.encoder.encode_array(text)
        cuts = self._cuts(text, threads)
        parts = Parts(cuts, text_length(text), thread_count(threads), most_ids(text, 1))
        run(parts.tasks, lambda worker: self.encoder.encode_parts(text, cuts, parts, worker))
        return parts.taken()

    def _cuts(self, text: Text, threads: int | None) -> npt.NDArray[np.int64]:
        """Return the positions at which a long text is split into parts for threads, int64[n + 1]."""
        return self.encoder.cuts(text, chunk_length(text_length(text), threads))

    def count(self, text: Text, matcher: Matcher | None = None, threads: int | None = None) -> int:
        """Return the number of ids of a text without storing them."""
        if (pipe := self._pipe(matcher)) is not None:
            return pipe.count(text, matcher, threads)
        if matcher is not None:
            pieces = matcher.checked_pieces(text_bytes(text))
            return sum(1 if isinstance(piece, int) else self.count(piece, threads=threads) for piece in pieces)
        if self.splitter.compiled is None:
            batches = self.splitter.batches(text_bytes(text))
            return sum(len(self.encoder.encode_given(*batch)) for batch in batches)
        if text_length(text) < THREAD_WORTH or thread_count(threads) == 1:
            return self.encoder.count(text)
        cuts = self._cuts(text, threads)
        tasks = Tasks(len(cuts) - 1, text_length(text), thread_count(threads))
        counts: list[int] = []
        run(tasks, lambda worker: counts.append(self.encoder.count_parts(text, cuts, tasks, worker)))
        return sum(counts)

    def count_up_to(self, text: Text, limit: int, matcher: Matcher | None = None) -> int:
        """Return the number of ids of a text, or any number above `limit` if there are more than `limit`."""
        if self._exceeds(text, limit, matcher):
            return limit + 1
        if (pipe := self._pipe(matcher)) is not None:
            return pipe.count_up_to(text, matcher, limit)
        if matcher is None and self.splitter.compiled is not None:
            return self.encoder.count(text, limit=limit)
        total = 0
        for piece in pieces(_slices(text), self.splitter.cut, self._open_tail, matcher):
            total += 1 if isinstance(piece, int) else len(self.encoder.encode_given(*piece))
            if total > limit:
                break
        return total

    def _exceeds(self, text: Text, limit: int, matcher: Matcher | None) -> bool:
        """Return whether a text is longer than `limit` of the longest tokens, which is known without encoding it."""
        longest = self.encoder.model.longest
        if longest is None or self.splitter.pattern.drops_gaps:
            return False
        return text_length(text) > limit * max(longest, 0 if matcher is None else matcher.longest)

    def counts(
        self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None
    ) -> npt.NDArray[np.int64]:
        """Return the number of ids of each text, int64[n]."""
        if (pipe := self._pipe(matcher)) is not None:
            return pipe.counts(texts, matcher, threads)
        batch = Batch(texts, threads)
        if matcher is not None or self.splitter.compiled is None:
            found = imap(lambda text: self.count(text, matcher, threads=1), texts, batch.threads)
            return np.fromiter(found, np.int64, len(texts))
        counts = np.zeros(len(texts), dtype=np.int64)
        marks = batch.marks()
        tasks = Tasks(len(marks) - 1, batch.length, batch.threads)

        def work(worker: int) -> None:
            while (taken := tasks.take(worker)) is not None:
                self.encoder.count_rows(texts, marks[taken.start], marks[taken.stop], counts, tasks.share, worker)

        run(tasks, work)
        return counts

    def encode_pretokens(self, data: bytes, ends: npt.NDArray[np.int64]) -> Ids:
        """Return the ids of pretokens that end at `ends`."""
        return self.encoder.encode_given(data, ends)

    def with_dropout(self, dropout: float, seed: int) -> TextEncoder:
        """Return an encoder that skips merges at random."""
        return DropoutEncoder(self, dropout, seed)

    def lists(self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None) -> list[list[int]]:
        """Return the ids of each text as a list."""
        if (pipe := self._pipe(matcher)) is not None:
            return pipe.lists(texts, matcher, threads)
        if matcher is not None or self.splitter.compiled is None:
            return list(imap(lambda text: self.to_list(text, matcher), texts, Batch(texts, threads).threads))
        batch = Batch(texts, threads)
        if batch.threads == 1:
            return self.encoder.encode_lists(texts, 0, len(texts), batch.length, is_all=True)
        parts = batch.each(lambda *part: self.encoder.encode_lists(texts, *part))
        return list(chain.from_iterable(parts))

    def rows(self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None) -> Ragged:
        """Return the ids of each text in one array."""
        safe_import("bbpe.types")
        from ..types import Ragged

        if (pipe := self._pipe(matcher)) is not None:
            return pipe.rows(texts, matcher, threads)
        batch = Batch(texts, threads)
        if matcher is not None or self.splitter.compiled is None:
            found = imap(lambda text: self.to_array(text, matcher, 1), texts, batch.threads)
            return Ragged.from_rows(found)
        marks = batch.marks()
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        parts = Parts(batch.bounds(marks), batch.length, batch.threads)
        run(parts.tasks, lambda worker: self.encoder.encode_row_parts(texts, marks, offsets[1:], parts, worker))
        np.cumsum(offsets, out=offsets)
        return Ragged(parts.taken(), offsets)

    def stream(self, chunks: Iterable[Text], matcher: Matcher | None = None) -> Iterator[int]:
        """Yield the ids of the joined chunks."""
        for piece in pieces(chunks, self.splitter.cut, self._open_tail, matcher):
            if isinstance(piece, int):
                yield piece
            else:
                yield from self.encoder.to_list(self.encoder.encode_given(*piece))

    def stream_arrays(self, chunks: Iterable[Text], matcher: Matcher | None = None) -> Iterator[Ids]:
        """Yield the ids of the joined chunks in parts, uint32[n] each."""
        for piece in pieces(chunks, self.splitter.cut, self._open_tail, matcher):
            yield np.array([piece], np.uint32) if isinstance(piece, int) else self.encode_pretokens(*piece)


def short_call(
    encoder: TextEncoder, specials: SpecialTokens, template: Around, allowed: Selection, refused: Selection, adds: bool
) -> ShortCall | None:
    """Return what encodes short texts by the options of a call; `None` when a rule needs Python.

    `template` has the ids around those of a text where the call adds them.
    """
    matcher, around = specials.matcher(allowed, refused), template if adds else NOTHING_AROUND
    if matcher is None and encoder.short is not None:
        return ShortCall(encoder.short, *around)
    pipe = encoder.of(matcher).piped
    return None if pipe is None else ShortCall(piped=pipe.piped, call=pipe.call(matcher, around))


class DropoutEncoder(TextEncoder):
    """Encodes texts with BPE-dropout, which skips each merge with a probability.

    Texts are encoded one after another, because all of them draw from one random generator.
    """

    def __init__(self, engine: TextEncoder, dropout: float, seed: int) -> None:
        model = engine.encoder.model
        self.splitter, self.encoder, self.short, self.piped = engine.splitter, engine.encoder, None, None
        self.aligned = engine.aligned
        self._words = model if isinstance(model, WordBPE) else None
        if self._words is not None:
            self.encoder = Encoder(self._words.bpe, None)
        self._dropout, self._random = dropout, np.array([seed], np.uint64)

    def to_list(self, text: Text, matcher: Matcher | None = None, around: Around = NOTHING_AROUND) -> list[int]:
        """Return the ids of a text as a list."""
        ids: list[int] = self.to_array(text, matcher, around=around).tolist()
        return ids

    def to_array(
        self, text: Text, matcher: Matcher | None = None, threads: int | None = None, around: Around = NOTHING_AROUND
    ) -> Ids:
        """Return the ids of a text as uint32[n]."""
        if matcher is not None or around != NOTHING_AROUND:
            return super().to_array(text, matcher, threads, around)
        return self.encode_pretokens(*self.splitter.cut(bytes(text_bytes(text)))[:2])

    def encode_pretokens(self, data: bytes, ends: npt.NDArray[np.int64]) -> Ids:
        """Return the ids of pretokens that end at `ends`."""
        if self._words is not None:
            data, ends = self._words.marked(data, ends)
        return self.encoder.encode_dropout(data, ends, self._dropout, self._random)


def _slices(text: Text) -> Iterator[Text]:
    """Yield a text in slices, each as long as all slices before it together."""
    start, end = 0, 1 << 12
    while start < len(text):
        yield text[start:end]
        start, end = end, 2 * end
