/* What threads change together without a lock: bits and sums that nobody reads before all of them have ended, and a budget.
 * A pointer that one of them sets is in base/atomic.h, since models have one. */
#ifndef BBPE_THREADS_SHARED_WORDS_H
#define BBPE_THREADS_SHARED_WORDS_H

#include "base/atomic.h"

BBPE_INLINE void bbpe_shared_bits_set(uint64_t *words, size_t bit) {
    (void)BBPE_ATOMIC_OR(words + bit / 64, (uint64_t)1 << bit % 64);
}

BBPE_INLINE void bbpe_shared_sum_add(size_t *sum, size_t more) {
    (void)BBPE_ATOMIC_ADD(sum, more);
}

/* Bytes of memory that threads may take together, for example for the caches of a process. */
typedef struct {
    uint64_t limit, used;
} bbpe_memory_budget;

/* Take so many bytes if they are there. */
BBPE_INLINE bool bbpe_memory_budget_take(bbpe_memory_budget *self, uint64_t bytes) {
    uint64_t used = BBPE_ATOMIC_LOAD(&self->used);
    do {
        const uint64_t limit = BBPE_ATOMIC_LOAD(&self->limit);
        if (used > limit || bytes > limit - used) return false;
    } while (!BBPE_ATOMIC_SWAP(&self->used, &used, used + bytes));
    return true;
}

BBPE_INLINE void bbpe_memory_budget_give(bbpe_memory_budget *self, uint64_t bytes) {
    (void)BBPE_ATOMIC_ADD(&self->used, (uint64_t)0 - bytes);
}

#endif
