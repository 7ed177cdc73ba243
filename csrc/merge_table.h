/* The merges that are looked up millions of times: a pair of symbols -> the symbol they make, in eight bytes.
 *
 * Symbols are numbers below 2^21: a byte is its own number, and a merge makes a number that is the higher, the later
 * its turn; so the number is the priority too.  Most pairs that are asked for do not merge, which a set of bits
 * answers that stays in the cache: 128 KiB, and 1 MiB of slots, for 100,000 merges.  The struct owns both arrays;
 * read by any number of threads. */
#ifndef BBPE_MERGE_TABLE_H
#define BBPE_MERGE_TABLE_H

#include "common.h"

enum { BBPE_MERGE_TABLE_BITS = 21 };
#define BBPE_MERGE_TABLE_NONE UINT32_MAX

typedef struct {
    uint64_t *slots; /* left << 43 | right << 22 | made; 0: empty */
    uint64_t *bits;
    size_t mask;
    unsigned shift, bits_shift; /* a hash >> these is a place in either */
} bbpe_merge_table;

/* Room for so many merges. */
bbpe_status bbpe_merge_table_init(bbpe_merge_table *self, size_t merges);
void bbpe_merge_table_free(bbpe_merge_table *self);
/* Add a merge, for which there is room; of a pair that comes twice the last one counts. */
void bbpe_merge_table_add(bbpe_merge_table *self, uint32_t left, uint32_t right, uint32_t made);

BBPE_INLINE uint64_t bbpe_merge_table_hash(uint64_t pair) {
    return pair * 0x9E3779B97F4A7C15u;
}

/* Fetch what finding will look at. */
BBPE_INLINE void bbpe_merge_table_prefetch(const bbpe_merge_table *self, uint32_t left, uint32_t right) {
    const uint64_t hash = bbpe_merge_table_hash((uint64_t)left << BBPE_MERGE_TABLE_BITS | right);
    BBPE_PREFETCH(self->bits + (hash >> self->bits_shift) / 64);
    BBPE_PREFETCH(self->slots + (hash >> self->shift));
}

/* What two symbols make, or BBPE_MERGE_TABLE_NONE. */
BBPE_INLINE uint32_t bbpe_merge_table_find(const bbpe_merge_table *self, uint32_t left, uint32_t right) {
    const uint64_t pair = (uint64_t)left << BBPE_MERGE_TABLE_BITS | right, hash = bbpe_merge_table_hash(pair);
    const size_t bit = (size_t)(hash >> self->bits_shift);
    if (!(self->bits[bit / 64] >> (bit % 64) & 1)) return BBPE_MERGE_TABLE_NONE;
    for (size_t i = (size_t)(hash >> self->shift);; i = (i + 1) & self->mask) {
        const uint64_t slot = self->slots[i];
        if (slot >> (BBPE_MERGE_TABLE_BITS + 1) == pair && slot != 0)
            return (uint32_t)slot & (((uint32_t)2 << BBPE_MERGE_TABLE_BITS) - 1);
        if (slot == 0) return BBPE_MERGE_TABLE_NONE;
    }
}

#endif
