from libc.stdint cimport uint64_t

from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_encode cimport bbpe_encode_state, bbpe_encoder
from bbpe.core.model cimport Model
from bbpe.core.split cimport Splitter

cdef enum:
    IDLE = 16  # states that wait for a call; more are freed when they come back


cdef class States:
    cdef void *idle[IDLE]
    cdef uint64_t generation
    cdef Model model
    cdef Splitter splitter
    cdef bbpe_encoder *light
    cdef void *full  # the encoder with all its tables, or NULL

    cdef bbpe_status _make(self, bbpe_encoder **to, bint is_light) noexcept
    cdef void prepare(self, uint64_t coming) noexcept
    cdef bbpe_encoder *encoder(self) noexcept nogil
    cdef bbpe_encode_state *borrow(self, size_t coming, size_t worker=*) except NULL
    cdef int give_back(self, bbpe_encode_state *state, size_t worker=*) except -1
    cdef int _grow(self, bbpe_encode_state *state, size_t entries) except -1
    cdef void _free(self, bbpe_encode_state *state) noexcept
