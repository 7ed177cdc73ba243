from libc.stdint cimport uint64_t

from bbpe.core.c_count_sum cimport bbpe_count_lane, bbpe_count_sum
from bbpe.core.c_count_table cimport bbpe_count_table


cdef class PretokenTable:
    cdef bbpe_count_table table
    cdef bbpe_count_lane own
    cdef bbpe_count_lane *lanes  # NULL: nothing was joined, and `sum` is of this table alone
    cdef bbpe_count_sum sum
    cdef list others, kept
    cdef uint64_t pieces
    cdef object order(self)
    cdef int check_open(self) except -1
