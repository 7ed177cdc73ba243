from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_pretoken_table cimport bbpe_pretoken_table


cdef extern from "stdbool.h" nogil:
    ctypedef bint bool_ "bool"


cdef extern from "trie.h" nogil:
    ctypedef struct bbpe_trie:
        size_t slot_count


cdef extern from "matcher.h" nogil:
    const uint64_t BBPE_MATCHER_TOKEN

    ctypedef struct bbpe_matcher:
        size_t count, longest

    ctypedef struct bbpe_matcher_linear:
        bbpe_trie trie

    ctypedef struct bbpe_match:
        size_t start, end
        uint32_t token

    ctypedef struct bbpe_matches:
        bbpe_match *items
        size_t count, capacity

    bbpe_status bbpe_matcher_init(bbpe_matcher *self, const bbpe_pretoken_table *tokens, size_t count)
    void bbpe_matcher_free(bbpe_matcher *self)
    bbpe_status bbpe_matcher_linear_init(
        bbpe_matcher_linear *self, const bbpe_pretoken_table *reversed_tokens, size_t count
    )
    void bbpe_matcher_linear_free(bbpe_matcher_linear *self)
    void bbpe_matcher_linear_best(const bbpe_matcher_linear *self, const uint64_t *policy, uint32_t *best)
    bbpe_status bbpe_matcher_find(
        const bbpe_matcher *self, const uint64_t *policy, const uint8_t *text, size_t n, size_t most, size_t *at,
        bool_ *is_slow, bbpe_matches *found
    )
    bbpe_status bbpe_matcher_linear_find(
        const bbpe_matcher_linear *self, const uint32_t *best, const size_t *lengths, size_t longest,
        const uint8_t *text, size_t n, size_t most, size_t *at, bbpe_matches *found
    )
