/* Threads over one tiny shared cache, where what is found shows whether it was torn, and over one budget: exits with 1 when
 * something was.
 *
 *     cache_driver THREADS SECONDS
 *
 * Two slots and many keys: nearly every write meets another, and reads meet both.  First, without threads, a slot that is
 * being written to. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/atomic.h"
#include "encode/cache.h"

enum { MOST_THREADS = 16, KEYS = 24, KEY_TURNS = 40000, BUDGET_TURNS = 1000, LIMIT = 100 };

typedef struct {
    bbpe_shared_cache *shared;
    bbpe_cache_budget budget;
    uint64_t found, failed; /* counted atomically */
} driver;

typedef struct {
    driver *all;
    uint64_t random;
} worker;

static size_t below(uint64_t *state, size_t limit) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (size_t)((*state >> 11) % limit);
}

static bbpe_cache_long_key key_of(size_t number) {
    const uint8_t bytes[BBPE_CACHE_LONG] = {(uint8_t)number};
    return bbpe_cache_long_key_of(bytes, BBPE_CACHE_SHORT + 1 + number % 16, 0);
}

/* The ids of a key: they show of which key and which writing they are. */
static size_t ids_of(size_t key, uint32_t mark, uint32_t *ids) {
    const size_t count = 1 + key % BBPE_CACHE_LONG_IDS;
    for (size_t i = 0; i < count; i++) ids[i] = (uint32_t)key << 16 | mark;
    return count;
}

static void *use_cache(void *argument) {
    worker *self = argument;
    driver *all = self->all;
    uint32_t ids[BBPE_CACHE_LONG_IDS];
    for (int turn = 0; turn < KEY_TURNS; turn++) {
        const size_t number = below(&self->random, KEYS);
        const bbpe_cache_long_key key = key_of(number);
        const uint64_t hash = bbpe_cache_long_hash(&key);
        if (below(&self->random, 2)) {
            const size_t written = ids_of(number, (uint32_t)below(&self->random, 1 << 12), ids);
            bbpe_shared_cache_add(all->shared, &key, hash, ids, written);
            continue;
        }
        const size_t count = bbpe_shared_cache_find(all->shared, &key, hash, ids);
        if (count == 0) continue;
        BBPE_ATOMIC_ADD(&all->found, 1);
        bool is_right = count == 1 + number % BBPE_CACHE_LONG_IDS;
        for (size_t i = 0; i < count; i++) is_right = is_right && ids[i] == ids[0] && ids[0] >> 16 == number;
        if (!is_right && BBPE_ATOMIC_ADD(&all->failed, 1) < 3) fprintf(stderr, "torn: key %zu\n", number);
    }
    for (int turn = 0; turn < BUDGET_TURNS; turn++) {
        const uint64_t bytes = 1 + below(&self->random, 60);
        if (!bbpe_cache_budget_take(&all->budget, bytes)) continue;
        if (BBPE_ATOMIC_LOAD(&all->budget.used) > LIMIT) BBPE_ATOMIC_ADD(&all->failed, 1);
        bbpe_cache_budget_give(&all->budget, bytes);
    }
    return NULL;
}

/* A slot is not read while its sequence is odd, and is again afterwards. */
static void read_written(driver *self) {
    const bbpe_cache_long_key key = key_of(1);
    const uint64_t hash = bbpe_cache_long_hash(&key);
    uint32_t ids[BBPE_CACHE_LONG_IDS];
    bbpe_shared_cache_add(self->shared, &key, hash, ids, ids_of(1, 7, ids));
    bbpe_cache_slot *slots = self->shared->slots;
    for (int i = 0; i < 2; i++) slots[i].seqlock++;
    if (bbpe_shared_cache_find(self->shared, &key, hash, ids) != 0) self->failed++;
    for (int i = 0; i < 2; i++) slots[i].seqlock++;
    if (bbpe_shared_cache_find(self->shared, &key, hash, ids) == 0) self->failed++;
    if (self->failed) fprintf(stderr, "a slot that is being written to was read\n");
}

static void round_of(driver *self, uint64_t *random, size_t threads) {
    pthread_t ids[MOST_THREADS];
    worker workers[MOST_THREADS];
    self->shared = bbpe_shared_cache_new(2);
    if (self->shared == NULL) exit(2);
    self->budget = (bbpe_cache_budget){.limit = LIMIT};
    read_written(self);
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (worker){self, *random += 0x9E3779B97F4A7C15u};
        if (pthread_create(ids + i, NULL, use_cache, workers + i) != 0) exit(2);
    }
    for (size_t i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    if (!bbpe_shared_cache_drop(self->shared) || self->budget.used != 0) self->failed++;
}

int main(int argc, char **argv) {
    driver self = {0};
    uint64_t random = 0x9E3779B97F4A7C15u, rounds = 0;
    const long threads = argc == 3 ? atol(argv[1]) : 0;
    if (threads < 1 || threads > MOST_THREADS) {
        fputs("usage: cache_driver THREADS SECONDS\n", stderr);
        return 2;
    }
    const time_t end = time(NULL) + atol(argv[2]);
    for (; self.failed == 0 && (time(NULL) < end || rounds < 2); rounds++) round_of(&self, &random, (size_t)threads);
    printf("%llu rounds, %llu found, %llu failed\n", (unsigned long long)rounds, (unsigned long long)self.found,
           (unsigned long long)self.failed);
    return self.failed != 0;
}
