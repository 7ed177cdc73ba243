from libc.stdint cimport uint64_t

from bbpe.core.c_count_table cimport bbpe_count_table


cdef class PretokenTable:
    cdef bbpe_count_table table
    cdef uint64_t pieces
    cdef object order(self)
