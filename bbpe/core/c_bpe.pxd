from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_pretoken_table cimport bbpe_pretoken_table

cdef extern from "models/bpe/bpe.h" nogil:
    const uint64_t BBPE_BPE_MADE
    enum:
        BBPE_BPE_SHORT

    ctypedef struct bbpe_bpe_parts:
        uint32_t left, right

    ctypedef struct bbpe_bpe:
        bbpe_pretoken_table tokens
        uint32_t *lengths
        bbpe_bpe_parts *parts
        size_t id_count
        uint32_t byte_ids[256]
        size_t longest
        bint whole_pretokens
        uint32_t fixed_ranks

    ctypedef struct bbpe_bpe_work:
        size_t capacity

    ctypedef struct bbpe_bpe_dropout:
        uint64_t state
        uint64_t threshold

    bbpe_status bbpe_bpe_init(bbpe_bpe *self, size_t id_count, bint by_rank, bint whole_pretokens)
    void bbpe_bpe_free(bbpe_bpe *self)
    void bbpe_bpe_work_free(bbpe_bpe_work *self)
    bbpe_status bbpe_bpe_add_merge(bbpe_bpe *self, uint32_t left, uint32_t right, uint32_t rank, uint32_t id)
    bbpe_status bbpe_bpe_settle(bbpe_bpe *self)
    bbpe_status bbpe_bpe_set_outputs(bbpe_bpe *self, const uint32_t *starts, const uint32_t *outputs)
    uint64_t bbpe_bpe_value(const bbpe_bpe *self, uint32_t left, uint32_t right)
    size_t bbpe_bpe_merge_short(const bbpe_bpe *self, const uint8_t *text, size_t n, size_t enough, uint32_t *ids)
    bbpe_status bbpe_bpe_merge_long(
        const bbpe_bpe *self, bbpe_bpe_work *work, const uint8_t *text, size_t n, size_t enough, uint32_t *ids,
        size_t *count)

cdef extern from "models/bpe/match.h" nogil:
    ctypedef struct bbpe_bpe_match:
        bint is_exact

    bbpe_status bbpe_bpe_match_init(bbpe_bpe_match *self, const bbpe_bpe *model)
    void bbpe_bpe_match_free(bbpe_bpe_match *self)
    bbpe_status bbpe_bpe_match_encode(
        const bbpe_bpe_match *self, const bbpe_bpe *model, bbpe_bpe_work *work, const uint8_t *text, size_t n,
        uint32_t *ids, size_t *count)
