/* Bytes that repeat those before them. */
#ifndef BBPE_BASE_REPEATED_H
#define BBPE_BASE_REPEATED_H

#include <string.h>

#include "base/bits.h"

BBPE_INLINE uint64_t bbpe_repeated_word(const uint8_t *text) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

/* The end of the bytes from `start` on that are each the one `unit` bytes before them; the first `unit` bytes are. */
BBPE_INLINE size_t bbpe_repeated_end(const uint8_t *text, size_t start, size_t n, size_t unit) {
    size_t i = start + unit;
    for (; i + sizeof(uint64_t) <= n; i += sizeof(uint64_t)) {
        const uint64_t differ = bbpe_repeated_word(text + i) ^ bbpe_repeated_word(text + i - unit);
        if (differ) return i + bbpe_bits_lowest(differ) / 8;
    }
    while (i < n && text[i] == text[i - unit]) i++;
    return i;
}

#endif
