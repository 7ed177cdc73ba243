/* Pretokens cut into pieces against the pretokens merged whole by a heap: exits with 1 when they differ.
 *
 *     cut_driver ROUNDS    random small vocabularies of characters of one to four bytes; texts of these and of stray bytes
 *
 * By the character and 64 bytes at a time, a few pieces at a time or many, with pretokens of no bytes and such that end
 * within a character. */
#include <stdio.h>
#include <stdlib.h>

#include "models/bpe/bpe.h"
#include "encode/cut_pieces.h"
#include "split/split.h"
#include "memory/memory.h"

#ifdef BBPE_HAS_X86
#include "simd/target.h"
#endif

enum { MOST_TOKENS = 60, LONGEST_TEXT = 700, MOST_ENDS = 256, LEAST_LIMIT = 64 };

static const char *const CHARACTERS[] = {"a", "b", " ", "\xC3\xA9", "\xC3\xA8", "\xE4\xB8\xAD", "\xE4\xB8\xAE",
                                         "\xE5\xB8\xAD", "\xE3\x81\xAE", "\xE3\x80\x82", "\xF0\x9F\x98\x80", "\xE2\x80\x8D"};
enum { CHARACTER_COUNT = sizeof CHARACTERS / sizeof *CHARACTERS };

typedef struct {
    bbpe_bpe model;
    bbpe_bpe_work work;
    uint64_t random, texts, pretokens, pieces, failed;
    uint8_t *text; /* of n bytes, in memory of their size, so that reading beyond is caught */
    size_t n, count;
    size_t ends[MOST_ENDS];
} driver;

static void must(bbpe_status status) {
    if (status == BBPE_OK) return;
    fprintf(stderr, "status %d\n", (int)status);
    exit(2);
}

static size_t next_random(driver *self, size_t below) {
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return (size_t)((self->random >> 11) % below);
}

/* A character, or a byte of one. */
static size_t put_character(driver *self, uint8_t *to, size_t kinds, size_t strays) {
    const char *c = CHARACTERS[next_random(self, kinds)];
    const size_t length = strlen(c);
    if (strays && next_random(self, strays) == 0) {
        *to = (uint8_t)c[next_random(self, length)];
        return 1;
    }
    memcpy(to, c, length);
    return length;
}

/* Bytes, and slices of two or three characters: some of them no merging makes. */
static void make_model(driver *self) {
    uint8_t bytes[16];
    size_t id = 256;
    must(bbpe_bpe_init(&self->model, 256 + MOST_TOKENS, true, true));
    for (unsigned byte = 0; byte < 256; byte++) {
        bytes[0] = (uint8_t)byte;
        must(bbpe_bpe_add_token(&self->model, byte, bytes, 1));
    }
    for (; id < 256 + MOST_TOKENS; id++) {
        size_t n = 0;
        for (size_t k = 2 + next_random(self, 2); k > 0; k--) n += put_character(self, bytes + n, CHARACTER_COUNT, 0);
        const size_t start = next_random(self, n - 1), length = 2 + next_random(self, n - start - 1);
        if (bbpe_pretoken_table_find(&self->model.tokens, bytes + start, length) != NULL) continue;
        must(bbpe_bpe_add_token(&self->model, (uint32_t)id, bytes + start, length));
    }
    must(bbpe_bpe_finalize(&self->model));
}

static void make_text(driver *self) {
    uint8_t bytes[LONGEST_TEXT + 4];
    const size_t most = 1 + next_random(self, next_random(self, 2) ? LONGEST_TEXT : 90);
    const size_t kinds = 1 + next_random(self, CHARACTER_COUNT);
    const size_t strays = next_random(self, 2) ? 0 : 2 + next_random(self, 40), ends = 1 + next_random(self, 40);
    size_t n = 0;
    self->count = 0;
    while (n < most) {
        n += put_character(self, bytes + n, kinds, strays);
        while (self->count < MOST_ENDS - 1 && next_random(self, ends) == 0) {
            self->ends[self->count++] = n;
            if (next_random(self, 4)) break; /* else one of no bytes may follow */
        }
    }
    self->ends[self->count++] = n;
    self->n = n;
    self->text = bbpe_memory_new(n, 1);
    if (self->text == NULL) must(BBPE_NO_MEMORY);
    memcpy(self->text, bytes, n);
    /* behind the last pretoken there may be more of the text */
    if (next_random(self, 8) == 0 && n > 3) self->ends[self->count - 1] = n - 1 - next_random(self, 2);
    if (self->count > 1 && self->ends[self->count - 1] < self->ends[self->count - 2]) self->count--;
}

static void fail(driver *self, const char *what, size_t at) {
    if (self->failed++ < 3) fprintf(stderr, "%s at byte %zu of %zu\n", what, at, self->n);
}

/* The ids of [start, end) behind others; returns how many there are in all. */
static size_t merge(driver *self, size_t start, size_t end, uint32_t *ids, size_t count) {
    size_t more = 0;
    const uint8_t *bytes = self->text + start;
    if (end > start) must(bbpe_bpe_merge_long(&self->model, &self->work, bytes, end - start, 1, ids + count, &more));
    return count + more;
}

/* Pieces of the pretoken [start, end): their ids are its own. */
static void check_pretoken(driver *self, size_t start, size_t end, const size_t *pieces, size_t count) {
    uint32_t whole[LONGEST_TEXT + 4], parts[LONGEST_TEXT + 4];
    const size_t expected = merge(self, start, end, whole, 0);
    size_t found = 0, at = start;
    for (size_t i = 0; i < count; at = pieces[i++] & ~BBPE_CUT_PART) {
        const size_t next = pieces[i] & ~BBPE_CUT_PART;
        if (next <= at && start < end) return fail(self, "no bytes", at);
        if ((next == end) != (pieces[i] == next)) return fail(self, "the wrong flag", at);
        found = merge(self, at, next, parts, found);
    }
    if (at != end || found != expected || memcmp(whole, parts, found * sizeof *whole)) fail(self, "other ids", start);
    if (count < 2) return;
    if (bbpe_pretoken_table_find(&self->model.tokens, self->text + start, end - start) != NULL) fail(self, "a token is cut", start);
}

static void check(driver *self, bbpe_cut_pieces cut_now, const bbpe_cut_points *cuts) {
    size_t pieces[LONGEST_TEXT + MOST_ENDS + BBPE_CUT_SLACK + 4], count = 0, found;
    bbpe_cutting cutting = bbpe_cutting_of(self->text, self->n, 0, self->ends, self->count);
    const size_t limit = LEAST_LIMIT + next_random(self, 2) * next_random(self, 300);
    while ((found = cut_now(cuts, &cutting, BBPE_CUT_PART, pieces + count, limit)) > 0) {
        count += found;
        if (found > limit || count > self->n + self->count) return fail(self, "too many pieces", 0);
    }
    size_t start = 0, first = 0;
    for (size_t i = 0; i < self->count; start = self->ends[i++]) {
        size_t last = first;
        while (last < count && (pieces[last] & BBPE_CUT_PART)) last++;
        if (last == count || pieces[last] != self->ends[i]) return fail(self, "another end", start);
        check_pretoken(self, start, self->ends[i], pieces + first, last + 1 - first);
        first = last + 1;
    }
    if (first != count) fail(self, "more pieces", start);
    self->pieces += count;
    self->pretokens += self->count;
}

/* The ways to cut that this processor runs. */
static size_t all_ways(bbpe_cut_pieces ways[3]) {
    size_t count = 0;
    ways[count++] = bbpe_cut_pieces_scalar;
#ifdef BBPE_HAS_X86
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX2) ways[count++] = bbpe_cut_pieces_avx2;
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX512) ways[count++] = bbpe_cut_pieces_avx512;
#elif defined(BBPE_HAS_NEON)
    ways[count++] = bbpe_cut_pieces_neon;
#endif
    return count;
}

int main(int argc, char **argv) {
    static driver self = {.random = 0x9E3779B97F4A7C15u};
    bbpe_cut_pieces ways[3];
    const size_t count = all_ways(ways);
    if (argc != 2) {
        fputs("usage: cut_driver ROUNDS\n", stderr);
        return 2;
    }
    printf("%zu ways to cut, which this processor has\n", count);
    for (long rounds = atol(argv[1]); rounds > 0 && self.failed == 0; rounds--) {
        bbpe_cut_points cuts;
        make_model(&self);
        must(bbpe_cut_points_init(&cuts, &self.model.tokens, 0));
        for (int k = 0; k < 100; k++, self.texts++) {
            make_text(&self);
            for (size_t way = 0; way < count; way++) check(&self, ways[way], &cuts);
            bbpe_memory_free(self.text);
        }
        bbpe_cut_points_free(&cuts);
        bbpe_bpe_free(&self.model);
    }
    bbpe_bpe_work_free(&self.work);
    printf("%llu texts, %llu pretokens, %llu pieces, %llu differ\n", (unsigned long long)self.texts,
           (unsigned long long)self.pretokens, (unsigned long long)self.pieces, (unsigned long long)self.failed);
    return self.failed != 0;
}
