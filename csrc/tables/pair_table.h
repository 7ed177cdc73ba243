/* Pairs of ids -> a 64-bit value: the merges of a model, the pairs of a trainer.
 *
 * Open addressing with linear probing in 16-byte slots, at most half full, so a miss costs one cache
 * line in nearly every case.  Keys are never removed.  Not safe against a concurrent writer; any number
 * of threads may read.  The struct owns `slots`. */
#ifndef BBPE_TABLES_PAIR_TABLE_H
#define BBPE_TABLES_PAIR_TABLE_H

#include "base/hash.h"
#include "tables/image.h"

#define BBPE_PAIR_NONE UINT64_MAX /* the key (2^32-1, 2^32-1), which no pair of ids is */

typedef struct {
    uint64_t key, value;
} bbpe_pair_slot;

typedef struct {
    bbpe_pair_slot *slots;
    size_t mask, count;
} bbpe_pair_table;

/* An empty table with room for `expected` keys before it grows. */
bbpe_status bbpe_pair_table_init(bbpe_pair_table *self, size_t expected);
void bbpe_pair_table_free(bbpe_pair_table *self);
/* Room for `more` further keys: after it that many inserts cannot fail. */
bbpe_status bbpe_pair_table_reserve(bbpe_pair_table *self, size_t more);
/* Measure, write or open a table; an opened one takes no more keys. */
void bbpe_pair_table_visit(bbpe_pair_table *self, bbpe_image *image);

BBPE_INLINE uint64_t bbpe_pair_key(uint32_t left, uint32_t right) {
    return (uint64_t)left << 32 | right;
}

/* Fetch the slot where a key is looked for first. */
BBPE_INLINE void bbpe_pair_table_prefetch(const bbpe_pair_table *self, uint64_t key) {
    BBPE_PREFETCH(self->slots + (bbpe_hash_u64(key) & self->mask));
}

/* The value of a key, or NULL. */
BBPE_INLINE uint64_t *bbpe_pair_table_find(const bbpe_pair_table *self, uint64_t key) {
    for (size_t i = bbpe_hash_u64(key) & self->mask;; i = (i + 1) & self->mask) {
        bbpe_pair_slot *slot = self->slots + i;
        if (slot->key == key) return &slot->value;
        if (slot->key == BBPE_PAIR_NONE) return NULL;
    }
}

/* Set a key, new or not.  The room must have been reserved. */
BBPE_INLINE void bbpe_pair_table_set(bbpe_pair_table *self, uint64_t key, uint64_t value) {
    size_t i = bbpe_hash_u64(key) & self->mask;
    while (self->slots[i].key != key && self->slots[i].key != BBPE_PAIR_NONE) i = (i + 1) & self->mask;
    self->count += self->slots[i].key == BBPE_PAIR_NONE;
    self->slots[i].key = key;
    self->slots[i].value = value;
}

#endif
