from libc.stdint cimport uint32_t

from bbpe.core.c_decode cimport bbpe_id_array


cdef class IdSource:
    cdef bbpe_id_array array  # borrows from one of those below
    cdef object given
    cdef Py_buffer view
    cdef bint viewed
    cdef uint32_t *owned

    cdef bint _copy(self, object ids) except -1
    cdef bint _borrow(self, object ids) except -1
    cdef object at(self, size_t place)
