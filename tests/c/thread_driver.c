/* Threads over one encoder and one memory budget, against merging alone: exits with 1 when they differ, or the budget is passed.
 *
 *     thread_driver THREADS SECONDS
 *
 * Each round has a vocabulary, a pattern and texts of its own, long pieces among them, and a new encoder.  Tables are tiny:
 * most entries are soon replaced.
 * Meant for ThreadSanitizer, and with one thread for AddressSanitizer: texts and ids stand in memory of their size. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "encode/internal.h"
#include "memory/memory.h"
#include "text/text.h"

enum {
    MOST_THREADS = 16,
    TEXTS = 120,
    LONGEST_TEXT = 1500,
    LONGEST_TOKEN = 24,
    TURNS = 300,
    HOT_ENTRIES = 32,
    HOT_SLOTS = 8,
    BUDGET = 100,
    LONG_BUDGET = 1 << 17 /* bytes of long pieces, for which threads compete */
};

/* the last two make one of the others, if a text ends and the next one begins with them */
static const char *const LETTERS[] = {"a", "b", "c",  "a", "b",  "ab",       " ",   "中", "文",
                                      "é", "X", "\n", "1", "😀", "\xe4\xb8", "\xad"};
enum { LETTER_COUNT = sizeof LETTERS / sizeof *LETTERS };

typedef struct {
    uint8_t *bytes;
    uint32_t *points; /* the same text by the code point, or NULL when it is not UTF-8 */
    size_t n, point_count;
    uint32_t *ids;
    size_t id_count;
} sample;

typedef struct {
    bbpe_bpe model;
    bbpe_encoder encoder;
    bbpe_memory_budget budget, long_budget;
    sample samples[TEXTS];
    uint64_t random, rounds, texts, failed; /* those behind the first are counted atomically */
} driver;

typedef struct {
    driver *all;
    uint64_t random;
} worker;

static void must(bbpe_status status) {
    if (status == BBPE_OK) return;
    fprintf(stderr, "status %d\n", (int)status);
    exit(2);
}

static void *room(size_t count, size_t size) {
    void *memory = bbpe_memory_new(count, size);
    if (memory == NULL) must(BBPE_NO_MEMORY);
    return memory;
}

static size_t below(uint64_t *state, size_t limit) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (size_t)((*state >> 11) % limit);
}

/* Up to `limit` bytes of letters; the number of bytes. */
static size_t letters(uint64_t *random, uint8_t *text, size_t limit) {
    const size_t of = 1 + below(random, LETTER_COUNT); /* some texts are one endless word */
    size_t n = 0;
    for (;;) {
        const char *letter = LETTERS[below(random, of)];
        const size_t length = strlen(letter);
        if (n + length > limit) return n;
        memcpy(text + n, letter, length);
        n += length;
    }
}

static bool add(driver *self, const uint32_t *ids, const uint8_t *bytes, size_t n) {
    if (bbpe_pretoken_table_find(&self->model.tokens, bytes, n) != NULL) return false;
    must(bbpe_bpe_add_token(&self->model, ids[self->model.tokens.count], bytes, n));
    return true;
}

/* Bytes, and pieces of texts, most of them with what they begin with, so that merging gets there. */
static void make_model(driver *self) {
    enum { MOST = 420 };
    uint32_t ids[MOST];
    for (uint32_t i = 0; i < MOST; i++) ids[i] = i;
    if (below(&self->random, 2))
        for (size_t i = MOST - 1; i > 0; i--) {
            const size_t at = below(&self->random, i + 1);
            const uint32_t id = ids[i];
            ids[i] = ids[at];
            ids[at] = id;
        }
    must(bbpe_bpe_init(&self->model, MOST, true, below(&self->random, 2)));
    for (int byte = 0; byte < 256; byte++) add(self, ids, &(uint8_t){(uint8_t)byte}, 1);
    while (self->model.tokens.count < MOST - LONGEST_TOKEN) {
        uint8_t token[LONGEST_TOKEN];
        const size_t n = letters(&self->random, token, 2 + below(&self->random, LONGEST_TOKEN - 1));
        const size_t first = n < 2 || below(&self->random, 3) == 0 ? n : 2;
        for (size_t end = first; end <= n && n > 1; end++) add(self, ids, token, end);
    }
    must(bbpe_bpe_finalize(&self->model));
}

/* The code points of a text, or NULL when it is not UTF-8. */
static uint32_t *points_of(const uint8_t *text, size_t n, size_t *count) {
    uint32_t *points = room(n, sizeof *points);
    *count = 0;
    for (size_t i = 0; i < n;) {
        points[*count] = bbpe_utf8_decode(text, i, n, &i);
        if (points[(*count)++] != BBPE_UTF8_INVALID) continue;
        bbpe_memory_free(points);
        return NULL;
    }
    uint32_t *exact = bbpe_memory_resize(points, *count, sizeof *points);
    return exact ? exact : points;
}

/* A text and its ids: each pretoken by the heap alone, or as the token that it is. */
static void make_sample(driver *self, sample *made, const bbpe_scheme *scheme, bbpe_split_fill fill) {
    uint8_t text[LONGEST_TEXT];
    size_t ends[64], start = 0, count;
    bbpe_bpe_work work = {0};
    bool wide = false;
    *made = (sample){.n = letters(&self->random, text, 1 + below(&self->random, LONGEST_TEXT))};
    made->bytes = room(made->n, 1);
    memcpy(made->bytes, text, made->n);
    made->points = points_of(text, made->n, &made->point_count);
    made->ids = room(made->n, sizeof *made->ids);
    while (start < made->n) {
        const size_t found = fill(scheme, text, start, made->n, ends, 64, &wide);
        for (size_t i = 0; i < found; start = ends[i++]) {
            uint32_t *ids = made->ids + made->id_count;
            count = 1;
            if (!bbpe_bpe_find(&self->model, text + start, ends[i] - start, false, ids))
                must(bbpe_bpe_merge_long(&self->model, &work, text + start, ends[i] - start, 1, ids, &count));
            made->id_count += count;
        }
    }
    bbpe_bpe_work_free(&work);
}

/* Counting, with and without the ids, to the end and to a limit; and the places of the ids as characters. */
static void check_count(driver *self, bbpe_encode_state *state, bbpe_encode_text view, size_t n, const sample *text,
                        const uint32_t *ids, size_t count) {
    const size_t limit = count ? text->n % count : 0;
    size_t all, some, place = 0;
    int64_t *spans = room(2 * count + 2, sizeof *spans), last = 0;
    must(bbpe_encode_count(&self->encoder, state, view, 0, n, SIZE_MAX, false, &all));
    must(bbpe_encode_count(&self->encoder, state, view, 0, n, limit, true, &some));
    bool is_right = all == count && (some == count || some > limit) && memcmp(state->loan.ids, ids, some * sizeof *ids) == 0;
    for (size_t i = 0; i < count; i++) {
        spans[2 * i] = (int64_t)place;
        spans[2 * i + 1] = (int64_t)(place += self->model.lengths[ids[i]]);
    }
    bbpe_offsets_map(view.units, view.unit_size, n, limit % 2 ? BBPE_OFFSETS_CHAR : BBPE_OFFSETS_UTF16, spans, count);
    for (size_t i = 0; i < count; i++) {
        is_right = is_right && spans[2 * i] <= last && last <= spans[2 * i + 1] && spans[2 * i] < spans[2 * i + 1];
        last = spans[2 * i + 1];
    }
    if (!is_right && BBPE_ATOMIC_ADD(&self->failed, 1) < 3) fprintf(stderr, "counts differ: %zu bytes\n", text->n);
    bbpe_memory_free(spans);
}

static void check(driver *self, bbpe_encode_state *state, const sample *text, bool by_points) {
    const bbpe_encode_text view = {by_points ? (void *)text->points : (void *)text->bytes, by_points ? 4 : 0};
    const size_t n = by_points ? text->point_count : text->n;
    uint32_t *ids = room(bbpe_encode_bound(view.unit_size, n) + BBPE_ENCODE_SLACK, sizeof *ids);
    size_t count;
    must(bbpe_encode_range(&self->encoder, state, view, 0, n, ids, &count));
    BBPE_ATOMIC_ADD(&self->texts, 1);
    if ((count != text->id_count || memcmp(ids, text->ids, count * sizeof *ids) != 0)
        && BBPE_ATOMIC_ADD(&self->failed, 1) < 3)
        fprintf(stderr, "differ: \"%.*s\", %zu bytes\n", text->n < 200 ? (int)text->n : 200, text->bytes, text->n);
    check_count(self, state, view, n, text, ids, count);
    bbpe_memory_free(ids);
}

/* Some texts as one. */
static void check_batch(driver *self, bbpe_encode_state *state, uint64_t *random) {
    enum { MOST = 400 };
    const sample nothing = {0}, *samples[MOST];
    bbpe_encode_text views[MOST];
    size_t lengths[MOST], counts[MOST], bound = BBPE_ENCODE_SLACK;
    const size_t texts = below(random, MOST), kept = (size_t)1 << 3 * below(random, 3); /* one of so many is not empty */
    for (size_t i = 0; i < texts; i++) {
        const sample *text = samples[i] = self->samples + below(random, TEXTS);
        const bool by_points = text->points != NULL && below(random, 2);
        views[i] = (bbpe_encode_text){by_points ? (void *)text->points : (void *)text->bytes, by_points ? 4 : 0};
        if (below(random, kept) > 0) samples[i] = &nothing;
        lengths[i] = samples[i] == &nothing ? 0 : by_points ? text->point_count : text->n;
        bound += bbpe_encode_bound(views[i].unit_size, lengths[i]);
    }
    uint32_t *ids = room(bound, sizeof *ids), *next = ids;
    must(bbpe_encode_texts(&self->encoder, state, views, lengths, texts, NULL, counts));
    for (size_t i = 0; i < texts; i++)
        if (counts[i] != samples[i]->id_count && BBPE_ATOMIC_ADD(&self->failed, 1) < 3)
            fprintf(stderr, "text %zu of %zu is counted wrongly\n", i, texts);
    must(bbpe_encode_texts(&self->encoder, state, views, lengths, texts, ids, counts));
    BBPE_ATOMIC_ADD(&self->texts, texts);
    for (size_t i = 0; i < texts; i++) {
        const sample *text = samples[i];
        if ((counts[i] != text->id_count || (counts[i] > 0 && memcmp(next, text->ids, counts[i] * sizeof *ids) != 0))
            && BBPE_ATOMIC_ADD(&self->failed, 1) < 3)
            fprintf(stderr, "text %zu of %zu differs in a batch, of %zu bytes\n", i, texts, text->n);
        next += counts[i];
    }
    bbpe_memory_free(ids);
}

static void take_and_give(driver *self, uint64_t bytes) {
    if (!bbpe_memory_budget_take(&self->budget, bytes)) return;
    if (BBPE_ATOMIC_LOAD(&self->budget.used) > BUDGET) BBPE_ATOMIC_ADD(&self->failed, 1);
    bbpe_memory_budget_give(&self->budget, bytes);
}

static void *encode(void *argument) {
    worker *self = argument;
    driver *all = self->all;
    bbpe_encode_state *state = bbpe_memory_table(1, sizeof *state);
    if (state == NULL) must(BBPE_NO_MEMORY);
    bbpe_encode_state_init(state, (size_t)1 << (16 + below(&self->random, 6)));
    state->loan.budget = &all->long_budget;
    if (below(&self->random, 4)) bbpe_encode_state_grow(state, HOT_ENTRIES, HOT_SLOTS);
    for (int turn = 0; turn < TURNS; turn++) {
        const sample *text = all->samples + below(&self->random, TEXTS);
        const size_t entries = 2 * state->hot.entry_count;
        if (below(&self->random, TURNS) == 0) bbpe_encode_state_grow(state, entries, entries / 4);
        const size_t slots = 2 * (state->hot.slot_mask + 1);
        if (below(&self->random, TURNS) == 0) bbpe_encode_state_grow(state, state->hot.entry_count, slots);
        check(all, state, text, text->points != NULL && below(&self->random, 2));
        if (below(&self->random, 16) == 0) check_batch(all, state, &self->random);
        take_and_give(all, 1 + below(&self->random, BUDGET / 2 + 10));
    }
    bbpe_encode_state_free(state);
    bbpe_memory_table_free(state);
    return NULL;
}

static void in_threads(driver *self, void *(*work)(void *), size_t threads) {
    pthread_t ids[MOST_THREADS];
    worker workers[MOST_THREADS];
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (worker){self, self->random += 0x9E3779B97F4A7C15u};
        if (pthread_create(ids + i, NULL, work, workers + i) != 0) exit(2);
    }
    for (size_t i = 0; i < threads; i++) pthread_join(ids[i], NULL);
}

static void encode_round(driver *self, size_t threads) {
    const char *name;
    const bbpe_scheme *scheme = bbpe_split_row(self->rounds, &name);
    if (scheme == NULL) scheme = bbpe_split_row(self->rounds = 0, &name);
    const bbpe_split_fill fill = bbpe_split_select(scheme, BBPE_ISA_AUTO);
    make_model(self);
    const bbpe_model model = bbpe_model_of_bpe(&self->model);
    must(bbpe_encoder_init(&self->encoder, &model, scheme, fill));
    if (below(&self->random, 3) == 0) self->encoder.merge_batch = NULL;
    if (below(&self->random, 3) == 0) self->encoder.merge_one = NULL;
    for (int i = 0; i < TEXTS; i++) make_sample(self, self->samples + i, scheme, fill);
    self->budget.limit = BUDGET;
    self->long_budget.limit = LONG_BUDGET;
    in_threads(self, encode, threads);
    if (self->budget.used != 0 || self->long_budget.used != 0) self->failed++;
    for (int i = 0; i < TEXTS; i++) {
        bbpe_memory_free(self->samples[i].bytes);
        bbpe_memory_free(self->samples[i].points);
        bbpe_memory_free(self->samples[i].ids);
    }
    bbpe_encoder_free(&self->encoder);
    bbpe_bpe_free(&self->model);
    self->rounds++;
}

int main(int argc, char **argv) {
    static driver self = {.random = 0x9E3779B97F4A7C15u};
    const long threads = argc == 3 ? atol(argv[1]) : 0;
    if (threads < 1 || threads > MOST_THREADS) {
        fputs("usage: thread_driver THREADS SECONDS\n", stderr);
        return 2;
    }
    const time_t end = time(NULL) + atol(argv[2]);
    uint64_t rounds = 0;
    for (; self.failed == 0 && (time(NULL) < end || rounds < 2); rounds++) encode_round(&self, (size_t)threads);
    printf("%llu rounds, %llu texts, %llu failed\n", (unsigned long long)rounds, (unsigned long long)self.texts,
           (unsigned long long)self.failed);
    return self.failed != 0;
}
