from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

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
        BBPE_CHARSMAP_SQUEEZES, BBPE_CHARSMAP_PREPENDS, BBPE_CHARSMAP_BEGINS, BBPE_CHARSMAP_UNMARKS,
        BBPE_CHARSMAP_APPENDS

    bbpe_status bbpe_charsmap_init(bbpe_charsmap *self, const uint8_t *table, size_t n, unsigned rules)
    void bbpe_charsmap_free(bbpe_charsmap *self)
    void bbpe_charsmap_mark(bbpe_charsmap *self, uint32_t character)
    void bbpe_charsmap_mark_as(bbpe_charsmap *self, const bbpe_charsmap *other)
    size_t bbpe_charsmap_longest(const bbpe_charsmap *self, const uint8_t *s, size_t n, const uint8_t **value, size_t *length)
    bint bbpe_charsmap_goes_on(const bbpe_charsmap *self, const uint8_t *s, size_t n)
    bbpe_status bbpe_charsmap_mark_keys(bbpe_charsmap *self, _Bool *is_broken)
    bbpe_status bbpe_charsmap_keep(bbpe_charsmap *self, const uint8_t *bytes, size_t n)
    bbpe_status bbpe_charsmap_finalize(bbpe_charsmap *self)
    bbpe_status bbpe_charsmap_apply(const bbpe_charsmap *self, const uint8_t *text, size_t n,
        bbpe_charsmap_output *output)

    const size_t BBPE_AUTOMATON_NONE

    ctypedef struct bbpe_span:
        size_t start, end

    ctypedef struct bbpe_spans:
        bbpe_span *items
        size_t count, capacity

    bbpe_status bbpe_spans_reserve(bbpe_spans *self, size_t more)
    bbpe_status bbpe_spans_add(bbpe_spans *self, size_t start, size_t end)
    void bbpe_spans_free(bbpe_spans *self)
    ctypedef struct bbpe_automaton_scratch:
        void *host
        bbpe_spans matches
        size_t host_byte, host_character, host_end
        _Bool is_asked, is_over

    ctypedef bbpe_status (*bbpe_find_in_host)(
        const void *regex, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n) noexcept

    ctypedef struct bbpe_state_node:
        pass

    ctypedef struct bbpe_state_maker:
        const bbpe_state_node *nodes
        const int32_t *follow
        const uint8_t *within
        const uint8_t *holds
        const uint32_t *befores
        const uint32_t *first_befores
        const uint8_t *first_refuses
        size_t node_count, follow_count, first_count
        uint32_t width, row, entries, first_ending, most_states
        int32_t start
        uint32_t behind_count
        uint64_t identity
        _Bool marks

    enum:
        BBPE_AUTOMATON_MOST_LOOKS

    ctypedef struct bbpe_automaton_look:
        const uint32_t *rows
        const bbpe_state_maker *maker
        uint32_t start, first_ending
        _Bool reads_back

    ctypedef struct bbpe_automaton:
        const void *host_regex
        bbpe_find_in_host find_in_host
        const bbpe_state_maker *maker
        const uint8_t *bytes_to_class
        const uint16_t *blocks
        const uint8_t *values
        const uint32_t *rows
        const uint32_t *starts
        uint32_t width, first_ending
        const bbpe_automaton_look *looks
        size_t look_count
        uint8_t invalid
        _Bool may_be_empty, looks_behind, reads_bytes, goes_on
        uint8_t idle[256]

    void bbpe_automaton_finish(bbpe_automaton *self, size_t state_count)
    void bbpe_automaton_scratch_free(bbpe_automaton_scratch *self)
    bbpe_status bbpe_automaton_find(const bbpe_automaton *self, bbpe_automaton_scratch *scratch,
        const uint8_t *text, size_t n, size_t start, _Bool refuses_empty, bbpe_span *found)

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
        BBPE_STEP_SPLIT, BBPE_STEP_LENGTH, BBPE_STEP_BLANKS, BBPE_STEP_REWRITE, BBPE_STEP_MARK,
        BBPE_STEP_ALPHABET

    ctypedef struct bbpe_pre_tokenizer_step:
        bbpe_step_kind kind
        bbpe_split_rule split
        size_t length
        _Bool counts_bytes
        const uint8_t *prefix
        size_t prefix_size
        _Bool only_first
        const uint8_t *mark
        size_t mark_size
        _Bool drops_space, unmarks

    ctypedef struct bbpe_pre_tokenizer:
        const bbpe_pre_tokenizer_step *steps
        size_t count

    ctypedef struct bbpe_pre_tokenizer_scratch:
        bbpe_automaton_scratch automaton, first

    ctypedef struct bbpe_pre_tokenized:
        const uint8_t *text
        size_t n
        const bbpe_span *spans
        size_t count

    bbpe_status bbpe_pre_tokenizer_init(bbpe_pre_tokenizer *self, const bbpe_pre_tokenizer_step *steps, size_t count,
        uint64_t number)
    bbpe_status bbpe_pre_tokenizer_next(const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch,
        bbpe_split_cursor *cursor, const uint8_t *text, size_t n, size_t limit, bbpe_pre_tokenized *result)
    void bbpe_pre_tokenizer_scratch_free(bbpe_pre_tokenizer_scratch *self)
    bbpe_status bbpe_pre_tokenizer_split(const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch,
        const uint8_t *text, size_t n, size_t head, _Bool with_places, bbpe_pre_tokenized *result)

    ctypedef enum bbpe_normalizer_kind:
        BBPE_NORMALIZER_FORM, BBPE_NORMALIZER_MAP, BBPE_NORMALIZER_STRIP, BBPE_NORMALIZER_PREPEND,
        BBPE_NORMALIZER_REPLACE, BBPE_NORMALIZER_SQUEEZE, BBPE_NORMALIZER_CHARSMAP, BBPE_NORMALIZER_PRECOMPILED
        BBPE_NORMALIZER_BYTES

    ctypedef enum bbpe_characters:
        BBPE_CHARACTERS_NFC, BBPE_CHARACTERS_NFD, BBPE_CHARACTERS_NFKC, BBPE_CHARACTERS_NFKD, BBPE_CHARACTERS_LOWERED,
        BBPE_CHARACTERS_MARKS, BBPE_CHARACTERS_NONSPACING, BBPE_CHARACTERS_CLEANED, BBPE_CHARACTERS_IDEOGRAPHS,
        BBPE_CHARACTERS_NMT

    ctypedef struct bbpe_normalizer_step:
        bbpe_normalizer_kind kind
        bbpe_characters set
        _Bool left, right
        const uint8_t *pattern
        const uint8_t *content
        size_t pattern_length, content_length
        const bbpe_automaton *automaton
        const bbpe_charsmap *charsmap

    ctypedef struct bbpe_normalizer:
        size_t count

    ctypedef struct bbpe_normalizer_scratch:
        bbpe_automaton_scratch automaton

    void bbpe_normalizer_init(bbpe_normalizer *self)
    void bbpe_normalizer_free(bbpe_normalizer *self)
    bbpe_status bbpe_normalizer_add(bbpe_normalizer *self, bbpe_normalizer_step step)
    void bbpe_normalizer_find_sources(const bbpe_normalizer_scratch *scratch, const uint8_t *text, size_t n, size_t out_n,
        size_t *sources)
    bbpe_status bbpe_normalizer_apply(const bbpe_normalizer *self, bbpe_normalizer_scratch *scratch, const uint8_t *text,
        size_t n, _Bool with_places, const uint8_t **out, size_t *out_n)
    void bbpe_normalizer_scratch_free(bbpe_normalizer_scratch *self)

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
    bbpe_status bbpe_matcher_linear_init(bbpe_matcher_linear *self, const bbpe_pretoken_table *reversed_tokens,
        size_t count)
    void bbpe_matcher_linear_free(bbpe_matcher_linear *self)
    void bbpe_matcher_linear_best(const bbpe_matcher_linear *self, const uint64_t *policy, uint32_t *best)
    bbpe_status bbpe_matcher_find(const bbpe_matcher *self, const uint64_t *policy, const uint8_t *text, size_t n,
        size_t most, size_t *at, _Bool *is_slow, bbpe_matches *found)
    bbpe_status bbpe_matcher_linear_find(const bbpe_matcher_linear *self, const uint32_t *best, const size_t *lengths,
        size_t longest, const uint8_t *text, size_t n, size_t most, size_t *at, bbpe_matches *found)

    ctypedef struct bbpe_added_token:
        uint32_t id, options

    enum:
        BBPE_TOKEN_LSTRIP, BBPE_TOKEN_RSTRIP, BBPE_TOKEN_SINGLE_WORD

    ctypedef struct bbpe_token_search:
        const bbpe_matcher *matcher
        const uint64_t *policy
        const bbpe_added_token *tokens
        const size_t *lengths
        size_t longest
        const uint64_t *word_characters
        bint has_options
        const bbpe_matcher_linear *linear
        const uint32_t *best
        const bbpe_token_search *then

    bbpe_status bbpe_token_search_in_turn(const bbpe_token_search *self, const uint8_t *text, size_t n, size_t most,
        size_t *at, bbpe_matches *found)

    ctypedef struct bbpe_token_codes:
        const uint8_t *opens
        const uint8_t *closes
        size_t opens_length, closes_length
        const bbpe_pretoken_table *tokens
        uint32_t unknown

    ctypedef struct bbpe_pipeline:
        const uint8_t *prefix
        size_t prefix_length
        bint prefix_first, finds_head, unmarks, unmarks_pretokens, replaces_invalid, fuses
        uint32_t fused
        const bbpe_token_codes *codes
        const bbpe_normalizer *normalizer
        const bbpe_pre_tokenizer *pre_tokenizer

    ctypedef struct bbpe_token_range:
        size_t end
        uint32_t level

    ctypedef struct bbpe_token_levels:
        const bbpe_token_range *ranges
        size_t count
        const uint64_t *const *levels

    ctypedef struct bbpe_pipeline_call:
        const bbpe_pipeline *pipeline
        const bbpe_token_search *tokens
        const bbpe_token_search *normalized
        const bbpe_token_search *refused
        const uint32_t *before
        const uint32_t *after
        size_t before_count, after_count
        bbpe_token_levels in_text, in_normalized
        bint with_places
        void *host

    bint bbpe_pipeline_call_is_plain(const bbpe_pipeline_call *self)

    ctypedef enum bbpe_pipeline_problem:
        BBPE_PIPELINE_FINE, BBPE_PIPELINE_NEEDS_LINEAR, BBPE_PIPELINE_REFUSED

    ctypedef struct bbpe_stretch:
        const uint8_t *text
        size_t n
        const size_t *pretokens
        size_t pretoken_count
        uint32_t id
        bint ends_text

    ctypedef struct bbpe_stretch_source:
        const uint8_t *token
        size_t token_length

    const uint32_t BBPE_STRETCH_NO_ID

    ctypedef struct bbpe_token_cursor:
        const uint8_t *text
        size_t n

    ctypedef struct bbpe_pipeline_run:
        bbpe_stretch *stretches
        bbpe_stretch_source *sources
        size_t count, bytes
        bbpe_token_cursor tokens
        bint is_done
        bbpe_pipeline_problem problem
        const bbpe_token_search *problem_search
        size_t refused_start, refused_end

    bbpe_status bbpe_pipeline_begin(bbpe_pipeline_run *self, const void *units, unsigned unit_size, size_t n)
    bbpe_status bbpe_pipeline_next(bbpe_pipeline_run *self, const bbpe_pipeline_call *call)
    void bbpe_pipeline_empty(bbpe_pipeline_run *self)
    void bbpe_pipeline_free(bbpe_pipeline_run *self)

    const uint32_t BBPE_LENGTH_VARIES

    ctypedef struct bbpe_token_extent:
        uint8_t bytes, characters

    bbpe_token_extent bbpe_token_extent_of(const uint8_t *token, size_t n)

    ctypedef struct bbpe_token_lengths:
        const uint32_t *first
        const uint32_t *inside
        const bbpe_token_extent *extents
        size_t id_count
        bint whole, fuses, drops, of_bytes
        const uint8_t *unknown
        size_t unknown_size
        const uint64_t *known[4]
        bint is_bert

    void bbpe_token_lengths_set_bert(bbpe_token_lengths *self, unsigned rules)

    ctypedef struct bbpe_place:
        int64_t start, end

    ctypedef struct bbpe_place_scratch:
        uint32_t *ids
        bbpe_place *places
        int64_t *words

    void bbpe_place_scratch_trim(bbpe_place_scratch *self)
    ctypedef struct bbpe_token_blanks:
        pass

    ctypedef struct bbpe_place_trims:
        const bbpe_token_blanks *blanks
        size_t id_count
        const uint8_t *keeps_first
        size_t pass_count

    bbpe_token_blanks bbpe_token_blanks_of(const uint8_t *token, size_t n)
    bbpe_place bbpe_place_trim(const bbpe_place_trims *self, const uint8_t *text, size_t n, bbpe_token_blanks blanks,
        bint is_first, bbpe_place span)

    ctypedef enum bbpe_template_kind:
        BBPE_TEMPLATE_ID, BBPE_TEMPLATE_FIRST, BBPE_TEMPLATE_SECOND

    ctypedef struct bbpe_template_item:
        bbpe_template_kind kind
        uint32_t id
        uint8_t type

    ctypedef struct bbpe_template:
        const bbpe_template_item *items
        size_t count, added
        size_t uses[2]
        bint has_second_before

    ctypedef enum bbpe_truncation_strategy:
        BBPE_LONGEST_FIRST, BBPE_ONLY_FIRST, BBPE_ONLY_SECOND

    ctypedef struct bbpe_row_rules:
        const bbpe_template *single
        const bbpe_template *pair
        size_t limit
        bbpe_truncation_strategy strategy
        bint from_left, continues
        size_t stride

    ctypedef struct bbpe_row_texts:
        const int64_t *offsets
        size_t text_count
        const uint8_t *sizes
        size_t item_count

    ctypedef enum bbpe_rows_problem:
        BBPE_ROWS_FINE, BBPE_ROWS_TOO_SHORT, BBPE_ROWS_NO_SECOND, BBPE_ROWS_STRIDE

    ctypedef struct bbpe_rows:
        size_t count, longest, total
        bbpe_rows_problem problem
        size_t problem_item, problem_room

    ctypedef struct bbpe_padded:
        size_t width
        bint pads_left
        uint64_t pad_id
        void *ids
        unsigned id_size
        uint8_t *mask

    ctypedef struct bbpe_row_details:
        size_t width
        bint pads_left
        uint8_t pad_type
        uint8_t *types
        uint8_t *special
        int64_t *items
        int64_t *counts

    bbpe_status bbpe_rows_plan(bbpe_rows *self, const bbpe_row_rules *rules, const bbpe_row_texts *texts, size_t id_count)
    void bbpe_rows_free(bbpe_rows *self)
    void bbpe_rows_write(const bbpe_rows *self, const bbpe_row_rules *rules, const uint32_t *ids, const bbpe_padded *to)
    void bbpe_rows_describe(const bbpe_rows *self, const bbpe_row_rules *rules, const bbpe_row_details *to)
    void bbpe_rows_join(const bbpe_rows *self, const bbpe_row_rules *rules, const uint32_t *ids, uint32_t *to,
        int64_t *offsets)

    void bbpe_fill_ids(void *to, size_t to_size, const void *source, size_t from_size, size_t n)
    void bbpe_fill_value(void *to, size_t to_size, int64_t value, size_t n)
    void bbpe_fill_unmasked(void *to, size_t to_size, const uint8_t *masks, int64_t value, size_t n)
    void bbpe_fill_count(int32_t *to, size_t n)
