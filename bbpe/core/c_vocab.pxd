from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_pretoken_table cimport bbpe_pretoken_entry, bbpe_pretoken_table

cdef extern from "models/vocab/vocab.h" nogil:
    const uint32_t BBPE_VOCAB_MAX_ID

    ctypedef struct bbpe_vocab:
        bbpe_pretoken_table tokens
        size_t id_count
        bint is_unique

    bbpe_status bbpe_vocab_init(bbpe_vocab *self, uint64_t salt)
    void bbpe_vocab_free(bbpe_vocab *self)
    bbpe_status bbpe_vocab_reserve(bbpe_vocab *self, size_t tokens, size_t bytes)
    bbpe_status bbpe_vocab_add(bbpe_vocab *self, uint32_t id, const uint8_t *bytes, size_t n, uint32_t *found)
    bbpe_status bbpe_vocab_index(bbpe_vocab *self)
    const bbpe_pretoken_entry *bbpe_vocab_get(const bbpe_vocab *self, size_t id)
