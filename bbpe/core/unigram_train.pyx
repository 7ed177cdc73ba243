"""Learning Unigram models in C: seeds (csrc/train/substrings.h), expectation and losses (csrc/train/unigram.h)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from bbpe.lazy import np

from bbpe.core.budget cimport SALT
from bbpe.core.c_base cimport BBPE_OK, bbpe_status
from bbpe.core.c_models cimport bbpe_unigram, bbpe_unigram_free, bbpe_unigram_init
from bbpe.core.c_tables cimport (
    bbpe_pretoken_entry, bbpe_pretoken_table, bbpe_pretoken_table_add, bbpe_pretoken_table_free,
    bbpe_pretoken_table_init,
)
from bbpe.core.c_train cimport (
    bbpe_substrings, bbpe_substrings_find, bbpe_substrings_free, bbpe_unigram_corpus, bbpe_unigram_train_count,
    bbpe_unigram_train_expect, bbpe_unigram_train_losses,
)
from bbpe.core.ends cimport check_ends
from bbpe.core.status cimport check


# stub: _Bytes = npt.NDArray[np.uint8]
# stub: _Offsets = npt.NDArray[np.int64]
# stub: _Counts = npt.NDArray[np.uint64]
# stub: _Floats = npt.NDArray[np.float64]


cdef class Pieces:
    """Tokens with scores while they are learned, by their numbers; read by any number of threads.

    Token i is data[offsets[i]:offsets[i + 1]]; all are different.  `scores`: float64[n].  Pretokens are given as
    `data`, `offsets`, int64[m + 1], and `counts`, uint64[m]; a call is for those from `first` to `end`.
    """

    cdef bbpe_unigram c
    cdef object probabilities
    cdef size_t size

    def __cinit__(self, const uint8_t[::1] data not None: _Bytes, const int64_t[::1] offsets not None: _Offsets,
                  const double[::1] scores not None: _Floats, *, double unknown_score):
        cdef bbpe_pretoken_table tokens
        cdef bbpe_pretoken_entry *entry = NULL
        cdef bbpe_status status
        cdef const uint8_t *text = &data[0] if data.shape[0] else NULL
        cdef size_t i
        self.size = <size_t>scores.shape[0]
        cdef const int64_t[::1] own = np.array(offsets, dtype=np.int64)
        if <size_t>own.shape[0] != self.size + 1:
            raise ValueError(f"there are {own.shape[0]} offsets for {self.size} scores; expected one more")
        check_ends(own, <size_t>data.shape[0])
        check(bbpe_pretoken_table_init(&tokens, SALT))
        with nogil:
            status = BBPE_OK
            for i in range(self.size):
                status = bbpe_pretoken_table_add(
                    &tokens, text + own[i], <size_t>(own[i + 1] - own[i]), &entry)
                if status != BBPE_OK:
                    break
            if status == BBPE_OK:
                status = bbpe_unigram_init(&self.c, &tokens, &scores[0] if self.size else NULL)
        different = tokens.count
        bbpe_pretoken_table_free(&tokens)
        check(status)
        if different != self.size:
            raise ValueError(f"of {self.size} tokens {different} are different; expected all")
        self.c.unknown_score = unknown_score
        self.probabilities = np.exp(np.append(np.asarray(scores), 0.0))

    def __dealloc__(self):
        bbpe_unigram_free(&self.c)

    cdef const int64_t[::1] _offsets(self, const uint8_t[::1] data, const int64_t[::1] offsets,
                                     const uint64_t[::1] counts, size_t first, size_t end, double[::1] out):
        """A copy of the offsets of pretokens first to end, once it is sure that all arrays fit together."""
        if <size_t>out.shape[0] < self.size + 1:
            raise ValueError(f"there is room for {out.shape[0]} numbers; expected {self.size + 1}")
        if not first <= end <= <size_t>counts.shape[0] or offsets.shape[0] != counts.shape[0] + 1:
            raise ValueError(f"{first}:{end} is not within {counts.shape[0]} pretokens")
        cdef const int64_t[::1] own = np.array(offsets[first:end + 1], dtype=np.int64)
        check_ends(own, <size_t>data.shape[0])
        return own

    def expect(
        self, const uint8_t[::1] data not None: _Bytes, const int64_t[::1] offsets not None: _Offsets,
        const uint64_t[::1] counts not None: _Counts, size_t first, size_t end, double[::1] expected not None: _Floats
    ) -> float:
        """Add to `expected`, float64[n + 1], how often each token is expected; returns the log-likelihood."""
        cdef const double[::1] probabilities = self.probabilities
        cdef bbpe_unigram_corpus corpus
        cdef bbpe_status status
        cdef double likelihood = 0
        cdef const int64_t[::1] own = self._offsets(data, offsets, counts, first, end, expected)
        if first == end or data.shape[0] == 0:
            return 0.0
        corpus.data, corpus.offsets, corpus.counts = &data[0], &own[0], &counts[first]
        with nogil:
            status = bbpe_unigram_train_expect(
                &self.c, &corpus, 0, end - first, &probabilities[0], &expected[0], &likelihood)
        check(status)
        return likelihood

    def count(
        self, const uint8_t[::1] data not None: _Bytes, const int64_t[::1] offsets not None: _Offsets,
        const uint64_t[::1] counts not None: _Counts, size_t first, size_t end, double[::1] times not None: _Floats
    ):
        """Add to `times`, float64[n + 1], how often each token is on the best paths."""
        cdef bbpe_unigram_corpus corpus
        cdef bbpe_status status
        cdef const int64_t[::1] own = self._offsets(data, offsets, counts, first, end, times)
        if first == end or data.shape[0] == 0:
            return
        corpus.data, corpus.offsets, corpus.counts = &data[0], &own[0], &counts[first]
        with nogil:
            status = bbpe_unigram_train_count(&self.c, &corpus, 0, end - first, &times[0])
        check(status)

    def losses(self, const double[::1] times not None: _Floats, size_t first, size_t end) -> _Floats:
        """The loss without tokens first to end, float64[end - first], by `times`, float64[n + 1]."""
        cdef bbpe_status status
        cdef double total = float(np.sum(times))
        if not first <= end <= self.size or <size_t>times.shape[0] < self.size + 1:
            raise ValueError(f"{first}:{end} is not within {self.size} tokens")
        found = np.empty(end - first, np.float64)
        cdef double[::1] losses = found
        if first < end:
            with nogil:
                status = bbpe_unigram_train_losses(&self.c, &times[0], total, first, end, &losses[0])
            check(status)
        return found


def substrings(
    const uint32_t[::1] symbols not None, const uint64_t[::1] weights not None: _Counts, unsigned depth
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], _Counts]:
    """Where substrings begin that occur twice or more, how long they are and what they weigh: three arrays.

    `symbols`: uint32[n], of which a 0 ends each text, and the last one is a 0; `weights`: one a text.
    """
    cdef bbpe_substrings found
    cdef bbpe_status status
    cdef size_t i, n = <size_t>symbols.shape[0]
    array = np.asarray(symbols)
    if n and (symbols[n - 1] != 0 or int(np.count_nonzero(array == 0)) > weights.shape[0]):
        raise ValueError(f"there are {weights.shape[0]} weights; expected one for each text, which a 0 ends")
    cdef uint32_t highest = int(array.max(initial=1))
    memset(&found, 0, sizeof(found))
    if n:
        with nogil:
            status = bbpe_substrings_find(&found, &symbols[0], n, highest, &weights[0], depth)
        if status != BBPE_OK:
            bbpe_substrings_free(&found)
        check(status)
    starts, lengths = np.empty(found.count, np.uint32), np.empty(found.count, np.uint32)
    totals = np.empty(found.count, np.uint64)
    cdef uint32_t[::1] at = starts
    cdef uint32_t[::1] length = lengths
    cdef uint64_t[::1] total = totals
    for i in range(found.count):
        at[i], length[i], total[i] = found.found[i].start, found.found[i].length, found.found[i].weight
    bbpe_substrings_free(&found)
    return starts, lengths, totals
