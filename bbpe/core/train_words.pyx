"""Learning merges of characters (csrc/train_words.h): words in, merged pairs of ids out, one at a time."""
from libc.stdint cimport uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.c_train_words cimport (
    bbpe_train_words, bbpe_train_words_add, bbpe_train_words_begin, bbpe_train_words_best, bbpe_train_words_free,
    bbpe_train_words_init, bbpe_train_words_merge, bbpe_train_words_pair,
)
from bbpe.core.status cimport check


cdef class WordTrainer:
    """Merges of words by their score, the highest first; not for several threads at once.

    `words`: pairs of a list of ids and how often it stands.  `score`: "frequency" or "pmi".  Pairs that stand less than
    `min_frequency` times are not merged.
    """

    cdef bbpe_train_words c

    def __cinit__(self, words, *, str score not None, uint64_t min_frequency=1):
        cdef bbpe_status status
        if score not in ("frequency", "pmi"):
            raise ValueError(f"score is {score!r}; expected 'frequency' or 'pmi'")
        check(bbpe_train_words_init(&self.c, score == "pmi", min_frequency))
        for symbols, weight in words:
            self._add(symbols, weight)
        with nogil:
            status = bbpe_train_words_begin(&self.c)
        check(status)

    def __dealloc__(self):
        bbpe_train_words_free(&self.c)

    cdef int _add(self, list symbols, uint64_t weight) except -1:
        cdef size_t n = len(symbols), i
        cdef uint32_t *ids = <uint32_t *>bbpe_memory_new(n, sizeof(uint32_t))
        if ids == NULL:
            raise MemoryError("bbpe could not allocate memory")
        try:
            for i in range(n):
                ids[i] = symbols[i]
            return check(bbpe_train_words_add(&self.c, ids, n, weight))
        finally:
            bbpe_memory_free(ids)

    def best(self):
        """The best pair and its count, or None when there is none left."""
        cdef const bbpe_train_words_pair *found = bbpe_train_words_best(&self.c)
        return None if found == NULL else (found.left, found.right, found.count)

    def merge(self, uint32_t symbol):
        """Merge the best pair into a symbol."""
        cdef bbpe_status status
        with nogil:
            status = bbpe_train_words_merge(&self.c, symbol)
        check(status)
