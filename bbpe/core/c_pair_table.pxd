from libc.stdint cimport uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status

cdef extern from "pair_table.h" nogil:
    ctypedef struct bbpe_pair_table:
        size_t count

    bbpe_status bbpe_pair_table_init(bbpe_pair_table *self, size_t expected)
    void bbpe_pair_table_free(bbpe_pair_table *self)
    bbpe_status bbpe_pair_table_reserve(bbpe_pair_table *self, size_t more)
    uint64_t bbpe_pair_key(uint32_t left, uint32_t right)
    uint64_t *bbpe_pair_table_find(const bbpe_pair_table *self, uint64_t key)
    void bbpe_pair_table_set(bbpe_pair_table *self, uint64_t key, uint64_t value)
