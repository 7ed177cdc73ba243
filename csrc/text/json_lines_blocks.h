/* 64 bytes at once.
 *
 * Includer: has vectors (simd/). */
#ifndef BBPE_TEXT_JSON_LINES_BLOCKS_H
#define BBPE_TEXT_JSON_LINES_BLOCKS_H

BBPE_INLINE size_t vector_block(const uint8_t *text, size_t left, size_t *plain) {
    if (left < 64) return 0;
    const bbpe_vector bytes = vector_load(text);
    const bbpe_byte_mask signs = mask_or(vector_eq(bytes, '"'), vector_eq(bytes, '\\'));
    const uint64_t bits = mask_bits(mask_or(mask_or(signs, vector_in(bytes, 0, 0x1F)), vector_in(bytes, 0x80, 0xFF)));
    *plain = bits ? bbpe_bits_lowest(bits) : 64;
    return 64;
}

/* The bytes of whole characters of up to three bytes; a longer one, a sign and what is not UTF-8 end them. */
BBPE_INLINE size_t vector_characters(const uint8_t *text, size_t left, bool *are_wide) {
    if (left < 64) return 0;
    const bbpe_vector bytes = vector_load(text);
    const bbpe_byte_mask signs = mask_or(vector_eq(bytes, '"'), vector_eq(bytes, '\\'));
    const uint64_t wide = mask_bits(vector_in(bytes, 0x80, 0xFF)), low = mask_bits(vector_in(bytes, 0x80, 0x9F));
    const uint64_t high = mask_bits(vector_in(bytes, 0xA0, 0xBF)), two = mask_bits(vector_in(bytes, 0xC2, 0xDF));
    const uint64_t three = mask_bits(vector_in(bytes, 0xE0, 0xEF));
    const uint64_t second = (two | three) << 1, third = three << 2;
    /* after E0 a lower byte is too long a form, and after ED a higher one half a pair of surrogates */
    const uint64_t wrong = (mask_bits(vector_eq(bytes, 0xE0)) << 1 & ~high) | (mask_bits(vector_eq(bytes, 0xED)) << 1 & ~low);
    const uint64_t ends = mask_bits(mask_or(signs, vector_in(bytes, 0, 0x1F))) | wrong | ((low | high) ^ (second | third)) |
                          (wide & ~(low | high | two | three));
    const size_t n = ends ? bbpe_bits_lowest(ends) : 64;
    *are_wide = wide != 0;
    /* a character that is cut off there is not whole */
    if (n >= 1 && (two | three) >> (n - 1) & 1) return n - 1;
    if (n >= 2 && three >> (n - 2) & 1) return n - 2;
    return n;
}

#define BBPE_JSON_LINES_BLOCK vector_block
#define BBPE_JSON_LINES_CHARACTERS vector_characters

#endif
