/* The class of a character, as one bit of a set: what a split pattern asks of a character is always
 * "is it in this set", one AND.  The table is generated (uclass_generate.py) and immutable. */
#ifndef BBPE_TEXT_UCLASS_H
#define BBPE_TEXT_UCLASS_H

#include "text/uclass_table.h"
#include "base/utf8.h"

#define BBPE_SET(name) (1u << BBPE_CLASS_##name)

/* \p{Han} */
#define BBPE_SET_HAN                                                                                     \
    (BBPE_SET(HAN_LETTER) | BBPE_SET(HAN_RARE) | BBPE_SET(HAN_NUMBER) | BBPE_SET(HAN_SYMBOL) | BBPE_SET(HAN_MARK))
/* [一-龥぀-ゟ゠-ヿ], which DeepSeek's pattern cuts off */
#define BBPE_SET_CJK                                                                                     \
    (BBPE_SET(HAN_LETTER) | BBPE_SET(KANA_LETTER) | BBPE_SET(KANA_MARK) | BBPE_SET(KANA_SYMBOL) | BBPE_SET(KANA_OTHER))
/* letters that are neither upper nor lower case */
#define BBPE_SET_CASELESS                                                                                \
    (BBPE_SET(CASELESS) | BBPE_SET(HAN_LETTER) | BBPE_SET(HAN_RARE) | BBPE_SET(KANA_LETTER))
#define BBPE_SET_L (BBPE_SET(UPPER) | BBPE_SET(LOWER) | BBPE_SET_CASELESS)
#define BBPE_SET_M (BBPE_SET(MARK) | BBPE_SET(HAN_MARK) | BBPE_SET(KANA_MARK))
#define BBPE_SET_N (BBPE_SET(NUMBER) | BBPE_SET(HAN_NUMBER))
#define BBPE_SET_S (BBPE_SET(SPACE) | BBPE_SET(NEWLINE) | BBPE_SET(BLANK))
/* [\p{P}\p{S}] */
#define BBPE_SET_PS (BBPE_SET(PUNCT) | BBPE_SET(HAN_SYMBOL) | BBPE_SET(KANA_SYMBOL))
#define BBPE_UCLASS_COUNT 19
#define BBPE_SET_ALL ((1u << BBPE_UCLASS_COUNT) - 1)

/* The set that holds just the class of text[i]; the empty set at the end of the text. */
BBPE_INLINE uint32_t bbpe_uclass_at(const uint8_t *text, size_t i, size_t n, size_t *next) {
    if (i >= n) {
        *next = i;
        return 0;
    }
    if (BBPE_LIKELY(text[i] < 0x80)) {
        *next = i + 1;
        return 1u << bbpe_uclass_value[text[i]];
    }
    const uint32_t c = bbpe_utf8_decode(text, i, n, next);
    if (BBPE_UNLIKELY(c == BBPE_UTF8_INVALID)) return BBPE_SET(OTHER);
    const uint32_t block = bbpe_uclass_block[c / BBPE_UCLASS_BLOCK];
    return 1u << bbpe_uclass_value[block * BBPE_UCLASS_BLOCK + c % BBPE_UCLASS_BLOCK];
}

/* The end of a run of characters of a set that begin at text[i] and before `stop`, stop <= n. */
size_t bbpe_uclass_run(const uint8_t *text, size_t i, size_t stop, size_t n, uint32_t set);

#endif
