/* Parts of a text before rules are applied (words.h), 64 bytes at a time.
 *
 * Includer: is masks.h, whose primitives and positions_write these are made of. */
#ifndef BBPE_SPLIT_WORDS_MASKS_H
#define BBPE_SPLIT_WORDS_MASKS_H

#include "split/token.h"

/* The starts of a block of words, which begins with one (words.h). */
BBPE_INLINE uint64_t masks_words(const uint8_t *text, uint32_t words) {
    const bbpe_vector v = vector_load(text);
    const bbpe_byte_mask blank = vector_eq(v, ' ');
    const uint64_t high = mask_bits(vector_in(v, 0x80, 0xFF)), blanks = mask_bits(blank);
    const bbpe_byte_mask next = vector_in(v, words == BBPE_WORDS_BLANK ? '\n' : '\t', '\n');
    const uint64_t space = mask_bits(mask_or(mask_or(blank, next), vector_eq(v, '\r')));
    if (words == BBPE_WORDS_SPACE || words == BBPE_WORDS_BLANK) return space & ~(uint64_t)1;
    const uint64_t punctuation = mask_bits(mask_or(mask_or(vector_in(v, '!', '/'), vector_in(v, ':', '@')),
                                                     mask_or(vector_in(v, '[', '`'), vector_in(v, '{', '~'))));
    uint64_t starts = space | punctuation << 1 | (punctuation & ~(blanks << 1));
    if (!high) return starts & ~(uint64_t)1;
    const uint64_t tails = mask_bits(vector_in(v, 0x80, 0xBF));
    const uint64_t third = mask_bits(mask_or(vector_in(v, 0x80, 0x83), vector_in(v, 0x88, 0x91)));
    uint64_t ends = mask_bits(vector_eq(v, 0xE3)) & mask_bits(vector_eq(v, 0x80)) >> 1 & third >> 2;
    if (words == BBPE_WORDS_BERT_APART) {
        const uint64_t ideographs = mask_bits(vector_in(v, 0xE5, 0xE9));
        starts |= ideographs & ~(blanks << 1);
        ends |= ideographs & tails >> 1 & tails >> 2;
    }
    return (starts | ends << 3) & ~(uint64_t)1;
}

/* The starts among the last n < 64 bytes of a text, after which nothing may be read. */
BBPE_INLINE uint64_t masks_words_end(const uint8_t *text, size_t n, uint32_t words, bool *has_3byte) {
    uint8_t block[64] = {0};
    memcpy(block, text, n);
    *has_3byte |= masks_has_3byte(block);
    return masks_words(block, words) & (((uint64_t)1 << n) - 1);
}

BBPE_INLINE size_t masks_fill_words(const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit,
                                    bool *has_3byte, const bbpe_scheme scheme) {
    size_t count = 0;
    while (start < n && limit - count >= 64) {
        if (n - start < 64) {
            const uint64_t starts = masks_words_end(text + start, n - start, scheme.words, has_3byte);
            count += positions_write(starts, start, ends + count);
            ends[count++] = n;
            return count;
        }
        const uint64_t starts = masks_words(text + start, scheme.words);
        *has_3byte |= masks_has_3byte(text + start);
        if (BBPE_LIKELY(starts)) {
            count += positions_write(starts, start, ends + count);
            start += bbpe_bits_highest(starts);
        } else {
            ends[count++] = start = masks_step(text, start, n, has_3byte, scheme);
        }
    }
    return count;
}

#endif
