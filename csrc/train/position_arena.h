/* Lists of positions whose sizes are known when they are made: an arena on large pages.
 *
 * A list is given back as a whole, and a later one of about its size takes its place; a large one becomes room for any.
 * Sizes are rounded up by at most a quarter.  The struct owns its chunks; zeroed, it is empty. */
#ifndef BBPE_TRAIN_POSITION_ARENA_H
#define BBPE_TRAIN_POSITION_ARENA_H

#include "base/common.h"

enum { BBPE_POSITIONS_CLASSES = 64 };

typedef struct {
    uint32_t *next, *end;                      /* where new lists come from */
    uint32_t *spare;                           /* large lists that were given back, each with a link and its size */
    uint32_t *returned[BBPE_POSITIONS_CLASSES]; /* small ones, each with a link, by size */
    uint32_t **chunks;
    size_t chunk_count, chunk_capacity;
    size_t total; /* positions that all chunks together hold */
} bbpe_positions;

/* Give back everything at once. */
void bbpe_positions_free(bbpe_positions *self);

/* One chunk of `n` positions, worth having when the sum of the lists to come is known. */
bbpe_status bbpe_positions_reserve(bbpe_positions *self, size_t n);

/* A list of n >= 1 positions, not initialised; NULL when there is no memory. */
uint32_t *bbpe_positions_new(bbpe_positions *self, size_t n);

/* Give back a list that was made for `n` positions. */
void bbpe_positions_return(bbpe_positions *self, uint32_t *list, size_t n);

#endif
