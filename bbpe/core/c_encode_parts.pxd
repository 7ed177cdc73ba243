from libc.stdint cimport int64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_encode cimport bbpe_encode_state, bbpe_encode_text, bbpe_encoder
from bbpe.core.c_parts cimport bbpe_parts

cdef extern from "encode/parts.h" nogil:
    ctypedef struct bbpe_encode_cut_text:
        bbpe_encode_text text
        bbpe_encode_text head
        size_t length, head_length
        bint has_head
        const int64_t *cuts

    size_t bbpe_encode_cuts(
        const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t n, size_t chunk,
        int64_t *cuts)
    bint bbpe_encode_next_parts(
        const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_cut_text *text, bbpe_parts *parts,
        size_t thread, bbpe_status *status)
