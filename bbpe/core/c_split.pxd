from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from "split/split.h" nogil:
    ctypedef bint c_bool "bool"

    ctypedef struct bbpe_scheme:
        uint32_t contraction, han_run, prefix, word, cased, number_max, number_space
        uint32_t rest, tail, newline, end_first, apart, ascii_word, words, by_line, unused
        const uint64_t *joins

    ctypedef enum bbpe_isa:
        BBPE_ISA_AUTO, BBPE_ISA_SCALAR, BBPE_ISA_AVX2, BBPE_ISA_AVX512, BBPE_ISA_NEON

    ctypedef size_t (*bbpe_split_fill)(const bbpe_scheme *scheme, const uint8_t *text, size_t start, size_t n,
        size_t *ends, size_t limit, c_bool *wide) noexcept nogil

    size_t BBPE_SPLIT_NO_CUT
    const uint32_t BBPE_CONTRACTION_NONE, BBPE_CONTRACTION_LEAD
    const uint32_t BBPE_CONTRACTION_LEAD_FOLD, BBPE_CONTRACTION_SUFFIX_FOLD
    const uint32_t BBPE_TAIL_NONE, BBPE_TAIL_NEWLINES, BBPE_TAIL_NEWLINES_SLASH
    const uint32_t BBPE_WORDS_NONE, BBPE_WORDS_SPACE, BBPE_WORDS_BLANK, BBPE_WORDS_BERT, BBPE_WORDS_BERT_APART
    const uint32_t BBPE_SET_SPACE, BBPE_SET_PREFIX, BBPE_SET_PREFIX_NO_PUNCT
    const uint32_t BBPE_SET_L, BBPE_SET_LM, BBPE_SET_M, BBPE_SET_N, BBPE_SET_HAN, BBPE_SET_CJK
    const uint32_t BBPE_SET_REST, BBPE_SET_PS

    const bbpe_scheme *bbpe_split_row(size_t index, const char **name)
    bbpe_split_fill bbpe_split_select(const bbpe_scheme *scheme, bbpe_isa isa)
    size_t bbpe_split_cut(const bbpe_scheme *scheme, const uint8_t *text, size_t start, size_t n, size_t window)
    const char *bbpe_split_unicode_version()
