from libc.stdint cimport int64_t, uint8_t, uint64_t

from bbpe.core.c_common cimport bbpe_status

cdef extern from "count/table.h" nogil:
    ctypedef struct bbpe_count_table:
        size_t count, bytes
        uint64_t total, total_high

    bbpe_status bbpe_count_table_init(bbpe_count_table *self, uint64_t salt)
    void bbpe_count_table_free(bbpe_count_table *self)
    size_t bbpe_count_table_memory(const bbpe_count_table *self)
    bbpe_status bbpe_count_table_add(
        bbpe_count_table *self, const uint8_t *text, size_t size, size_t start, const size_t *ends,
        const uint64_t *times, size_t n, size_t longest, uint64_t *cut)
    bbpe_status bbpe_count_table_add_given(
        bbpe_count_table *self, const uint8_t *text, size_t size, size_t start, const int64_t *ends,
        const uint64_t *times, size_t n, size_t longest, uint64_t *cut)
    void bbpe_count_table_order(const bbpe_count_table *self, size_t *order)
    void bbpe_count_table_counts(const bbpe_count_table *self, uint64_t *counts)
