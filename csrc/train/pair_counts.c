#include "train/pair_counts.h"

#include "memory/memory.h"

enum { LEAST_BITS = 10 };

/* Empty arrays that `pairs` pairs fill to at most a half. */
static bbpe_status make(bbpe_pair_counts *self, size_t pairs) {
    unsigned bits = LEAST_BITS;
    while ((size_t)1 << (bits - 1) < pairs)
        if (++bits >= 48) return BBPE_TOO_LARGE;
    const size_t capacity = (size_t)1 << bits;
    self->slots = bbpe_memory_table(capacity, sizeof *self->slots);
    self->lists = bbpe_memory_table(capacity, sizeof *self->lists);
    self->mask = capacity - 1;
    self->shift = 64 - bits;
    self->count = 0;
    if (self->slots == NULL || self->lists == NULL) return BBPE_NO_MEMORY;
    for (size_t i = 0; i < capacity; i++) self->slots[i] = (bbpe_pair_count){BBPE_PAIR_NONE, 0};
    return BBPE_OK;
}

static void free_tables(bbpe_pair_counts *self) {
    bbpe_memory_table_free(self->slots);
    bbpe_memory_table_free(self->lists);
    self->slots = NULL;
    self->lists = NULL;
}

bbpe_status bbpe_pair_counts_init(bbpe_pair_counts *self, size_t expected) {
    bbpe_pair_counts_free(self);
    return make(self, expected);
}

void bbpe_pair_counts_free(bbpe_pair_counts *self) {
    free_tables(self);
    bbpe_position_arena_free(&self->arena);
}

/* Move the pairs that still matter to new arrays, where they leave room for `more`. */
static bbpe_status move(bbpe_pair_counts *self, size_t more, int64_t least) {
    size_t kept = 0;
    for (size_t i = 0; i <= self->mask; i++)
        kept += self->slots[i].key != BBPE_PAIR_NONE && self->slots[i].count >= least;
    if (more > SIZE_MAX / 4 - kept) return BBPE_TOO_LARGE;
    bbpe_pair_counts moved = *self;
    const bbpe_status status = make(&moved, kept + more);
    if (status != BBPE_OK) {
        free_tables(&moved);
        return status;
    }
    for (size_t i = 0; i <= self->mask; i++) {
        if (self->slots[i].key == BBPE_PAIR_NONE) continue;
        if (self->slots[i].count >= least) {
            const size_t slot = bbpe_pair_counts_add(&moved, self->slots[i].key);
            moved.slots[slot].count = self->slots[i].count;
            moved.lists[slot] = self->lists[i];
        } else if (self->lists[i].positions != NULL) {
            bbpe_position_arena_return(&moved.arena, self->lists[i].positions, self->lists[i].born);
        }
    }
    free_tables(self);
    *self = moved;
    return BBPE_OK;
}

bbpe_status bbpe_pair_counts_reserve(bbpe_pair_counts *self, size_t more, int64_t least) {
    if (BBPE_LIKELY(more <= (self->mask + 1) / 2 - self->count)) return BBPE_OK;
    /* half as much again, so that dropping a few pairs does not mean dropping a few more soon */
    return move(self, self->count / 2 + more, least);
}

bbpe_status bbpe_pair_counts_compact(bbpe_pair_counts *self, int64_t least) {
    return move(self, 0, least);
}
