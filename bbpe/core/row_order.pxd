from libc.stdint cimport uint64_t

cdef enum:
    ROUNDS = 8

cdef class RowOrder:
    cdef uint64_t keys[ROUNDS]
    cdef uint64_t count, low, high
    cdef int low_bits
    cdef bint shuffles
    cdef uint64_t row(self, uint64_t place) noexcept nogil
