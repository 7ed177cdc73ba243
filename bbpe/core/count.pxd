from libc.stdint cimport uint8_t, uint64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_pretoken_table cimport bbpe_pretoken_table
from bbpe.core.split cimport Splitter


cdef class PretokenTable:
    cdef bbpe_pretoken_table table
    cdef readonly size_t cut
    cdef bbpe_status _count(self, const uint8_t *pretoken, size_t n, uint64_t times) noexcept nogil
    cdef bbpe_status _count_region(self, Splitter splitter, const uint8_t *text, size_t *start, size_t n, size_t stop, size_t longest) noexcept nogil
