/* The scheme table: one row a pattern.  bbpe/splitting/scheme.py says what the fields mean, token.h what they do. */
#ifndef BBPE_SPLIT_SCHEME_H
#define BBPE_SPLIT_SCHEME_H

#include "text/text.h"

typedef enum {
    BBPE_CONTRACTION_NONE,
    BBPE_CONTRACTION_LEAD,        /* 's in front of everything else */
    BBPE_CONTRACTION_LEAD_FOLD,   /* the same, in any case */
    BBPE_CONTRACTION_SUFFIX_FOLD, /* after a word, in any case */
} bbpe_contraction;

/* Where a text is parted before rules are applied to its parts (words.h). */
enum { BBPE_WORDS_NONE, BBPE_WORDS_SPACE, BBPE_WORDS_BLANK, BBPE_WORDS_BERT, BBPE_WORDS_BERT_APART };

enum { BBPE_TAIL_NONE, BBPE_TAIL_NEWLINES, BBPE_TAIL_NEWLINES_SLASH };

/* No padding: rows are compared byte by byte. */
typedef struct {
    uint32_t contraction; /* a bbpe_contraction */
    uint32_t han_run;     /* 1: \p{Han}+ before all else */
    uint32_t prefix;      /* set: what one character before a word may be */
    uint32_t word;        /* set */
    uint32_t cased;       /* 1: upper* lower+ | upper+ lower* */
    uint32_t number_max;  /* 0: no limit */
    uint32_t number_space; /* 1: " "? before numbers */
    uint32_t rest;        /* set of " "? rest+ */
    uint32_t tail;        /* what rest swallows after it */
    uint32_t newline;     /* 1: \s*[\r\n]+ */
    uint32_t end_first;   /* 1: \s+$ */
    uint32_t apart;       /* set: cut off by earlier steps; numbers by number_max, CJK in runs */
    uint32_t ascii_word;  /* 1: ASCII punctuation and the ASCII letters after it */
    uint32_t by_line;     /* 1: the text ends after each line feed, and another one begins */
    uint32_t words;       /* not 0: instead of all else, where words end, BBPE_WORDS_ */
    uint32_t unused;      /* 0, so that there is no padding */
    const uint64_t *joins; /* or NULL; instead of all else: 2^16 bits, [first << 8 | second], of the bytes that a
                              vocabulary joins: a pretoken ends between any others.  Owned by who made the row */
} bbpe_scheme;

/* Whether a pretoken of such a row goes on from one byte to the next. */
BBPE_INLINE uint64_t bbpe_scheme_joins(const uint64_t *joins, uint8_t first, uint8_t second) {
    return joins[first << 2 | second >> 6] >> (second & 63) & 1;
}

#define BBPE_SET_SPACE BBPE_SET(SPACE)
#define BBPE_SET_PREFIX (BBPE_SET_ALL & ~(BBPE_SET(NEWLINE) | BBPE_SET_L | BBPE_SET_N))
#define BBPE_SET_PREFIX_NO_PUNCT (BBPE_SET_ALL & ~(BBPE_SET(NEWLINE) | BBPE_SET_L | BBPE_SET_PS))
#define BBPE_SET_REST (BBPE_SET_ALL & ~(BBPE_SET_S | BBPE_SET_L | BBPE_SET_N))
#define BBPE_SET_LM (BBPE_SET_L | BBPE_SET_M)

/* clang-format off */
/*  name       contraction    han prefix                    word                      cased max spc rest                          tail                      nl end apart                     ascii line words unused joins */
#define BBPE_SCHEMES(ROW) \
ROW(gpt2,      LEAD,          0,  BBPE_SET_SPACE,           BBPE_SET_L,               0,    0,  1,  BBPE_SET_REST,                BBPE_TAIL_NONE,           0, 0,  0,                        0, 0, 0, 0, NULL) \
ROW(gpt2_lines, LEAD,         0,  BBPE_SET_SPACE,           BBPE_SET_L,               0,    0,  1,  BBPE_SET_REST,                BBPE_TAIL_NONE,           0, 0,  0,                        0, 1, 0, 0, NULL) \
ROW(cl100k,    LEAD_FOLD,     0,  BBPE_SET_PREFIX,          BBPE_SET_L,               0,    3,  0,  BBPE_SET_REST,                BBPE_TAIL_NEWLINES,       1, 1,  0,                        0, 0, 0, 0, NULL) \
ROW(llama3,    LEAD_FOLD,     0,  BBPE_SET_PREFIX,          BBPE_SET_L,               0,    3,  0,  BBPE_SET_REST,                BBPE_TAIL_NEWLINES,       1, 0,  0,                        0, 0, 0, 0, NULL) \
ROW(qwen2,     LEAD_FOLD,     0,  BBPE_SET_PREFIX,          BBPE_SET_L,               0,    1,  0,  BBPE_SET_REST,                BBPE_TAIL_NEWLINES,       1, 0,  0,                        0, 0, 0, 0, NULL) \
ROW(qwen3_5,   LEAD_FOLD,     0,  BBPE_SET_PREFIX,          BBPE_SET_LM,              0,    1,  0,  BBPE_SET_REST & ~BBPE_SET_M,  BBPE_TAIL_NEWLINES,       1, 0,  0,                        0, 0, 0, 0, NULL) \
ROW(o200k,     SUFFIX_FOLD,   0,  BBPE_SET_PREFIX,          BBPE_SET_LM,              1,    3,  0,  BBPE_SET_REST,                BBPE_TAIL_NEWLINES_SLASH, 1, 0,  0,                        0, 0, 0, 0, NULL) \
ROW(tekken,    NONE,          0,  BBPE_SET_PREFIX,          BBPE_SET_LM,              1,    1,  0,  BBPE_SET_REST,                BBPE_TAIL_NEWLINES_SLASH, 1, 0,  0,                        0, 0, 0, 0, NULL) \
ROW(kimi,      SUFFIX_FOLD,   1,  BBPE_SET_PREFIX,          BBPE_SET_LM & ~BBPE_SET_HAN, 1, 3,  0,  BBPE_SET_REST,                BBPE_TAIL_NEWLINES,       1, 0,  0,                        0, 0, 0, 0, NULL) \
ROW(nanochat,  LEAD_FOLD,     0,  BBPE_SET_PREFIX,          BBPE_SET_L,               0,    2,  0,  BBPE_SET_REST,                BBPE_TAIL_NEWLINES,       1, 0,  0,                        0, 0, 0, 0, NULL) \
ROW(starcoder, LEAD,          0,  BBPE_SET_SPACE,           BBPE_SET_L,               0,    1,  1,  BBPE_SET_REST,                BBPE_TAIL_NONE,           0, 0,  BBPE_SET_N,               0, 0, 0, 0, NULL) \
ROW(deepseek_v3, NONE,        0,  BBPE_SET_PREFIX_NO_PUNCT, BBPE_SET_LM,              0,    3,  0,  BBPE_SET_PS,                  BBPE_TAIL_NEWLINES,       1, 0,  BBPE_SET_N | BBPE_SET_CJK, 1, 0, 0, 0, NULL)
/* clang-format on */

/* The initialiser of a row. */
#define BBPE_SCHEME(contraction, ...) {BBPE_CONTRACTION_##contraction, __VA_ARGS__}

#endif
