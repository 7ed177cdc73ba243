from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from bbpe.core.c_bpe cimport bbpe_bpe_dropout
from bbpe.core.c_cache cimport bbpe_hot_cache, bbpe_shared_cache
from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_model cimport bbpe_model
from bbpe.core.c_room cimport bbpe_room
from bbpe.core.c_split cimport bbpe_scheme, bbpe_split_fill

cdef extern from "encode/encode.h" nogil:
    enum:
        BBPE_ENCODE_SLACK

    ctypedef struct bbpe_encoder:
        pass

    ctypedef struct bbpe_encode_state:
        bbpe_hot_cache hot
        bbpe_shared_cache *shared
        uint32_t *ids
        bbpe_room early
        uint64_t seen, kept
        uint64_t generation
        bint is_grown

    ctypedef struct bbpe_encode_text:
        const void *units
        unsigned unit_size

    bbpe_status bbpe_encoder_init(
        bbpe_encoder *self, const bbpe_model *model, const bbpe_scheme *scheme, bbpe_split_fill fill)
    void bbpe_encoder_free(bbpe_encoder *self)
    void bbpe_encode_state_init(bbpe_encode_state *self)
    bint bbpe_encode_state_grow(bbpe_encode_state *self, size_t entries, size_t slots)
    void bbpe_encode_state_free(bbpe_encode_state *self)
    void bbpe_encode_state_pin(bbpe_encode_state *self, bint serves)
    bbpe_status bbpe_encode_state_reserve(bbpe_encode_state *self, size_t count)
    bbpe_status bbpe_encode_range(
        const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start, size_t end,
        uint32_t *ids, size_t *count)
    bbpe_status bbpe_encode_texts(
        const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_text *texts, const size_t *lengths,
        size_t count, uint32_t *ids, size_t *counts)
    bbpe_status bbpe_encode_given(
        const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
        const int64_t *ends, size_t pretokens, uint32_t *ids, size_t *count)
    bbpe_status bbpe_encode_count(
        const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start, size_t end,
        size_t limit, bint keeps, size_t *count)
    bbpe_status bbpe_encode_dropout(
        const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
        const int64_t *ends, size_t pretokens, bbpe_bpe_dropout *dropout, uint32_t *ids, size_t *count)
    size_t bbpe_encode_bound(unsigned unit_size, size_t units)
    size_t bbpe_encode_cut(
        const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start, size_t n,
        size_t window)
