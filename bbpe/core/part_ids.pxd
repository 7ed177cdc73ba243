from libc.stdint cimport uint32_t


cdef class PartIds:
    cdef readonly size_t used
    cdef object parts, waiting

    cdef int add(self, const uint32_t *ids, size_t number, size_t count) except -1
    cdef int finish(self, const uint32_t *ids) except -1
    cdef int _move(self, const uint32_t *ids, bint waits) except -1
