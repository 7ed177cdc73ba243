from libc.stdint cimport uint32_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_model cimport bbpe_model
from bbpe.core.c_pretoken_table cimport bbpe_pretoken_table

cdef extern from "unigram.h" nogil:
    ctypedef struct bbpe_unigram:
        double unknown_score
        uint32_t unknown
        bint has_byte_ids
        bint is_float
        uint32_t byte_ids[256]

    bbpe_status bbpe_unigram_init(bbpe_unigram *self, const bbpe_pretoken_table *tokens, const double *scores)
    void bbpe_unigram_free(bbpe_unigram *self)
    bbpe_model bbpe_unigram_view(const bbpe_unigram *self)
