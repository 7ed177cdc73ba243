/* Pieces of 64 bytes of text at a time: characters, ends of pretokens and borders that part pieces are bits.
 *
 * Includer: defines what split/masks.h asks for, vector_and, and vector_look_up, giving of 64 bytes those that the low six
 * bits of a vector's bytes are the numbers of; and
 *
 *     ends_of(const bbpe_cutting *self, size_t *count)    ends of pretokens in the block after self->at, as bits; how many
 *                                                         they are goes to `*count`
 *     mark_parts(ends, pieces, borders, flag)              sets `flag` in the ends of pieces that are borders */
#ifndef BBPE_ENCODE_CUT_PIECES_BLOCKS_H
#define BBPE_ENCODE_CUT_PIECES_BLOCKS_H

#include "encode/cut_pieces.h"
#include "simd/positions.h"

enum { BLOCK = 64, BESIDE = 8 }; /* bytes, and how many of those before and after them are read */

typedef struct {
    const uint8_t *bytes;
    bbpe_cut_characters left, right; /* those that end where a byte begins, and those that begin there */
    uint64_t whole;                  /* ends of pretokens */
    size_t pretokens;                /* so many */
    bool is_last;                    /* what is after the last of them is not looked at */
} cut_block;

/* Bytes that are not the first of their character. */
BBPE_INLINE uint64_t tails(const uint8_t *bytes) {
    return mask_bits(vector_in(vector_load(bytes), 0x80, 0xBF));
}

BBPE_INLINE bbpe_cut_characters characters_of(const uint8_t *bytes) {
    const bbpe_vector v = vector_load(bytes);
    const uint64_t tailed = tails(bytes + 1) & tails(bytes + 2);
    return (bbpe_cut_characters){~mask_bits(vector_in(v, 0x80, 0xFF)), mask_bits(vector_in(v, 0xE0, 0xEF)) & tailed,
                                 mask_bits(vector_in(v, 0xF0, 0xF4)) & tailed & tails(bytes + 3)};
}

/* How many of the next pretokens there are up to one of no bytes. */
static size_t count_to_empty(const bbpe_cutting *self) {
    size_t k = 1;
    while (self->end[k] != self->end[k - 1]) k++;
    return k;
}

/* The bytes at self->at with those beside them, from `copy` where the text has fewer. */
BBPE_INLINE const uint8_t *bytes_of(const bbpe_cutting *self, uint8_t copy[BESIDE + BLOCK + BESIDE]) {
    const size_t left = self->n - self->at;
    if (BBPE_LIKELY(self->at >= BESIDE && left >= BLOCK + BESIDE)) return self->text + self->at;
    const size_t before = self->at < BESIDE ? self->at : BESIDE, after = left < BLOCK + BESIDE ? left : BLOCK + BESIDE;
    memset(copy, 0, BESIDE + BLOCK + BESIDE);
    memcpy(copy + BESIDE - before, self->text + self->at - before, before + after);
    return copy + BESIDE;
}

/* The block at self->at, whose next pretoken ends after that. */
BBPE_INLINE cut_block block_of(const bbpe_cutting *self, uint8_t copy[BESIDE + BLOCK + BESIDE]) {
    cut_block block = {.bytes = bytes_of(self, copy)};
    const bbpe_cut_characters *const before = &self->before;
    block.right = characters_of(block.bytes);
    block.left = (bbpe_cut_characters){block.right.one << 1 | before->one >> 63, block.right.three << 3 | before->three >> 61,
                                       block.right.four << 4 | before->four >> 60};
    block.whole = ends_of(self, &block.pretokens);
    const bool has_empty = block.pretokens != bbpe_bits_count(block.whole);
    if (BBPE_UNLIKELY(has_empty)) block.pretokens = count_to_empty(self);
    block.is_last = has_empty || self->end + block.pretokens == self->last;
    if (has_empty) block.whole &= UINT64_MAX >> (63 - (self->end[block.pretokens - 1] - self->at));
    return block;
}

/* Borders between characters of three bytes that a token may cross. */
BBPE_INLINE uint64_t sieve(const bbpe_cut_points *cuts, const uint8_t *bytes) {
    bbpe_vector bits = vector_look_up(cuts->sieve[0], vector_load(bytes - 2));
#pragma GCC unroll 4
    for (int k = 1; k < BBPE_CUT_POINTS_SIEVE; k++)
        bits = vector_and(bits, vector_look_up(cuts->sieve[k], vector_load(bytes + k - 2)));
    return ~mask_bits(vector_eq(bits, 0));
}

BBPE_INLINE bbpe_character character_of(const uint8_t *bytes, uint64_t is_three, uint64_t is_four, size_t i, bool ends) {
    bbpe_character c = {0, is_three >> i & 1 ? 3 : is_four >> i & 1 ? 4 : 1};
    memcpy(&c.bytes, bytes + i - (ends ? c.length : 0), 4);
    c.bytes &= UINT32_MAX >> (32 - 8 * c.length);
    return c;
}

/* Borders that are looked at: not where a piece begins, nor after the last pretoken, nor after a byte that one begins with.
 * That is a blank or a bracket, which a token often has with the character after it: Chinese 24.8 instead of 26.2 ms. */
BBPE_INLINE uint64_t between_of(const bbpe_cutting *self, const cut_block *block) {
    const uint64_t first = block->whole << 1 | (uint64_t)(self->start == self->at) << 1 | (self->start + 1 == self->at);
    uint64_t between = ~block->whole & ~(first & block->left.one & block->right.three);
    if (block->is_last) between &= UINT64_MAX >> (63 - bbpe_bits_highest(block->whole));
    return between & (UINT64_MAX << (self->start == self->at));
}

/* Of the borders in `between` those where a piece ends. */
BBPE_INLINE uint64_t parted(const bbpe_cut_points *cuts, const cut_block *block, uint64_t between) {
    const bbpe_cut_characters left = block->left, right = block->right;
    const uint64_t threes = between & left.three & right.three, unsure = threes ? threes & sieve(cuts, block->bytes) : 0;
    const uint64_t left_3byte = left.three | left.four, right_3byte = right.three | right.four;
    const uint64_t others = between & ((left_3byte & (right_3byte | right.one)) | (left.one & right_3byte)) & ~threes;
    uint64_t bits = threes & ~unsure;
    for (uint64_t m = unsure; m; m &= m - 1) {
        const unsigned i = bbpe_bits_lowest(m);
        uint64_t pair;
        memcpy(&pair, block->bytes + i - 3, sizeof pair);
        bits |= (uint64_t)bbpe_cut_points_between_3byte(cuts, pair) << i;
    }
    for (uint64_t m = others; m; m &= m - 1) {
        const unsigned i = bbpe_bits_lowest(m);
        const bbpe_character before = character_of(block->bytes, left.three, left.four, i, true);
        const bbpe_character after = character_of(block->bytes, right.three, right.four, i, false);
        bits |= (uint64_t)bbpe_cut_points_between(cuts, before, after) << i;
    }
    return bits;
}

BBPE_INLINE void go_on(bbpe_cutting *self, const cut_block *block, uint64_t pieces) {
    self->end += block->pretokens;
    if (pieces) self->start = self->at + bbpe_bits_highest(pieces);
    self->before = block->is_last ? (bbpe_cut_characters){0, 0, 0} : block->right;
    self->at = block->is_last ? self->end[-1] : self->at + BLOCK;
}

BBPE_INLINE size_t cut_blocks(const bbpe_cut_points *cut_points, bbpe_cutting *cutting, size_t part, size_t *ends,
                              size_t limit) {
    const bbpe_cut_points cuts = *cut_points; /* in registers, as what is written through `ends` might be any of it */
    bbpe_cutting self = *cutting;
    uint8_t copy[BESIDE + BLOCK + BESIDE];
    size_t count = 0;
    BBPE_ASSERT(limit >= BLOCK);
    while (self.end < self.last) {
        if (*self.end == self.at) { /* a pretoken of no bytes, or one that ends where a block does */
            if (count == limit) break;
            ends[count++] = self.start = *self.end++;
            continue;
        }
        if (limit - count < BLOCK) break;
        const cut_block block = block_of(&self, copy);
        const uint64_t borders = parted(&cuts, &block, between_of(&self, &block)), pieces = block.whole | borders;
        const size_t found = positions_write(pieces, self.at, ends + count);
        if (part) mark_parts(ends + count, pieces, borders, part);
        count += found;
        go_on(&self, &block, pieces);
    }
    *cutting = self;
    return count;
}

#endif
