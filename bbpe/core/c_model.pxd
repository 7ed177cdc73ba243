from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_bpe cimport bbpe_bpe
from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_pretoken_table cimport bbpe_pretoken_table

cdef extern from "models/model.h" nogil:
    ctypedef struct bbpe_model_scratch:
        void *memory
        size_t capacity

    ctypedef bbpe_status (*bbpe_model_encode)(
        const void *self, bbpe_model_scratch *scratch, const uint8_t *bytes, size_t n, uint32_t *ids, size_t *count)

    ctypedef struct bbpe_model:
        const bbpe_bpe *bpe
        const void *self
        bbpe_model_encode encode
        const bbpe_pretoken_table *tokens
        uint64_t joining

    bbpe_model bbpe_model_of_bpe(const bbpe_bpe *bpe)
    void *bbpe_model_scratch_room(bbpe_model_scratch *self, size_t count, size_t size)
    void bbpe_model_scratch_free(bbpe_model_scratch *self)
