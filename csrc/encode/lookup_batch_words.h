/* Four keys a step.
 *
 * Includer: has words (simd/words_avx2.h, simd/words_neon.h). */
#ifndef BBPE_ENCODE_LOOKUP_BATCH_WORDS_H
#define BBPE_ENCODE_LOOKUP_BATCH_WORDS_H

#include "encode/lookup_batch.h"

enum { AT_ONCE = 4 }; /* pieces */

/* A block and where it goes, and what else stays in registers. */
typedef struct {
    bbpe_lookup_batch *batch;
    const bbpe_hot_cache *hot;
    const bbpe_pretokens *block;
    bbpe_words entries, entry_mask; /* in each word */
} filling;

/* The keys of two pieces; each half of `marks` has the length of one, with BBPE_CACHE_PART. */
BBPE_INLINE bbpe_words keys_of(const uint8_t *first, const uint8_t *second, bbpe_words marks, bool has_parts) {
    const bbpe_words iota = words_pair(0x0706050403020100, 0x0F0E0D0C0B0A0908), top = words_pair(0, (uint64_t)0xFF << 56);
    /* two halves of 16 bytes, one a piece: its mark in each byte */
    const bbpe_words mark = words_spread(marks);
    /* its length in each byte */
    const bbpe_words length = has_parts ? words_and(mark, words_each_byte(BBPE_CACHE_PART - 1)) : mark;
    /* text[0..n) of each, then zeros */
    const bbpe_words bytes = words_and(words_more_bytes(length, iota), words_load_two(first, second));
    /* the mark in byte 15, and the salt over all */
    const bbpe_words salted = words_xor(words_and(mark, top), words_pair(BBPE_HASH_SALT_LO, BBPE_HASH_SALT_HI));
    return words_xor(bytes, salted);
}

/* The lower 32 bits of bbpe_hash_salted: of a product of 128 bits its lowest and its third 32. */
BBPE_INLINE bbpe_words hashes_of(bbpe_words a, bbpe_words b) {
    const bbpe_words a_high = words_right(a, 32), b_high = words_right(b, 32), lowest = words_multiply(a, b);
    const bbpe_words one = words_add(words_multiply(a_high, b), words_right(lowest, 32));
    const bbpe_words low_one = words_and(one, words_each(UINT32_MAX));
    const bbpe_words other = words_add(words_multiply(a, b_high), low_one);
    const bbpe_words carried = words_add(words_right(one, 32), words_right(other, 32));
    return words_xor(lowest, words_add(words_multiply(a_high, b_high), carried));
}

/* Not in the loop of four, which has the registers. */
static BBPE_NOINLINE void put_alone(const filling *self, size_t from, size_t to, bool has_parts) {
    /* two loops, as in lookup_batch.c */
    if (has_parts) bbpe_lookup_batch_put(self->batch, self->hot, self->block, from, to, true);
    else bbpe_lookup_batch_put(self->batch, self->hot, self->block, from, to, false);
}

/* The marked ones of four pieces, which are not short. */
static BBPE_NOINLINE void put_longs(const filling *self, size_t first, unsigned longs, bool has_parts) {
    for (; longs; longs &= longs - 1) {
        const size_t i = first + bbpe_bits_lowest(longs);
        bbpe_lookup_batch_put(self->batch, self->hot, self->block, i, i + 1, has_parts);
    }
}

/* Four pieces from `first` on, not the first ones of the block. */
BBPE_INLINE void put_four(const filling *self, size_t first, const size_t *ends, const uint8_t *text, bool has_parts) {
    const size_t bits = has_parts ? ~BBPE_CUT_PART : SIZE_MAX;
    const bbpe_words parts = words_each(BBPE_CUT_PART), all = words_each(bits);
    /* four words of 64 bits, one a piece: [e0 e1 e2 e3] with the flag of a part on top */
    const bbpe_words end = words_load(ends);
    /* [s0 s1 s2 s3], the ends of the pieces before */
    const bbpe_words start = words_load(ends - 1);
    /* [e - s], with what is left of the flags, */
    const bbpe_words differ = words_sub(end, start);
    /* and without: [n0 n1 n2 n3] */
    const bbpe_words lengths = has_parts ? words_and(differ, all) : differ;
    /* [0x80 or 0]: BBPE_CACHE_PART if the piece begins or ends within a pretoken */
    const bbpe_words flags = words_right(words_and(words_or(end, start), parts), 56);
    /* [m0 m1 m2 m3]: the top byte of each key */
    const bbpe_words marks = has_parts ? words_or(lengths, flags) : lengths;
    const uint8_t *const at[] = {text + (ends[-1] & bits), text + (ends[0] & bits), text + (ends[1] & bits),
                                 text + (ends[2] & bits)};
    /* keys: [lo0 hi0 lo1 hi1], of the marks [m0 m0 m1 m1] */
    const bbpe_words k0 = keys_of(at[0], at[1], words_first_twice(marks), has_parts);
    /* [lo2 hi2 lo3 hi3], of the marks [m2 m2 m3 m3] */
    const bbpe_words k1 = keys_of(at[2], at[3], words_last_twice(marks), has_parts);
    /* of the words lo and hi of all: hashes, in an order of their own */
    const bbpe_words hashes = hashes_of(words_evens(k0, k1), words_odds(k0, k1));
    /* addresses, in that order */
    const bbpe_words primary = words_add(words_and(hashes, self->entry_mask), self->entries);
    words_store(self->batch->keys + first, k0);
    words_store(self->batch->keys + first + 2, k1);
    words_store(self->batch->primary + first, words_in_order(primary));
    const unsigned longs = words_signs(words_more(lengths, words_each(BBPE_CACHE_SHORT)));
    if (BBPE_UNLIKELY(longs)) put_longs(self, first, longs, has_parts);
}

BBPE_INLINE void fill_batch(bbpe_lookup_batch *batch, const bbpe_hot_cache *hot, const bbpe_pretokens *block, bool has_parts) {
    const filling self = {batch, hot, block, words_each((uint64_t)(uintptr_t)hot->entries), words_each(hot->entry_mask)};
    /* in registers, as what is written to the batch might be any of these */
    const uint8_t *const text = block->text;
    const size_t *const ends = block->ends;
    const size_t count = block->count, whole = count - count % AT_ONCE;
    const bbpe_cache_entry *const *const primary = batch->primary;
    put_alone(&self, 0, whole > 0 ? AT_ONCE : count, has_parts);
    if (whole == 0) return;
    for (size_t i = AT_ONCE; i < whole; i += AT_ONCE) {
        put_four(&self, i, ends + i, text, has_parts);
        /* the four before, whose addresses no longer wait to be stored: English 2 to 3 % less time */
        for (size_t k = i - AT_ONCE; k < i; k++) BBPE_PREFETCH(primary[k]);
    }
    for (size_t k = whole - AT_ONCE; k < whole; k++) BBPE_PREFETCH(primary[k]);
    put_alone(&self, whole, count, has_parts);
}

static BBPE_NOINLINE void fill_parts(bbpe_lookup_batch *self, const bbpe_hot_cache *hot, const bbpe_pretokens *block) {
    fill_batch(self, hot, block, true);
}

static void fill(bbpe_lookup_batch *self, const bbpe_hot_cache *hot, const bbpe_pretokens *block, bool has_parts) {
    if (has_parts) fill_parts(self, hot, block);
    else fill_batch(self, hot, block, false);
}

#endif
