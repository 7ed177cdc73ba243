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

#define BBPE_JSON_LINES_BLOCK vector_block

#endif
