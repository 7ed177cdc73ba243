/* Memory that threads may take together, for example for the caches of a process. */
#ifndef BBPE_THREADS_MEMORY_BUDGET_H
#define BBPE_THREADS_MEMORY_BUDGET_H

#include "base/atomic.h"

typedef struct {
    uint64_t limit, used; /* bytes */
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
