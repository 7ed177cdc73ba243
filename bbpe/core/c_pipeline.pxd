from libc.stdint cimport uint8_t, uint32_t, uint64_t

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

    ctypedef enum bbpe_normalizer_kind:
        BBPE_NORMALIZER_FORM, BBPE_NORMALIZER_MAP, BBPE_NORMALIZER_STRIP, BBPE_NORMALIZER_PREPEND, BBPE_NORMALIZER_REPLACE, BBPE_NORMALIZER_SQUEEZE,
        BBPE_NORMALIZER_CHARSMAP, BBPE_NORMALIZER_PRECOMPILED, BBPE_NORMALIZER_BYTES

    ctypedef enum bbpe_characters:
        BBPE_CHARACTERS_NFC, BBPE_CHARACTERS_NFD, BBPE_CHARACTERS_NFKC, BBPE_CHARACTERS_NFKD, BBPE_CHARACTERS_LOWERED,
        BBPE_CHARACTERS_MARKS, BBPE_CHARACTERS_NONSPACING, BBPE_CHARACTERS_CLEANED, BBPE_CHARACTERS_IDEOGRAPHS,
        BBPE_CHARACTERS_NMT

    ctypedef bbpe_status (*bbpe_normalizer_find)(const void *self, void *scratch, const uint8_t *text, size_t n, size_t start,
        size_t *first, size_t *end, _Bool *found) noexcept nogil

    ctypedef struct bbpe_normalizer_step:
        bbpe_normalizer_kind kind
        bbpe_characters set
        _Bool left, right
        const uint8_t *pattern
        const uint8_t *content
        size_t pattern_length, content_length
        bbpe_normalizer_find find
        const void *finder
        const bbpe_charsmap *charsmap

    ctypedef struct bbpe_normalizer:
        size_t count

    ctypedef struct bbpe_normalizer_scratch:
        void *finder
        const size_t *sources

    void bbpe_normalizer_init(bbpe_normalizer *self)
    void bbpe_normalizer_free(bbpe_normalizer *self)
    bbpe_status bbpe_normalizer_add(bbpe_normalizer *self, bbpe_normalizer_step step)
    bbpe_status bbpe_normalizer_apply(const bbpe_normalizer *self, bbpe_normalizer_scratch *scratch, const uint8_t *text,
        size_t n, _Bool aligned, const uint8_t **out, size_t *out_n)
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
