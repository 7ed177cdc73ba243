from libc.stdint cimport int64_t, uint32_t

from bbpe.core.c_encode cimport bbpe_encode_state
from bbpe.core.states cimport States


cdef class PartIds:
    cdef bbpe_encode_state *state
    cdef readonly set waiting
    cdef States states
    cdef object parts, taken
    cdef const int64_t[::1] bounds
    cdef size_t worker, first, stop, most, needed
    cdef Py_ssize_t start
    cdef bint is_placed

    cdef bint take(self) except -1
    cdef uint32_t *memory(self) except NULL
    cdef Py_ssize_t _find(self) except -2
    cdef int add(self, size_t count) except -1
