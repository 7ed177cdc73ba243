/* Pairs of ids -> how often they occur now, and where they were when they came into being.
 *
 * Open addressing with linear probing, at most half full; counts are next to the keys, lists in an array of their own,
 * so that lowering a count touches one line.  A count only falls.  A pair whose count has fallen below what still
 * matters is dropped, with its list, when the table grows; slots move then and at no other time.  The struct owns its
 * arrays and the lists; zeroed, it may be freed. */
#ifndef BBPE_TRAIN_PAIR_COUNTS_H
#define BBPE_TRAIN_PAIR_COUNTS_H

#include "tables/pair_table.h"
#include "train/position_arena.h"

#define BBPE_PAIR_COUNTS_NONE SIZE_MAX

typedef struct {
    uint64_t key;
    int64_t count;
} bbpe_pair_count;

typedef struct {
    uint32_t *positions; /* of the left symbol, ascending */
    uint32_t born;       /* how many there are */
    uint32_t first;      /* the first one that may still be valid */
} bbpe_pair_list;

typedef struct {
    bbpe_pair_count *slots;
    bbpe_pair_list *lists;
    size_t mask, count;
    unsigned shift;
    bbpe_position_arena arena;
} bbpe_pair_counts;

/* An empty table, whatever it held, with room for `expected` pairs. */
bbpe_status bbpe_pair_counts_init(bbpe_pair_counts *self, size_t expected);
void bbpe_pair_counts_free(bbpe_pair_counts *self);

/* Room for `more` further pairs; those with a count below `least` may be dropped. */
bbpe_status bbpe_pair_counts_reserve(bbpe_pair_counts *self, size_t more, int64_t least);

/* Drop the pairs with a count below `least`. */
bbpe_status bbpe_pair_counts_compact(bbpe_pair_counts *self, int64_t least);

/* The slot where the search for a key begins: one multiplication, of which the upper bits are good. */
BBPE_INLINE size_t bbpe_pair_counts_home(const bbpe_pair_counts *self, uint64_t key) {
    return (size_t)(bbpe_hash_fibonacci(key ^ key >> 29) >> self->shift);
}

BBPE_INLINE void bbpe_pair_counts_prefetch(const bbpe_pair_counts *self, uint64_t key) {
    BBPE_PREFETCH(self->slots + bbpe_pair_counts_home(self, key));
}

/* The slot of a key, or BBPE_PAIR_COUNTS_NONE. */
BBPE_INLINE size_t bbpe_pair_counts_find(const bbpe_pair_counts *self, uint64_t key) {
    for (size_t i = bbpe_pair_counts_home(self, key);; i = (i + 1) & self->mask) {
        if (self->slots[i].key == key) return i;
        if (self->slots[i].key == BBPE_PAIR_NONE) return BBPE_PAIR_COUNTS_NONE;
    }
}

/* The slot of a key, which is added with a count of 0 and no list if it is new.  The room must have been reserved. */
BBPE_INLINE size_t bbpe_pair_counts_add(bbpe_pair_counts *self, uint64_t key) {
    size_t i = bbpe_pair_counts_home(self, key);
    while (self->slots[i].key != key) {
        if (self->slots[i].key == BBPE_PAIR_NONE) {
            BBPE_ASSERT(self->count <= self->mask / 2); /* at most half of the slots are taken */
            self->slots[i] = (bbpe_pair_count){key, 0};
            self->lists[i] = (bbpe_pair_list){NULL, 0, 0};
            self->count++;
            return i;
        }
        i = (i + 1) & self->mask;
    }
    return i;
}

/* Give back the list of a pair, and forget its count. */
BBPE_INLINE void bbpe_pair_counts_drop(bbpe_pair_counts *self, size_t slot) {
    bbpe_pair_list *list = self->lists + slot;
    if (list->positions != NULL) bbpe_position_arena_return(&self->arena, list->positions, list->born);
    *list = (bbpe_pair_list){NULL, 0, 0};
    self->slots[slot].count = 0;
}

#endif
