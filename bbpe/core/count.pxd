from cpython cimport array
from libc.stdint cimport uint64_t

from bbpe.core.c_count cimport bbpe_count_shard, bbpe_count_sum, bbpe_count_table


cdef class PretokenTable:
    cdef bbpe_count_table table
    cdef bbpe_count_shard own
    cdef bbpe_count_shard *shards  # NULL: nothing was joined, and `sum` is of this table alone
    cdef bbpe_count_sum sum
    cdef list others, kept
    cdef uint64_t pieces
    cdef array.array held_counts(self)
    cdef array.array order(self)
    cdef int check_open(self) except -1
