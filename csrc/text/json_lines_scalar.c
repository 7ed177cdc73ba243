/* Without vectors: eight bytes at once. */
#include "base/common.h"

/* Bits of the bytes that are zero, of which the lowest one is right. */
BBPE_INLINE uint64_t zeros_of(uint64_t word) {
    return (word - 0x0101010101010101u) & ~word & 0x8080808080808080u;
}

BBPE_INLINE size_t scalar_block(const uint8_t *text, size_t left, size_t *plain) {
    const uint64_t each = 0x0101010101010101u;
    uint64_t word;
    if (left < 8) return 0;
    memcpy(&word, text, 8);
    /* a byte below a blank borrows; one above ASCII is found by itself */
    const uint64_t found = zeros_of(word ^ each * '"') | zeros_of(word ^ each * '\\') | (word - each * ' ') | word;
    const uint64_t bits = found & 0x8080808080808080u;
    *plain = bits ? bbpe_bits_lowest(bits) / 8 : 8;
    return 8;
}

/* Left to the code that looks at each character. */
BBPE_INLINE size_t scalar_characters(const uint8_t *text, size_t left, bool *are_wide) {
    (void)text;
    (void)left;
    *are_wide = false;
    return 0;
}

#define BBPE_JSON_LINES_BLOCK scalar_block
#define BBPE_JSON_LINES_CHARACTERS scalar_characters
#define BBPE_JSON_LINES_SELECT bbpe_json_lines_scalar
#include "text/json_lines_loop.h"
