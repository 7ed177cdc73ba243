/* The only place that allocates.  Sizes are count * size with the product checked, so a caller never
 * computes a byte size itself.  Memory from here is freed with bbpe_memory_free and nothing else. */
#ifndef BBPE_MEMORY_H
#define BBPE_MEMORY_H

#include <stdlib.h>

#include "memory/arena.h"
#include "memory/pages.h"
#include "memory/reusable_buffer.h"

/* New uninitialised memory for `count` items; NULL when it cannot be had.  A count of 0 is legal. */
BBPE_INLINE void *bbpe_memory_new(size_t count, size_t size) {
    if (count > SIZE_MAX / size) return NULL;
    return malloc(count ? count * size : 1);
}

/* New zeroed memory for `count` items; NULL when it cannot be had. */
BBPE_INLINE void *bbpe_memory_zeroed(size_t count, size_t size) {
    return calloc(count ? count : 1, size);
}

/* New zeroed memory for a table that is read at random: entries do not straddle cache lines if `size` divides 64, and large
 * ones are on huge pages where the system has them.  Freed with bbpe_memory_table_free. */
void *bbpe_memory_table(size_t count, size_t size);
/* A table, as above, that is going to be filled all over: its pages are there at once.  A page that is read before it
 * is written to faults twice, and the second time it interrupts other threads, wherever they run: 10 us instead of 1. */
void *bbpe_memory_dense_table(size_t count, size_t size);
void bbpe_memory_table_free(void *table);

/* `memory` moved to where `count` items fit; NULL on failure, and then `memory` is still owned. */
BBPE_INLINE void *bbpe_memory_resize(void *memory, size_t count, size_t size) {
    if (count > SIZE_MAX / size) return NULL;
    return realloc(memory, count ? count * size : 1);
}

/* `memory` with room for at least `need` items, doubled so that a sequence of calls stays linear; NULL
 * on failure, and then `memory` and `*capacity` are as they were. */
BBPE_INLINE void *bbpe_memory_reserve(void *memory, size_t *capacity, size_t need, size_t size) {
    if (BBPE_LIKELY(need <= *capacity)) return memory;
    size_t grown = *capacity < SIZE_MAX / 2 ? *capacity * 2 : SIZE_MAX;
    if (grown < need) grown = need;
    if (grown < 16) grown = 16;
    void *moved = bbpe_memory_resize(memory, grown, size);
    if (moved != NULL) *capacity = grown;
    return moved;
}

/* The same of the array that `*array`, a pointer to items of this size, points to; false on failure, and nothing changes. */
BBPE_INLINE bool bbpe_memory_grow(void *array, size_t *capacity, size_t need, size_t size) {
    void *memory;
    memcpy(&memory, array, sizeof memory);
    memory = bbpe_memory_reserve(memory, capacity, need, size);
    if (memory != NULL) memcpy(array, &memory, sizeof memory);
    return memory != NULL;
}

BBPE_INLINE void bbpe_memory_free(void *memory) {
    free(memory);
}

#endif
