/* Blocks by vectors, of which none looks at a byte again.
 *
 * Includer: has vectors (simd/) with vector_look_up, vector_and, and vector_has. */
#ifndef BBPE_TEXT_SEARCH_BLOCKS_H
#define BBPE_TEXT_SEARCH_BLOCKS_H

#include "text/search.h"

BBPE_INLINE uint64_t found_in(bbpe_vector classes) {
    return mask_bits(vector_has(classes, 0xFF));
}

/* The bits of the block at s; `*marks`: those that are only of marks which normal forms sort. */
BBPE_INLINE uint64_t search_block(const bbpe_character_set *set, const uint8_t *s, uint64_t *marks) {
    const bbpe_vector last = vector_load(s);
    uint64_t bits = 0;
    *marks = 0;
    if (set->has_controls) bits = mask_bits(mask_or(vector_in(last, 0, 0x1F), vector_eq(last, 0x7F)));
    if (mask_bits(vector_in(last, 0x80, 0xFF)) == 0) return bits;
    const bbpe_vector before = vector_load(s - 1), first = vector_load(s - 2);
    const bbpe_byte_mask tails = vector_in(last, 0x80, 0xBF);
    const uint64_t two = mask_bits(mask_and(tails, vector_in(before, 0xC2, 0xDF)));
    const uint64_t e0 = mask_bits(mask_and(tails, vector_eq(first, 0xE0)));
    const uint64_t three = mask_bits(mask_and(tails, vector_in(first, 0xE1, 0xEF)));
    const uint64_t four = mask_bits(mask_and(tails, vector_in(before, 0xF0, 0xF7)));
    if (two) bits |= two & found_in(vector_and(vector_look_up(set->lead, before), vector_look_up(set->last2, last)));
    if (e0) {
        const bbpe_vector classes = vector_and(vector_look_up(set->second_e0, before), vector_look_up(set->last_e0, last));
        const uint64_t found = e0 & found_in(classes);
        *marks = found & ~mask_bits(vector_has(classes, set->firm_e0));
        bits |= found;
    }
    if (three) {
        const bbpe_vector page = vector_and(vector_look_up(set->lead, first), vector_look_up(set->second3, before));
        bits |= three & found_in(vector_and(page, vector_look_up(set->last3, last)));
    }
    if (four) bits |= four & found_in(vector_and(vector_look_up(set->lead, before), vector_look_up(set->second4, last)));
    return bits;
}

/* The marks that have no bit close before them.  A character's bit is at most five bytes after that of the one before it. */
BBPE_INLINE uint64_t alone_of(uint64_t bits, uint64_t marks, uint64_t bits_before) {
    uint64_t close = bits | bits << 1; /* bits up to one byte before; then up to three, and from one to five */
    close |= close << 2;
    close = close << 1 | close << 2 | (bits_before >> 59 ? 0x1F : 0);
    return marks & ~close;
}

BBPE_INLINE uint64_t search_blocks(const bbpe_character_set *set, const uint8_t *text, size_t *at, size_t end) {
    size_t i = *at;
    uint64_t bits = 0, marks, near = ~(uint64_t)0; /* near: bits of the block before */
    for (; i < end; i += BBPE_SEARCH_BLOCK) {
        const uint64_t all = search_block(set, text + i, &marks);
        bits = all & ~alone_of(all, marks, near);
        if (bits) break;
        near = all;
    }
    *at = i;
    return bits;
}

#endif
