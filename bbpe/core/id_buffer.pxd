from libc.stdint cimport uint32_t

from bbpe.core.c_memory cimport bbpe_reusable_buffer


cdef class IdBuffer:
    cdef uint32_t *ids
    cdef bbpe_reusable_buffer *buffer
    cdef object array
    cdef size_t count
    cdef bint is_taken

    cdef int extend(self, size_t count) except -1


cdef int drop_idle_buffer() except -1
