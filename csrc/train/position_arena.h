/* Lists of positions whose sizes are known when they are made: an arena on large pages.
 *
 * A list is given back as a whole, and a later one of about its size takes its place; a large one becomes room for any.
 * Sizes are rounded up by at most a quarter.  The struct owns its chunks; zeroed, it is empty. */
#ifndef BBPE_TRAIN_POSITION_ARENA_H
#define BBPE_TRAIN_POSITION_ARENA_H

#include "base/common.h"

enum { BBPE_POSITION_ARENA_CLASSES = 64 };

typedef struct {
    uint32_t *next, *end;                      /* where new lists come from */
    uint32_t *spare;                           /* large lists that were given back, each with a link and its size */
    uint32_t *returned[BBPE_POSITION_ARENA_CLASSES]; /* small ones, each with a link, by size */
    uint32_t **chunks;
    size_t chunk_count, chunk_capacity;
    size_t total; /* positions that all chunks together hold */
} bbpe_position_arena;

/* Give back everything at once. */
void bbpe_position_arena_free(bbpe_position_arena *self);

/* One chunk of `n` positions, worth having when the sum of the lists to come is known. */
bbpe_status bbpe_position_arena_reserve(bbpe_position_arena *self, size_t n);

/* A list of n >= 1 positions, not initialised; NULL when there is no memory. */
uint32_t *bbpe_position_arena_new(bbpe_position_arena *self, size_t n);

/* Give back a list that was made for `n` positions. */
void bbpe_position_arena_return(bbpe_position_arena *self, uint32_t *list, size_t n);

#endif
