from libc.stdint cimport uint64_t

from bbpe.core.c_encode cimport bbpe_encode_state

cdef enum:
    IDLE = 16  # states that wait for a call; more are freed when they come back


cdef class States:
    cdef void *idle[IDLE]
    cdef uint64_t generation

    cdef bbpe_encode_state *borrow(self, size_t coming, size_t worker=*) except NULL
    cdef int give_back(self, bbpe_encode_state *state, size_t worker=*) except -1
    cdef int _grow(self, bbpe_encode_state *state, size_t entries) except -1
    cdef void _free(self, bbpe_encode_state *state) noexcept
