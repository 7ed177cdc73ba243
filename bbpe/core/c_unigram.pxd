from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_model cimport bbpe_model
from bbpe.core.c_pretoken_table cimport bbpe_pretoken_table

cdef extern from "models/unigram/unigram.h" nogil:
    ctypedef struct bbpe_unigram:
        double unknown_score
        uint32_t unknown
        bint has_byte_ids
        bint is_float
        uint32_t byte_ids[256]

    bbpe_status bbpe_unigram_init(bbpe_unigram *self, const bbpe_pretoken_table *tokens, const double *scores)
    bbpe_status bbpe_unigram_prepare(bbpe_unigram *self)
    void bbpe_unigram_free(bbpe_unigram *self)
    bbpe_model bbpe_unigram_view(const bbpe_unigram *self)

cdef extern from "models/unigram/nbest.h" nogil:
    ctypedef struct bbpe_unigram_ways:
        uint32_t *ids
        size_t *ends
        double *sums
        size_t count

    bbpe_status bbpe_unigram_ways_best(
        bbpe_unigram_ways *self, const bbpe_unigram *model, const uint8_t *text, size_t n, size_t most)
    bbpe_status bbpe_unigram_ways_draw(
        bbpe_unigram_ways *self, const bbpe_unigram *model, const uint8_t *text, size_t n, double alpha,
        uint64_t *state)
    void bbpe_unigram_ways_free(bbpe_unigram_ways *self)
