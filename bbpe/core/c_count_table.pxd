from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status

cdef extern from "count_table.h" nogil:
    ctypedef struct bbpe_count_slot:
        uint64_t count

    ctypedef struct bbpe_count_table:
        bbpe_count_slot *slots
        size_t count
        size_t bytes, mask

    bbpe_status bbpe_count_table_init(bbpe_count_table *self)
    void bbpe_count_table_free(bbpe_count_table *self)
    bbpe_status bbpe_count_table_copy(bbpe_count_table *self, const bbpe_count_table *other)
    size_t bbpe_count_table_memory(const bbpe_count_table *self)
    bbpe_status bbpe_count_table_add(
        bbpe_count_table *self, const uint8_t *text, size_t size, size_t start, const size_t *ends,
        const uint64_t *times, size_t n, size_t longest, uint64_t *cut)
    bbpe_status bbpe_count_table_update(bbpe_count_table *self, const bbpe_count_table *other, int64_t *numbers)
    void bbpe_count_table_order(const bbpe_count_table *self, size_t *order)
    void bbpe_count_table_counts(const bbpe_count_table *self, uint64_t *counts)
    void bbpe_count_table_prefetch(const bbpe_count_table *self, size_t slot)
    void bbpe_count_table_prefetch_bytes(const bbpe_count_table *self, size_t slot)
    const uint8_t *bbpe_count_table_bytes(const bbpe_count_table *self, size_t slot, size_t *n)
