/* The stage by four and by eight keys at once against the stage by one: exits with 1 when they differ.
 *
 *     stage_driver ROUNDS    random texts and ends, with and without parts: keys, homes; then ids of texts whose pretokens
 *                            come again, by either loop, against what a model says of each pretoken; tables that fill up
 *                            within a text become larger there, or do not
 *
 * The model gives a pretoken one to fifty ids by a hash of its bytes: mostly as large as the state is made for, and some
 * larger. */
#include <stdio.h>
#include <stdlib.h>

#include "encode/lookup_batch.h"
#include "random_below.h"

#ifdef BBPE_HAS_X86
#include "simd/target.h"
#endif

enum { MOST_BYTES = 65536, POOL = 1500, LONGEST = 1100, PRETOKENS = 900, TEXTS = 8 };

static uint64_t pieces, ids_seen, asked, failed;
static unsigned id_bits = 17; /* of most ids */

static void must(bbpe_status status) {
    if (status == BBPE_OK) return;
    fprintf(stderr, "status %d\n", (int)status);
    exit(2);
}

static void fail(const char *what, size_t at) {
    if (failed++ < 5) fprintf(stderr, "%s at %zu\n", what, at);
}

/* Mostly as long as English words are. */
static size_t random_length(void) {
    switch (next(12)) {
        case 0: return 1 + next(next(4) ? 70 : LONGEST);
        case 1: return 12 + next(8);
        default: return 1 + next(9);
    }
}

/* -- keys and homes ------------------------------------------------------------------------------------------ */

/* A block at the end of memory of the text's size, so that reading beyond is caught. */
static void check_fill(const struct bbpe_lookup_batch_loops *fast, const bbpe_hot_cache *hot, bool has_parts) {
    static bbpe_lookup_batch slow_stage, fast_stage;
    size_t ends[BBPE_LOOKUP_BATCH], count = 0, n = next(200);
    const size_t most = next(BBPE_LOOKUP_BATCH + 1), flag = has_parts && next(2) ? BBPE_CUT_PART : 0, start = n | flag;
    while (count < most) {
        n += random_length();
        ends[count++] = n | (has_parts && next(3) == 0 ? BBPE_CUT_PART : 0);
    }
    n += 16 + (next(2) ? next(200) : 0); /* 16 bytes can be read at the last piece */
    uint8_t *text = bbpe_memory_new(n, 1);
    if (text == NULL) must(BBPE_NO_MEMORY);
    for (size_t i = 0; i < n; i++) text[i] = (uint8_t)next(256);
    const bbpe_pretokens block = {text, n, start, ends, count, true};
    slow_stage.longer_count = fast_stage.longer_count = 0;
    bbpe_lookup_batch_scalar.fill(&slow_stage, hot, &block, has_parts);
    fast->fill(&fast_stage, hot, &block, has_parts);
    for (size_t i = 0; i < count; i++) {
        const bbpe_cache_key a = slow_stage.keys[i], b = fast_stage.keys[i];
        if (a.lo != b.lo || a.hi != b.hi) fail("another key", i);
        if (slow_stage.primary[i] != fast_stage.primary[i]) fail("another home", i);
    }
    const size_t longer = slow_stage.longer_count;
    if (fast_stage.longer_count != longer || memcmp(slow_stage.longer, fast_stage.longer, longer * sizeof *slow_stage.longer))
        fail("other longer pieces", n);
    pieces += count;
    bbpe_memory_free(text);
}

/* -- ids ------------------------------------------------------------------------------------------------------- */

static bbpe_status model_encode(const void *self, bbpe_model_scratch *scratch, const uint8_t *bytes, size_t n, uint32_t *ids,
                                size_t *count) {
    const uint64_t hash = bbpe_hash_bytes(bytes, n, 0);
    const unsigned bits = hash >> 60 == 0 ? BBPE_CACHE_ID_BITS : id_bits;
    size_t most = (size_t[]){1, 4, 7, 50}[hash >> 32 & 3];
    (void)self, (void)scratch;
    if (most > n) most = n;
    *count = 1 + (size_t)(hash % most);
    for (size_t i = 0; i < *count; i++) ids[i] = (uint32_t)(bbpe_hash_u64(hash + i) >> (64 - bits));
    return BBPE_OK;
}

typedef struct {
    uint8_t bytes[LONGEST];
    size_t n;
} pooled;

/* A text of pretokens of the pool, some of them far more often than others. */
static size_t make_text(const pooled *pool, uint8_t *text, int64_t *ends) {
    const size_t count = 1 + next(next(3) ? PRETOKENS : 12);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const pooled *pretoken = pool + next(1 + next(POOL));
        if (n + LONGEST > MOST_BYTES) return i;
        memcpy(text + n, pretoken->bytes, pretoken->n);
        n += pretoken->n;
        ends[i] = (int64_t)n;
    }
    return count;
}

static void check_text(const bbpe_encoder *encoder, bbpe_encode_state *used, const uint8_t *given, const int64_t *ends,
                       size_t count) {
    static uint32_t expected[MOST_BYTES], ids[MOST_BYTES + BBPE_ENCODE_SLACK];
    const size_t n = (size_t)ends[count - 1];
    uint8_t *text = bbpe_memory_new(n, 1);
    size_t found = 0, all = 0, more = 0, start = 0;
    if (text == NULL) must(BBPE_NO_MEMORY);
    memcpy(text, given, n);
    for (size_t i = 0; i < count; start = (size_t)ends[i++], all += more)
        must(model_encode(NULL, NULL, text + start, (size_t)ends[i] - start, expected + all, &more));
    must(bbpe_encode_given(encoder, used, text, n, ends, count, ids, &found));
    if (found != all || memcmp(ids, expected, all * sizeof *ids)) fail("other ids of a text", n);
    ids_seen += all;
    bbpe_memory_free(text);
}

/* Whether there is room for larger tables is chance. */
static void ask_room(void *owner, bbpe_encode_state *used) {
    const bbpe_encode_tables tables = bbpe_encode_state_tables(used);
    const bool is_full = bbpe_encode_entries_are_full(tables.kept, tables.entries);
    (void)owner;
    asked++;
    if (next(3) == 0 || tables.entries + tables.slots > 1 << 13) return;
    if (!bbpe_encode_state_grow(used, is_full ? 2 * tables.entries : tables.entries, is_full ? tables.slots : 2 * tables.slots))
        must(BBPE_NO_MEMORY);
}

static void check_ids(const struct bbpe_lookup_batch_loops *loops, const pooled *pool) {
    static uint8_t text[MOST_BYTES];
    static int64_t ends[PRETOKENS];
    const bbpe_model model = {.encode = model_encode};
    bbpe_encoder encoder;
    /* some have room for few long pieces, which overwrite each other */
    bbpe_memory_budget budget = {next(2) ? 20000 : 1 << 24, 0};
    bbpe_encode_state *used = bbpe_memory_table(1, sizeof *used);
    if (used == NULL) must(BBPE_NO_MEMORY);
    must(bbpe_encoder_init(&encoder, &model, NULL, NULL));
    encoder.loops = loops;
    id_bits = (unsigned[]){16, 17, 18, 20, 21, BBPE_CACHE_ID_BITS}[next(6)];
    bbpe_encode_state_init(used, (size_t)1 << id_bits);
    used->loan.budget = &budget;
    used->loan.ask_room = ask_room;
    for (int k = 0; k < TEXTS; k++) {
        const size_t count = make_text(pool, text, ends);
        check_text(&encoder, used, text, ends, count);
        if (k == TEXTS / 4 && !bbpe_encode_state_grow(used, 128, 64)) must(BBPE_NO_MEMORY);
        if (k == TEXTS * 3 / 4 && !bbpe_encode_state_grow(used, 1 << 13, 256)) must(BBPE_NO_MEMORY);
    }
    if (budget.used == 0 || budget.used > budget.limit) fail("other memory of long pieces", (size_t)budget.used);
    bbpe_encode_state_free(used);
    if (budget.used != 0) fail("memory of long pieces is left", (size_t)budget.used);
    bbpe_encoder_free(&encoder);
    bbpe_memory_table_free(used);
}

/* The loops of more than one key at once that this processor runs. */
static size_t fast_loops(const struct bbpe_lookup_batch_loops *fast[2]) {
    size_t count = 0;
    (void)fast;
#ifdef BBPE_HAS_X86
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX2) fast[count++] = &bbpe_lookup_batch_avx2;
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX512) fast[count++] = &bbpe_lookup_batch_avx512;
#elif defined(BBPE_HAS_NEON)
    fast[count++] = &bbpe_lookup_batch_neon;
#endif
    return count;
}

int main(int argc, char **argv) {
    static pooled pool[POOL];
    const struct bbpe_lookup_batch_loops *fast[2];
    const size_t ways = fast_loops(fast);
    bbpe_hot_cache hot;
    if (argc != 2) {
        fputs("usage: stage_driver ROUNDS\n", stderr);
        return 2;
    }
    printf("%zu ways to make more than one key at once, which this processor has\n", ways);
    must(bbpe_hot_cache_init(&hot, bbpe_cache_layout_for(1), 4096, 64));
    for (long rounds = atol(argv[1]); rounds > 0 && failed == 0; rounds--) {
        for (size_t way = 0; way < ways; way++)
            for (int k = 0; k < 10; k++) check_fill(fast[way], &hot, k % 2);
        for (size_t i = 0; i < POOL; i++) {
            pool[i].n = random_length();
            for (size_t k = 0; k < pool[i].n; k++) pool[i].bytes[k] = (uint8_t)next(256);
            if (i % 2) memcpy(pool[i].bytes, pool[i - 1].bytes, 8); /* keys that differ in their second half */
        }
        check_ids(&bbpe_lookup_batch_scalar, pool);
        for (size_t way = 0; way < ways; way++) check_ids(fast[way], pool);
    }
    bbpe_hot_cache_free(&hot);
    printf("%llu pieces, %llu ids, %llu differ; room was asked for %llu times\n", (unsigned long long)pieces,
           (unsigned long long)ids_seen, (unsigned long long)failed, (unsigned long long)asked);
    return failed != 0 || asked == 0;
}
