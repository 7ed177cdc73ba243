/* The changes that one merge makes to the pairs with its neighbours, gathered by neighbour id.
 *
 * Hashing and heap work then happen once a distinct neighbour and not once an occurrence.  First occurrences are
 * noted; then every neighbour may be given a list, as long as it was noted often, and the positions are placed in it.
 * The struct owns its arrays, not the lists; zeroed, it may be freed. */
#ifndef BBPE_TRAIN_NEIGHBOURS_H
#define BBPE_TRAIN_NEIGHBOURS_H

#include "memory/memory.h"

typedef struct {
    int64_t count;  /* the weight of the occurrences */
    union {
        uint64_t born;  /* how many they are, while they are noted */
        uint32_t *next; /* where the next position goes, while they are placed; NULL: there is no list */
    } at;
} bbpe_neighbour;

typedef struct {
    bbpe_neighbour *by_id;
    uint32_t *ids; /* those that have occurrences, in order of appearance */
    size_t count;
} bbpe_neighbours;

BBPE_INLINE bbpe_status bbpe_neighbours_init(bbpe_neighbours *self, size_t ids) {
    self->by_id = bbpe_memory_table(ids, sizeof *self->by_id);
    self->ids = bbpe_memory_new(ids + 1, sizeof *self->ids); /* one is written in advance */
    self->count = 0;
    return self->by_id != NULL && self->ids != NULL ? BBPE_OK : BBPE_NO_MEMORY;
}

BBPE_INLINE void bbpe_neighbours_free(bbpe_neighbours *self) {
    bbpe_memory_table_free(self->by_id);
    bbpe_memory_free(self->ids);
    memset(self, 0, sizeof *self);
}

/* One more occurrence beside `token`. */
BBPE_INLINE void bbpe_neighbours_note(bbpe_neighbours *self, uint32_t token, int64_t weight) {
    bbpe_neighbour *noted = self->by_id + token;
    self->ids[self->count] = token;
    self->count += noted->at.born++ == 0;
    noted->count += weight;
}

/* Write where the new pair with `token` is, if it has a list. */
BBPE_INLINE void bbpe_neighbours_place(bbpe_neighbours *self, uint32_t token, uint32_t position) {
    bbpe_neighbour *noted = self->by_id + token;
    if (noted->at.next != NULL) *noted->at.next++ = position;
}

BBPE_INLINE void bbpe_neighbours_clear(bbpe_neighbours *self) {
    for (size_t i = 0; i < self->count; i++) self->by_id[self->ids[i]] = (bbpe_neighbour){0, {0}};
    self->count = 0;
}

#endif
