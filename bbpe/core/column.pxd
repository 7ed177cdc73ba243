from libc.stdint cimport int64_t

from bbpe.core.arrow cimport ArrowChunks
from bbpe.core.c_text cimport bbpe_row_state, bbpe_text_column
from bbpe.core.text_view cimport text_view


cdef class Column:
    cdef ArrowChunks chunks
    cdef bbpe_text_column *parts
    cdef size_t *starts
    cdef size_t rows

    cdef int open(self, text_view *view, size_t row) except -1
    cdef int64_t ends(self, int64_t *ends) except -1
    cdef object problem(self, size_t row, bbpe_row_state problem)
