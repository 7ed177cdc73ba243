from libc.stdint cimport uint64_t

from bbpe.core.c_encode cimport bbpe_encode_state, bbpe_encoder
from bbpe.core.c_split cimport bbpe_scheme, bbpe_split_fill
from bbpe.core.model cimport Model
from bbpe.core.split cimport Splitter

cdef enum:
    IDLE = 16  # states that wait for a call; more are freed when they come back


# A state that waits for a call, or NULL.  The other fields describe the state that was put here last; whoever chooses which
# tables to free reads them, because the state itself may be another call's by then.
ctypedef struct idle_state:
    void *state
    uint64_t bytes         # of its tables
    uint64_t seen          # bytes of text that it was lent for
    uint64_t seen_before   # what `seen` was when somebody last looked
    uint64_t unused_since  # when somebody first saw this `seen`, in nanoseconds


# The idle states of an encoder.
ctypedef struct idle_states:
    idle_state slots[IDLE]
    void *owner
    void *next


cdef class States:
    cdef idle_states *idle
    cdef uint64_t generation
    cdef Model model
    cdef Splitter splitter
    cdef bbpe_encoder *light
    cdef void *full  # the encoder with all its tables, or NULL
    cdef object cuts    # the buffer that has its cut points, or None
    cdef list matches   # the buffers that its matching of long pieces may be in: one, or two if threads read it at once
    cdef object failure # an exception while a call in C asked for it, or None

    cdef const bbpe_scheme *scheme(self) noexcept
    cdef bbpe_split_fill fill(self) noexcept
    cdef int prepare(self, uint64_t coming) except -1
    cdef int open_match(self) except -1
    cdef bbpe_encoder *encoder(self) noexcept nogil
    cdef bbpe_encode_state *borrow(self, size_t coming, size_t worker=*) except NULL
    cdef int give_back(self, bbpe_encode_state *state, size_t worker=*) except -1
    cdef void _size(self, bbpe_encode_state *state, size_t coming) noexcept
