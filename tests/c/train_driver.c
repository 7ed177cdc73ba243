/* Learning merges without Python, for the sanitizers: `train_driver rounds` learns merges from random counts with
 * every tie rule and several thresholds, and compares each with those of a threshold of 1. */
#include <stdio.h>
#include <stdlib.h>

#include "count/count.h"
#include "memory/memory.h"
#include "train/train.h"
#include "random_below.h"

static void must(bbpe_status status, const char *what) {
    if (status == BBPE_OK) return;
    fprintf(stderr, "%s: status %d\n", what, (int)status);
    exit(1);
}

/* Random pretokens through the splitter's side of the table, each in memory of exactly its size. */
static void fill(bbpe_count_table *table) {
    const uint64_t letters = 1 + next(next(2) ? 3 : 256), words = 1 + next(300), longest = next(2) ? 0 : 1 + next(20);
    uint64_t cut = 0;
    must(bbpe_count_table_init(table, 0), "init");
    for (uint64_t i = 0; i < words; i++) {
        const size_t n = (size_t)next(next(8) ? 20 : 200);
        uint8_t *text = bbpe_memory_new(n, 1);
        if (text == NULL) exit(1);
        for (size_t k = 0; k < n; k++) text[k] = (uint8_t)next(letters);
        const size_t ends[2] = {n / 3, n};
        const uint64_t times[2] = {1 + next(1 + next(100)), 1};
        must(bbpe_count_table_add(table, text, n, 0, ends, next(2) ? times : NULL, 2, (size_t)longest, &cut), "add");
        bbpe_memory_free(text);
    }
}

/* Pretokens as bytes, or as tokens of a base that has one more, whose ids then are one higher. */
static void lay_out(bbpe_train *train, const bbpe_count_table *table, const size_t *order, bool from_tokens) {
    for (size_t i = 0; i < table->count; i++) {
        size_t n, used;
        const uint8_t *bytes = bbpe_count_table_bytes(table, order[i], &n);
        const int64_t count = (int64_t)table->slots[order[i]].count;
        if (!from_tokens) {
            must(bbpe_train_add(train, bytes, n, count), "add");
            continue;
        }
        uint32_t *ids = bbpe_memory_new(n, sizeof *ids);
        if (ids == NULL) exit(1);
        for (size_t k = 0; k < n; k++) ids[k] = 255u - bytes[k];
        must(bbpe_train_add_tokens(train, ids, n, count, &used), "add tokens");
        if (used != n) exit(1);
        bbpe_memory_free(ids);
    }
}

static uint64_t learn(const bbpe_count_table *table, bbpe_train_options options, uint64_t visits, bool from_tokens) {
    uint8_t byte_order[258] = {0};
    int64_t offsets[258];
    bbpe_train train;
    size_t *order = bbpe_memory_new(table->count, sizeof *order);
    if (order == NULL) exit(1);
    for (unsigned i = 0; i < 256; i++) byte_order[i] = (uint8_t)(255 - i);
    for (int64_t i = 0; i < 258; i++) offsets[i] = i < 257 ? i : 258; /* the one more has two bytes */
    if (from_tokens)
        must(bbpe_train_init_from(&train, table->count, table->bytes, byte_order, offsets, 257, options), "init");
    else
        must(bbpe_train_init(&train, table->count, table->bytes, byte_order, options), "init");
    bbpe_count_table_order(table, order);
    lay_out(&train, table, order, from_tokens);
    bool done = false;
    while (!done) must(bbpe_train_step(&train, visits, &done), "step");
    uint64_t sum = train.merge_count;
    for (size_t i = 0; i < train.merge_count; i++) {
        uint32_t left = (uint32_t)(train.merges[i] >> 32), right = (uint32_t)train.merges[i];
        left -= from_tokens && left > 256;
        right -= from_tokens && right > 256;
        sum = bbpe_hash_u64(sum ^ bbpe_pair_key(left, right));
    }
    bbpe_train_free(&train);
    bbpe_memory_free(order);
    return sum;
}

static void round_of(unsigned round) {
    bbpe_count_table table;
    fill(&table);
    for (int ties = 0; ties < 3; ties++) {
        bbpe_train_options options = {(bbpe_train_ties)ties, (size_t)next(500), (int64_t)(1 + next(3)), UINT32_MAX, 1, NULL, NULL, NULL};
        if (next(3) == 0) options.max_length = (uint32_t)(1 + next(10));
        const uint64_t expected = learn(&table, options, 1 << 20, false);
        const int64_t thresholds[] = {0, 2, 7, 50, (int64_t)1 << 40};
        for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++) {
            options.threshold = thresholds[i];
            if (learn(&table, options, 1 + next(1000), i % 2) == expected) continue;
            fprintf(stderr, "round %u: threshold %lld changes the merges\n", round, (long long)thresholds[i]);
            exit(1);
        }
    }
    bbpe_count_table_free(&table);
}

int main(int argc, char **argv) {
    const unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100;
    for (unsigned i = 0; i < rounds; i++) round_of(i);
    printf("%u rounds\n", rounds);
    return 0;
}
