from libc.stdint cimport int64_t, uint32_t

from bbpe.core.c_encode cimport bbpe_encode_state, bbpe_encode_text, bbpe_encoder
from bbpe.core.text_view cimport text_view

cdef enum:
    GROUP = 256  # texts that are looked at under one hold of the GIL

ctypedef struct text_group:
    text_view views[GROUP]
    bbpe_encode_text texts[GROUP]
    size_t lengths[GROUP]
    size_t counts[GROUP]  # of ids
    size_t count
    size_t bound          # more ids than they have


cdef class TextGroup:
    cdef text_group *c

    cdef int open(self, object texts, size_t start, size_t end) except -1
    cdef void close(self) noexcept
    cdef int encode(self, const bbpe_encoder *encoder, bbpe_encode_state *state, uint32_t *ids) except -1
    cdef size_t encode_to(
        self, const bbpe_encoder *encoder, bbpe_encode_state *state, object texts, size_t start, size_t end, uint32_t *ids,
        size_t most) except 0


cdef int check_rows(size_t start, size_t end, const int64_t[::1] lengths) except -1
