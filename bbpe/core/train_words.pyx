"""Learning merges of words of symbols: by any score (csrc/train/words.h), by frequency as of bytes (csrc/train/train.h)."""
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t

from bbpe.lazy import np

from bbpe.core.c_base cimport BBPE_OK, bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.c_split cimport c_bool
from bbpe.core.c_train cimport (
    BBPE_TRAIN_BYTES, BBPE_TRAIN_IDS, bbpe_train, bbpe_train_add_tokens, bbpe_train_free, bbpe_train_init_symbols,
    bbpe_train_options, bbpe_train_step, bbpe_train_words, bbpe_train_words_add, bbpe_train_words_begin,
    bbpe_train_words_best, bbpe_train_words_free, bbpe_train_words_init, bbpe_train_words_merge, bbpe_train_words_name,
    bbpe_train_words_pair,
)
from bbpe.core.ends cimport check_ends
from bbpe.core.signals cimport is_interrupted
from bbpe.core.status cimport check, had


def _packed(strings):
    """The bytes of strings one after another, and where each begins and the last one ends."""
    offsets = np.zeros(len(strings) + 1, dtype=np.int64)
    np.cumsum([len(string) for string in strings], out=offsets[1:])
    return np.frombuffer(b"".join(strings) + b"\0", dtype=np.uint8), offsets


cdef class WordTrainer:
    """Merges of words by their score, the highest first; not for several threads at once.

    `words`: pairs of a list of ids and how often it occurs.  `score`: "frequency" or "pmi".  Pairs that occur less than
    `min_frequency` times are not merged.  Of equals the lowest pair of ids is the best, or where the symbols have
    `strings`, the greatest pair of these; `merge` is then given known symbols, or the id that follows the last.
    """

    cdef bbpe_train_words c

    def __cinit__(
        self, words: Iterable[tuple[list[int], int]], *, str score not None, uint64_t min_frequency=1,
        strings: Sequence[bytes] | None = None
    ):
        cdef bbpe_status status
        cdef const uint8_t[::1] names
        cdef const int64_t[::1] offsets
        if score not in ("frequency", "pmi"):
            raise ValueError(f"score is {score!r}; expected 'frequency' or 'pmi'")
        check(bbpe_train_words_init(&self.c, score == "pmi", min_frequency))
        for symbols, weight in words:
            self._add(symbols, weight)
        if strings is not None:
            if self.c.symbols.count > <size_t>len(strings):
                raise ValueError(f"{len(strings)} symbols have strings; expected one for each symbol of the words")
            names, offsets = _packed(strings)
            check(bbpe_train_words_name(&self.c, &names[0], &offsets[0], <size_t>len(strings)))
        with nogil:
            status = bbpe_train_words_begin(&self.c)
        check(status)

    def __dealloc__(self):
        bbpe_train_words_free(&self.c)

    cdef int _add(self, list symbols, uint64_t weight) except -1:
        cdef size_t n = len(symbols), i
        cdef uint32_t *ids = <uint32_t *>had(bbpe_memory_new(n, sizeof(uint32_t)))
        try:
            for i in range(n):
                ids[i] = symbols[i]
            return check(bbpe_train_words_add(&self.c, ids, n, weight))
        finally:
            bbpe_memory_free(ids)

    def best(self) -> tuple[int, int, int] | None:
        """The best pair and its count, or None when there is none left."""
        cdef const bbpe_train_words_pair *found = bbpe_train_words_best(&self.c)
        return None if found == NULL else (found.left, found.right, found.count)

    def merge(self, uint32_t symbol):
        """Merge the best pair into a symbol."""
        cdef bbpe_status status
        with nogil:
            status = bbpe_train_words_merge(&self.c, symbol)
        check(status)


cdef class FrequencyTrainer:
    """Merges of words by frequency, where no two merges make the same token.

    Word i, symbols[ends[i - 1]:ends[i]], occurs counts[i] times; symbols are below `base`, and merge k makes the symbol
    base + k.  Of equals the lowest pair of ids is merged, or where the symbols below `base` have `strings`, the
    greatest pair of these.  `step` until it returns True.  Raises `OverflowError` on 2**32 symbols and ends
    of words or more, and 2**63 symbols by their counts.
    """

    cdef bbpe_train learner

    def __cinit__(
        self, symbols: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64], counts: npt.NDArray[np.uint64], *,
        size_t base, size_t merge_limit, int64_t min_frequency=1, strings: Sequence[bytes] | None = None
    ):
        cdef const uint32_t[::1] ids = np.array(symbols, dtype=np.uint32)
        cdef const int64_t[::1] word_ends = np.array(ends, dtype=np.int64)
        cdef const uint64_t[::1] weights = np.array(counts, dtype=np.uint64)
        cdef size_t n = <size_t>word_ends.shape[0]
        if strings is not None and <size_t>len(strings) != base:
            raise ValueError(f"{len(strings)} symbols have strings; expected {base}")
        joined, offsets = _packed([b""] * <Py_ssize_t>base if strings is None else strings)
        cdef const uint8_t[::1] tokens = joined
        cdef const int64_t[::1] starts = offsets
        if n + len(symbols) + 2 >= 2**32 or n and int(counts.max()) * len(symbols) >= 2**63:
            raise OverflowError(
                f"the words have {len(symbols)} symbols, more than can be counted: train on a sample of the text")
        check_ends(word_ends, <size_t>ids.shape[0])
        if <size_t>weights.shape[0] != n or (word_ends[n - 1] if n else 0) != ids.shape[0] or not (np.asarray(ids) < base).all():
            raise ValueError("symbols, ends and counts do not fit together")
        cdef bbpe_train_options options
        options.ties, options.merge_limit = BBPE_TRAIN_IDS if strings is None else BBPE_TRAIN_BYTES, merge_limit
        options.min_frequency, options.max_length, options.threshold = max(min_frequency, 1), UINT32_MAX, 0
        options.interrupted, options.allows, options.context = is_interrupted, NULL, NULL
        check(bbpe_train_init_symbols(
            &self.learner, n, <size_t>len(symbols), &tokens[0], &starts[0], base,
            options))
        # the most frequent first, as equal counts in a row take less room
        cdef const int64_t[::1] order = np.argsort(counts, kind="stable")[::-1].astype(np.int64)
        cdef bbpe_status status = BBPE_OK
        cdef size_t i, used
        cdef int64_t word, start
        with nogil:
            for i in range(n):
                word = order[i]
                start = word_ends[word - 1] if word else 0
                if start == word_ends[word]:
                    continue
                status = bbpe_train_add_tokens(
                    &self.learner, &ids[start], <size_t>(word_ends[word] - start), <int64_t>weights[word], &used)
                if status != BBPE_OK:
                    break
        check(status)

    def __dealloc__(self):
        bbpe_train_free(&self.learner)

    @property
    def merge_count(self) -> int:
        """How many merges there are so far."""
        return self.learner.merge_count

    def merges(self) -> list[tuple[int, int]]:
        """The merges so far, in order: pairs of symbols."""
        cdef size_t i
        return [
            (<uint32_t>(self.learner.merges[i] >> 32), <uint32_t>self.learner.merges[i])
            for i in range(self.learner.merge_count)
        ]

    def merge_counts(self) -> list[int]:
        """How often the pair of each merge occurred when it was merged, in order."""
        cdef size_t i
        return [self.learner.merge_counts[i] for i in range(self.learner.merge_count)]

    def step(self, size_t visits) -> bool:
        """Merge until about `visits` places were looked at; True when there is nothing left to merge."""
        cdef c_bool done
        cdef bbpe_status status
        with nogil:
            status = bbpe_train_step(&self.learner, visits, &done)
        check(status)
        return done
