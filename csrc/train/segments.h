/* The weights of positions: runs of positions that share one count, so that a weight is a short search.
 *
 * `starts` ascends, and `starts[count]` is after every position.  The struct owns both arrays; zeroed, it is empty. */
#ifndef BBPE_TRAIN_SEGMENTS_H
#define BBPE_TRAIN_SEGMENTS_H

#include "memory/memory.h"

typedef struct {
    uint32_t *starts;
    int64_t *counts;
    size_t count, starts_capacity, counts_capacity;
} bbpe_segments;

BBPE_INLINE void bbpe_segments_free(bbpe_segments *self) {
    bbpe_memory_free(self->starts);
    bbpe_memory_free(self->counts);
    memset(self, 0, sizeof *self);
}

/* From position `start` on, which is after the start of the last segment, the weight is `weight`. */
BBPE_INLINE bbpe_status bbpe_segments_append(bbpe_segments *self, uint32_t start, int64_t weight) {
    if (self->count && self->counts[self->count - 1] == weight) return BBPE_OK;
    if (!bbpe_memory_grow(&self->starts, &self->starts_capacity, self->count + 2, sizeof *self->starts))
        return BBPE_NO_MEMORY;
    if (!bbpe_memory_grow(&self->counts, &self->counts_capacity, self->count + 1, sizeof *self->counts))
        return BBPE_NO_MEMORY;
    self->starts[self->count] = start;
    self->starts[self->count + 1] = UINT32_MAX;
    self->counts[self->count++] = weight;
    return BBPE_OK;
}

/* The segment of position p, which is segment `at` or a later one: gallop, then bisect. */
BBPE_INLINE size_t bbpe_segments_find(const bbpe_segments *self, uint32_t p, size_t at) {
    if (BBPE_LIKELY(p < self->starts[at + 1])) return at;
    size_t step = 1;
    while (at + step < self->count && self->starts[at + step] <= p) {
        at += step;
        step *= 2;
    }
    size_t high = at + step < self->count ? at + step : self->count;
    while (high - at > 1) {
        const size_t middle = at + (high - at) / 2;
        if (self->starts[middle] <= p)
            at = middle;
        else
            high = middle;
    }
    return at;
}

#endif
