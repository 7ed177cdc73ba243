from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_tables cimport bbpe_pretoken_table, bbpe_trie

cdef extern from "pipeline/pipeline.h" nogil:
    ctypedef bint _Bool

    ctypedef struct bbpe_charsmap:
        pass

    ctypedef struct bbpe_charsmap_output:
        uint8_t *bytes
        size_t used, capacity

    enum:
        BBPE_CHARSMAP_SQUEEZES, BBPE_CHARSMAP_PREPENDS, BBPE_CHARSMAP_BEGINS, BBPE_CHARSMAP_UNMARKS

    bbpe_status bbpe_charsmap_init(bbpe_charsmap *self, const uint8_t *table, size_t n, unsigned rules)
    void bbpe_charsmap_free(bbpe_charsmap *self)
    void bbpe_charsmap_mark(bbpe_charsmap *self, uint32_t character)
    bbpe_status bbpe_charsmap_mark_keys(bbpe_charsmap *self, _Bool *is_broken)
    bbpe_status bbpe_charsmap_keep(bbpe_charsmap *self, const uint8_t *bytes, size_t n)
    bbpe_status bbpe_charsmap_finalize(bbpe_charsmap *self)
    bbpe_status bbpe_charsmap_apply(const bbpe_charsmap *self, const uint8_t *text, size_t n,
        bbpe_charsmap_output *output)

    const size_t BBPE_AUTOMATON_NONE

    ctypedef struct bbpe_automaton:
        const uint8_t *bytes_to_class
        const uint16_t *blocks
        const uint8_t *values
        const uint32_t *rows
        const uint32_t *starts
        uint32_t width, first_ending
        uint8_t invalid
        _Bool may_be_empty, looks_behind, reads_bytes
        uint8_t idle[256]

    ctypedef struct bbpe_automaton_scratch:
        pass

    ctypedef struct bbpe_span:
        size_t start, end

    void bbpe_automaton_finish(bbpe_automaton *self, size_t state_count)
    void bbpe_automaton_scratch_free(bbpe_automaton_scratch *self)
    bbpe_status bbpe_automaton_find(const bbpe_automaton *self, bbpe_automaton_scratch *scratch,
        const uint8_t *text, size_t n, size_t start, _Bool refuses_empty, bbpe_span *found)

    ctypedef struct bbpe_spans:
        bbpe_span *items
        size_t count, capacity

    bbpe_status bbpe_spans_add(bbpe_spans *self, size_t start, size_t end)
    void bbpe_spans_free(bbpe_spans *self)

    ctypedef enum bbpe_split_behavior:
        BBPE_SPLIT_REMOVED, BBPE_SPLIT_ISOLATED, BBPE_SPLIT_MERGED_WITH_PREVIOUS, BBPE_SPLIT_MERGED_WITH_NEXT
        BBPE_SPLIT_CONTIGUOUS

    ctypedef struct bbpe_split_rule:
        const bbpe_automaton *automaton
        bbpe_split_behavior behavior
        _Bool inverts

    ctypedef struct bbpe_split_cursor:
        _Bool is_over

    ctypedef enum bbpe_step_kind:
        BBPE_STEP_SPLIT, BBPE_STEP_LENGTH, BBPE_STEP_REWRITE

    ctypedef struct bbpe_pre_tokenizer_step:
        bbpe_step_kind kind
        bbpe_split_rule split
        size_t length
        _Bool counts_bytes
        const uint8_t *prefix
        size_t prefix_size
        _Bool only_first, marks_blanks

    ctypedef struct bbpe_pre_tokenizer:
        const bbpe_pre_tokenizer_step *steps
        size_t count

    ctypedef struct bbpe_pre_tokenizer_scratch:
        pass

    ctypedef struct bbpe_pre_tokenized:
        const uint8_t *text
        size_t n
        const bbpe_span *spans
        size_t count

    bbpe_status bbpe_pre_tokenizer_next(
        const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch, bbpe_split_cursor *cursor,
        const uint8_t *text, size_t n, size_t limit, bbpe_pre_tokenized *result
    )
    void bbpe_pre_tokenizer_scratch_free(bbpe_pre_tokenizer_scratch *self)
    bbpe_status bbpe_pre_tokenizer_split(
        const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch, const uint8_t *text, size_t n,
        _Bool is_first, bbpe_pre_tokenized *result
    )

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
        _Bool *is_slow, bbpe_matches *found
    )
    bbpe_status bbpe_matcher_linear_find(
        const bbpe_matcher_linear *self, const uint32_t *best, const size_t *lengths, size_t longest,
        const uint8_t *text, size_t n, size_t most, size_t *at, bbpe_matches *found
    )
