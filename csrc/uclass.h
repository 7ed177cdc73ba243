/* The class of a character, as one bit of a set: what a split pattern asks of a character is always
 * "is it in this set", one AND.  The table is generated (uclass_generate.py) and immutable. */
#ifndef BBPE_UCLASS_H
#define BBPE_UCLASS_H

#include "uclass_table.h"
#include "utf8.h"

#define BBPE_SET(name) (1u << BBPE_CLASS_##name)

#define BBPE_SET_HAN (BBPE_SET(HAN_LETTER) | BBPE_SET(HAN_NUMBER) | BBPE_SET(HAN_SYMBOL))
#define BBPE_SET_L (BBPE_SET(UPPER) | BBPE_SET(LOWER) | BBPE_SET(CASELESS) | BBPE_SET(HAN_LETTER))
#define BBPE_SET_N (BBPE_SET(NUMBER) | BBPE_SET(HAN_NUMBER))
#define BBPE_SET_S (BBPE_SET(SPACE) | BBPE_SET(NEWLINE) | BBPE_SET(BLANK))
#define BBPE_SET_ALL ((1u << 13) - 1)
/* [^\s\p{L}\p{N}] */
#define BBPE_SET_REST (BBPE_SET_ALL & ~(BBPE_SET_S | BBPE_SET_L | BBPE_SET_N))

/* The set that holds just the class of text[i]; the empty set at the end of the text. */
BBPE_INLINE uint32_t bbpe_uclass_at(const uint8_t *text, size_t i, size_t n, size_t *next) {
    if (i >= n) {
        *next = i;
        return 0;
    }
    const uint32_t c = bbpe_utf8_decode(text, i, n, next);
    if (BBPE_UNLIKELY(c == BBPE_UTF8_INVALID)) return BBPE_SET(OTHER);
    const uint32_t block = bbpe_uclass_block[c / BBPE_UCLASS_BLOCK];
    return 1u << bbpe_uclass_value[block * BBPE_UCLASS_BLOCK + c % BBPE_UCLASS_BLOCK];
}

#endif
