from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_unigram cimport bbpe_unigram

cdef extern from "train/unigram.h" nogil:
    ctypedef struct bbpe_unigram_corpus:
        const uint8_t *data
        const int64_t *offsets
        const uint64_t *counts

    bbpe_status bbpe_unigram_train_expect(
        const bbpe_unigram *model, const bbpe_unigram_corpus *corpus, size_t first, size_t end,
        const double *probabilities, double *expected, double *likelihood)
    bbpe_status bbpe_unigram_train_count(
        const bbpe_unigram *model, const bbpe_unigram_corpus *corpus, size_t first, size_t end, double *times)
    bbpe_status bbpe_unigram_train_losses(
        const bbpe_unigram *model, const double *times, double total, size_t first, size_t end, double *losses)

cdef extern from "train/substrings.h" nogil:
    ctypedef struct bbpe_substring:
        uint64_t weight
        uint32_t start, length

    ctypedef struct bbpe_substrings:
        bbpe_substring *found
        size_t count

    bbpe_status bbpe_substrings_find(
        bbpe_substrings *self, const uint32_t *symbols, size_t n, uint32_t highest, const uint64_t *weights,
        unsigned depth)
    void bbpe_substrings_free(bbpe_substrings *self)
