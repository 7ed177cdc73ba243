/* Up to 15 bytes as two words, zero-padded, with their number in the top byte: a string that is its own key, compared by two
 * instructions and hashed by one multiplication. */
#ifndef BBPE_TABLES_SHORT_KEY_H
#define BBPE_TABLES_SHORT_KEY_H

#include "base/hash.h"

enum { BBPE_SHORT_KEY = 15 }; /* bytes */

typedef struct {
    uint64_t lo, hi;
} bbpe_short_key;

/* By length: the bits of 16 bytes that are the string's, and the two words that salt a key of this length. */
typedef struct {
    _Alignas(32) bbpe_short_key kept;
    bbpe_short_key salt;
} bbpe_short_key_row;

extern BBPE_HIDDEN const bbpe_short_key_row bbpe_short_key_rows[BBPE_SHORT_KEY + 1];

/* The key of the first n of 16 bytes in two words. */
BBPE_INLINE bbpe_short_key bbpe_short_key_cut(uint64_t lo, uint64_t hi, size_t n) {
    BBPE_ASSERT(n <= BBPE_SHORT_KEY);
    const bbpe_short_key kept = bbpe_short_key_rows[n].kept;
    return (bbpe_short_key){lo & kept.lo, (hi & kept.hi) | (uint64_t)n << 56};
}

/* The key of n bytes, of which no more may be read. */
BBPE_INLINE bbpe_short_key bbpe_short_key_of(const uint8_t *bytes, size_t n) {
    bbpe_short_key key = {0, 0};
    BBPE_ASSERT(n <= BBPE_SHORT_KEY);
    if (n) memcpy(&key, bytes, n);
    key.hi |= (uint64_t)n << 56;
    return key;
}

#endif
