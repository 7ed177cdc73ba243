from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_count_table cimport bbpe_count_table

cdef extern from "count/sum.h" nogil:
    enum:
        BBPE_COUNT_PARTS

    ctypedef struct bbpe_count_lane:
        bbpe_count_table *table
        const uint32_t *starts
        const uint32_t *ranks
        size_t count

    ctypedef struct bbpe_count_sum:
        const bbpe_count_lane *lanes
        size_t lane_count
        size_t count, bytes

    bbpe_status bbpe_count_sum_init(bbpe_count_sum *self, const bbpe_count_lane *lanes, size_t count)
    void bbpe_count_sum_free(bbpe_count_sum *self)
    bbpe_status bbpe_count_sum_do_part(bbpe_count_sum *self, size_t part, size_t parts)
    void bbpe_count_sum_finish(bbpe_count_sum *self)
    void bbpe_count_sum_order(const bbpe_count_sum *self, size_t *order)
    void bbpe_count_sum_counts(const bbpe_count_sum *self, uint64_t *counts)
    const uint8_t *bbpe_count_sum_bytes(const bbpe_count_sum *self, size_t code, size_t *n)
    uint64_t bbpe_count_sum_count(const bbpe_count_sum *self, size_t code)
    void bbpe_count_sum_prefetch(const bbpe_count_sum *self, size_t code)
    void bbpe_count_sum_prefetch_bytes(const bbpe_count_sum *self, size_t code)
