from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_split cimport c_bool

cdef extern from "count/count.h" nogil:
    ctypedef struct bbpe_count_table:
        size_t count, bytes
        uint64_t total, total_high

    ctypedef struct bbpe_count_shard:
        bbpe_count_table *table
        const uint32_t *starts
        const uint32_t *ranks
        size_t count

    ctypedef struct bbpe_count_sum:
        const bbpe_count_shard *shards
        size_t shard_count, count, bytes

    ctypedef struct bbpe_count_digest:
        uint64_t first, second

    ctypedef struct bbpe_count_digester:
        uint64_t size

    ctypedef struct bbpe_count_seen:
        size_t mask, count

    enum:
        BBPE_COUNT_PARTS

    void bbpe_count_digester_init(bbpe_count_digester *self, uint64_t salt)
    void bbpe_count_digester_update(bbpe_count_digester *self, const uint8_t *bytes, size_t n)
    bbpe_count_digest bbpe_count_digester_finish(const bbpe_count_digester *self)
    bbpe_status bbpe_count_seen_init(bbpe_count_seen *self)
    void bbpe_count_seen_free(bbpe_count_seen *self)
    size_t bbpe_count_seen_need(const bbpe_count_seen *self, size_t more)
    bbpe_status bbpe_count_seen_reserve(bbpe_count_seen *self, size_t more)
    c_bool bbpe_count_seen_add(bbpe_count_seen *self, bbpe_count_digest digest)

    bbpe_status bbpe_count_sum_init(bbpe_count_sum *self, const bbpe_count_shard *shards, size_t count)
    void bbpe_count_sum_free(bbpe_count_sum *self)
    bbpe_status bbpe_count_sum_do_part(bbpe_count_sum *self, size_t part, size_t parts)
    void bbpe_count_sum_finish(bbpe_count_sum *self)
    void bbpe_count_sum_order(const bbpe_count_sum *self, size_t *order)
    void bbpe_count_sum_counts(const bbpe_count_sum *self, uint64_t *counts)
    const uint8_t *bbpe_count_sum_bytes(const bbpe_count_sum *self, size_t code, size_t *n)
    uint64_t bbpe_count_sum_count(const bbpe_count_sum *self, size_t code)
    void bbpe_count_sum_prefetch(const bbpe_count_sum *self, size_t code)
    void bbpe_count_sum_prefetch_bytes(const bbpe_count_sum *self, size_t code)
    bbpe_status bbpe_count_table_init(bbpe_count_table *self, uint64_t salt)
    void bbpe_count_table_free(bbpe_count_table *self)
    size_t bbpe_count_table_memory(const bbpe_count_table *self)
    bbpe_status bbpe_count_table_add(bbpe_count_table *self, const uint8_t *text, size_t size, size_t start,
        const size_t *ends, const uint64_t *times, size_t n, size_t longest, uint64_t *cut)
    bbpe_status bbpe_count_table_add_given(bbpe_count_table *self, const uint8_t *text, size_t size, size_t start,
        const int64_t *ends, const uint64_t *times, size_t n, size_t longest, uint64_t *cut)
    void bbpe_count_table_order(const bbpe_count_table *self, size_t *order)
    void bbpe_count_table_counts(const bbpe_count_table *self, uint64_t *counts)
