/* The merges that are looked up millions of times: a pair of symbols -> the symbol they make, in eight bytes.
 *
 * Symbols are numbers below 2^21 - 1: a byte is its own number, and a merge makes a number that is the higher, the later
 * its turn; so the number is the priority too.  Of pairs that do not merge, nearly all are refused by a Bloom filter that
 * stays in the cache, two bits of one word each: 128 KiB, and 1 MiB of slots, for 100,000 merges.  Four slots are a group
 * and compared at once, as a search that stops at one of them is a branch that cannot be predicted.  The struct owns both
 * arrays; read by any number of threads. */
#ifndef BBPE_MODELS_BPE_MERGE_TABLE_H
#define BBPE_MODELS_BPE_MERGE_TABLE_H

#include "base/hash.h"
#include "tables/image.h"

enum { BBPE_MERGE_TABLE_BITS = 21, BBPE_MERGE_TABLE_WAYS = 4 };
#define BBPE_MERGE_TABLE_NONE UINT32_MAX
#define BBPE_MERGE_TABLE_EMPTY UINT64_MAX

typedef struct {
    uint64_t *slots; /* left << 43 | right << 22 | made; or BBPE_MERGE_TABLE_EMPTY, and then so are the rest of the group */
    uint64_t *bloom;
    size_t mask;                /* of the number of a group's first slot */
    unsigned shift, bloom_shift; /* a hash >> these is a place in either */
} bbpe_merge_table;

/* Room for so many merges. */
bbpe_status bbpe_merge_table_init(bbpe_merge_table *self, size_t merges);
void bbpe_merge_table_free(bbpe_merge_table *self);
/* Measure, write or open a table; an opened one takes no more merges. */
void bbpe_merge_table_visit(bbpe_merge_table *self, bbpe_image *image);
/* Add a merge, for which there is room; of a pair that comes twice the last one counts. */
void bbpe_merge_table_add(bbpe_merge_table *self, uint32_t left, uint32_t right, uint32_t made);

BBPE_INLINE uint64_t bbpe_merge_table_hash(uint64_t pair) {
    return bbpe_hash_fibonacci(pair);
}

/* The two bits of a pair, which are in one word: its number is hash >> bloom_shift >> 6. */
BBPE_INLINE uint64_t bbpe_merge_table_bloom_bits(const bbpe_merge_table *self, uint64_t hash) {
    return (uint64_t)1 << (hash >> self->bloom_shift & 63) | (uint64_t)1 << (hash >> (self->bloom_shift - 6) & 63);
}

/* The first slot of the group where a pair is looked for first. */
BBPE_INLINE size_t bbpe_merge_table_home(const bbpe_merge_table *self, uint64_t hash) {
    return (size_t)(hash >> self->shift) & self->mask;
}

/* Fetch the slots where two symbols are looked for first. */
BBPE_INLINE void bbpe_merge_table_prefetch(const bbpe_merge_table *self, uint32_t left, uint32_t right) {
    const uint64_t hash = bbpe_merge_table_hash((uint64_t)left << BBPE_MERGE_TABLE_BITS | right);
    BBPE_PREFETCH(self->slots + bbpe_merge_table_home(self, hash));
}

BBPE_INLINE uint64_t bbpe_merge_table_least(uint64_t a, uint64_t b) {
    return b < a ? b : a;
}

/* What the two symbols of a key make, the pair << 22, whose slots are looked for from `home` on. */
BBPE_INLINE uint32_t bbpe_merge_table_find_at(const bbpe_merge_table *self, uint64_t key, size_t home) {
    for (size_t i = home;; i = (i + BBPE_MERGE_TABLE_WAYS) & self->mask) {
        const uint64_t *slots = self->slots + i;
        /* of the slot that has the pair this leaves what it makes, which is less than what it leaves of any other */
        const uint64_t first = bbpe_merge_table_least(slots[0] ^ key, slots[1] ^ key);
        const uint64_t made = bbpe_merge_table_least(first, bbpe_merge_table_least(slots[2] ^ key, slots[3] ^ key));
        if (BBPE_LIKELY(made < (uint64_t)2 << BBPE_MERGE_TABLE_BITS)) return (uint32_t)made;
        if (slots[BBPE_MERGE_TABLE_WAYS - 1] == BBPE_MERGE_TABLE_EMPTY) return BBPE_MERGE_TABLE_NONE;
    }
}

/* Whether the Bloom filter has a pair. */
BBPE_INLINE bool bbpe_merge_table_may(const bbpe_merge_table *self, uint64_t hash) {
    const uint64_t both = bbpe_merge_table_bloom_bits(self, hash);
    return (self->bloom[hash >> self->bloom_shift >> 6] & both) == both;
}

/* What the two symbols of a pair make; the Bloom filter is not asked. */
BBPE_INLINE uint32_t bbpe_merge_table_find_pair(const bbpe_merge_table *self, uint64_t pair) {
    const size_t home = bbpe_merge_table_home(self, bbpe_merge_table_hash(pair));
    return bbpe_merge_table_find_at(self, pair << (BBPE_MERGE_TABLE_BITS + 1), home);
}

/* What two symbols make, or BBPE_MERGE_TABLE_NONE. */
BBPE_INLINE uint32_t bbpe_merge_table_find(const bbpe_merge_table *self, uint32_t left, uint32_t right) {
    const uint64_t pair = (uint64_t)left << BBPE_MERGE_TABLE_BITS | right;
    if (!bbpe_merge_table_may(self, bbpe_merge_table_hash(pair))) return BBPE_MERGE_TABLE_NONE;
    return bbpe_merge_table_find_pair(self, pair);
}

#endif
