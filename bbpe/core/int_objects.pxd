from libc.stdint cimport uint32_t


cdef class IntObjects:
    cdef void **objects
    cdef size_t count

    cdef list to_list(self, const uint32_t *ids, size_t n, tuple before=*, tuple after=*)
    cdef int add_lists(self, list rows, const uint32_t *ids, const size_t *counts, size_t n) except -1
    @staticmethod
    cdef void track_lists(list rows) noexcept
    cdef int _make(self, uint32_t number) except -1
