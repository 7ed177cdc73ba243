/* Adding up tables by threads, without Python, for the sanitizers: `count_driver threads rounds` counts random chunks
 * into several tables and adds these up, each part in any thread, and compares with one table that counted them all. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "count/count.h"
#include "memory/memory.h"
#include "random_below.h"

enum { LANES = 5, CHUNKS = 40, THREADS_MOST = 16 };

static void must(bool right, const char *what) {
    if (right) return;
    fprintf(stderr, "wrong: %s\n", what);
    exit(1);
}

/* The same chunk into the table of all and into one shard's. */
static void count_chunk(bbpe_count_table *whole, bbpe_count_table *own, uint64_t letters, size_t most) {
    uint8_t text[4096];
    size_t ends[512], n = 0, pretokens = 0;
    uint64_t times[512], cut = 0;
    for (const size_t wanted = (size_t)next(512); pretokens < wanted && n + most < sizeof text; pretokens++) {
        for (size_t length = (size_t)next(most + 1); length > 0; length--) text[n++] = (uint8_t)next(letters);
        ends[pretokens] = n;
        times[pretokens] = next(5);
    }
    must(!bbpe_count_table_add(whole, text, n, 0, ends, times, pretokens, 0, &cut), "add");
    must(!bbpe_count_table_add(own, text, n, 0, ends, times, pretokens, 0, &cut), "add");
}

typedef struct {
    bbpe_count_sum *sum;
    size_t taken, parts;
} job;

static void *work(void *given) {
    job *self = given;
    for (size_t part; (part = BBPE_ATOMIC_ADD(&self->taken, 1)) < self->parts;)
        must(!bbpe_count_sum_do_part(self->sum, part, self->parts), "do_part");
    return NULL;
}

static void add_up(bbpe_count_sum *sum, size_t parts, size_t threads) {
    pthread_t others[THREADS_MOST];
    job all = {sum, 0, parts};
    for (size_t i = 1; i < threads; i++) must(!pthread_create(others + i, NULL, work, &all), "thread");
    work(&all);
    for (size_t i = 1; i < threads; i++) pthread_join(others[i], NULL);
    bbpe_count_sum_finish(sum);
}

static void compare(const bbpe_count_table *whole, const bbpe_count_sum *sum) {
    must(whole->count == sum->count && whole->bytes == sum->bytes, "sizes");
    size_t *orders = bbpe_memory_new(2 * whole->count, sizeof *orders);
    uint64_t *counts = bbpe_memory_new(whole->count, sizeof *counts), total = 0;
    must(orders != NULL && counts != NULL, "memory");
    bbpe_count_table_order(whole, orders);
    bbpe_count_sum_order(sum, orders + whole->count);
    bbpe_count_sum_counts(sum, counts);
    for (size_t i = 0; i < whole->count; i++) {
        size_t a, b;
        const size_t code = orders[whole->count + i];
        const uint8_t *left = bbpe_count_table_bytes(whole, orders[i], &a);
        const uint8_t *right = bbpe_count_sum_bytes(sum, code, &b);
        must(a == b && memcmp(left, right, a) == 0, "order");
        must(counts[i] == whole->slots[orders[i]].count && counts[i] == bbpe_count_sum_count(sum, code), "counts");
        total += counts[i];
    }
    must(total == whole->total, "total");
    bbpe_memory_free(counts);
    bbpe_memory_free(orders);
}

static void round_of(size_t threads) {
    bbpe_count_table whole, tables[LANES];
    bbpe_count_shard shards[LANES] = {{0}};
    uint32_t starts[LANES][CHUNKS + 1] = {{0}}, ranks[LANES][CHUNKS], rank = 0;
    const size_t count = 1 + (size_t)next(LANES), chunks = (size_t)next(CHUNKS + 1);
    const uint64_t letters = next(4) ? 1 + next(4) : 256;
    const size_t most = next(2) ? 15 : 60;
    const uint64_t salt = next(2) ? 0 : next(UINT64_MAX);
    must(!bbpe_count_table_init(&whole, salt), "init");
    for (size_t i = 0; i < count; i++) {
        must(!bbpe_count_table_init(tables + i, salt), "init");
        shards[i] = (bbpe_count_shard){tables + i, starts[i], ranks[i], 0};
    }
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        const size_t i = (size_t)next(count), before = tables[i].count;
        count_chunk(&whole, tables + i, letters, most);
        ranks[i][shards[i].count++] = rank;
        rank += (uint32_t)(tables[i].count - before);
        starts[i][shards[i].count] = (uint32_t)tables[i].count;
    }
    bbpe_count_sum sum;
    must(!bbpe_count_sum_init(&sum, shards, count), "init");
    add_up(&sum, (size_t)1 << next(9), threads);
    compare(&whole, &sum);
    bbpe_count_sum_free(&sum);
    for (size_t i = 0; i < count; i++) bbpe_count_table_free(tables + i);
    bbpe_count_table_free(&whole);
}

/* How far from its home a pretoken is at most. */
static size_t furthest(const bbpe_count_table *table) {
    size_t most = 0;
    for (size_t i = 0; i <= table->mask; i++) {
        const bbpe_count_slot *slot = table->slots + i;
        if (bbpe_count_slot_is_empty(slot)) continue;
        const size_t away = (i - bbpe_count_table_home(table, bbpe_count_table_hash(table, slot))) & table->mask;
        most = away > most ? away : most;
    }
    return most;
}

/* Words that all have one hash without a salt, as their first half is what it is changed by: searches are long then, and
 * short with a salt. */
static void flood(uint64_t salt, bool is_long) {
    enum { WORDS = 20000 };
    bbpe_count_table table;
    const uint64_t half = BBPE_HASH_SALT_LO;
    uint64_t cut = 0;
    must(!bbpe_count_table_init(&table, salt), "init");
    for (uint32_t i = 0; i < WORDS; i++) {
        uint8_t word[16] = {0};
        const size_t end = 15;
        memcpy(word, &half, sizeof half);
        memcpy(word + sizeof half, &i, sizeof i);
        must(!bbpe_count_table_add(&table, word, sizeof word, 0, &end, NULL, 1, 0, &cut), "add");
    }
    must(table.count == WORDS && (furthest(&table) >= WORDS / 2) == is_long, "the searches for words of one hash");
    bbpe_count_table_free(&table);
}

int main(int argc, char **argv) {
    const size_t threads = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 2;
    const unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 100;
    must(threads >= 1 && threads <= THREADS_MOST, "number of threads");
    flood(0, true);
    for (unsigned i = 0; i < 20; i++) flood(1 + next(UINT64_MAX - 1), false);
    for (unsigned i = 0; i < rounds; i++) round_of(threads);
    printf("%u rounds\n", rounds);
    return 0;
}
