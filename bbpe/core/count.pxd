from libc.stdint cimport uint8_t, uint64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_count_table cimport bbpe_count_table
from bbpe.core.split cimport Splitter


cdef class PretokenTable:
    cdef bbpe_count_table table
    cdef uint64_t pieces
    cdef object order(self)
    cdef bbpe_status _count_region(
        self, Splitter splitter, const uint8_t *text, size_t size, size_t *start, size_t n, size_t stop, size_t longest
    ) noexcept nogil
