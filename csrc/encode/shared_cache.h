/* The ids of pieces of many bytes or ids that any thread of a tokenizer has seen, and the memory of all caches of a process.
 *
 * Slots are those of cache.h, each under a seqlock: a writer makes the sequence odd, writes, and makes it even again; a reader
 * that finds it odd, or changed afterwards, has found nothing.  Nobody waits.  Entries that a thread's own slots evict are
 * still found here, and threads learn from each other. */
#ifndef BBPE_ENCODE_SHARED_CACHE_H
#define BBPE_ENCODE_SHARED_CACHE_H

#include "base/common.h"

typedef struct bbpe_shared_cache bbpe_shared_cache;

/* The memory that all caches of a process may take together. */
typedef struct {
    uint64_t limit, used; /* bytes */
} bbpe_cache_budget;

/* Take so many bytes if they are there. */
bool bbpe_cache_budget_take(bbpe_cache_budget *self, uint64_t bytes);
void bbpe_cache_budget_give(bbpe_cache_budget *self, uint64_t bytes);
/* The memory of the tables of a state. */
size_t bbpe_hot_cache_bytes(size_t entries, size_t slots);

/* With one holder; NULL without memory. */
bbpe_shared_cache *bbpe_shared_cache_new(size_t slots);
void bbpe_shared_cache_hold(bbpe_shared_cache *self);
/* The last holder frees it; true then. */
bool bbpe_shared_cache_drop(bbpe_shared_cache *self);
size_t bbpe_shared_cache_bytes(size_t slots);

#endif
