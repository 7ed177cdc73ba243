/* Merging by longest compatible tokens, by scanning, by runs, by repeats, and sixteen at a time, against merging by a heap:
 * exits with 1 when they differ.
 *
 *     bpe_driver fuzz ROUNDS                 random small vocabularies, every short text over their letters
 *     bpe_driver compare VOCAB TEXT BYTES    a .tiktoken file; slices of a text, and letters, runs and bytes
 *
 * The vocabularies of fuzz come in four kinds: lists and ranks, in an order in which parts come first or in any; of half the
 * lists several ranks are one level. */
#include <stdio.h>
#include <stdlib.h>

#include "text/text.h"
#include "models/bpe/bpe.h"
#include "split/split.h"
#include "random_below.h"

#ifdef BBPE_HAS_X86
#include "simd/target.h"
#endif

enum { LETTERS = 4, MOST_TOKENS = 40, LONGEST_TOKEN = 12, LONGEST_TEXT = 160, SLICE = 100000,
       REPEATS = BBPE_BPE_REPEATS };

typedef struct {
    bbpe_bpe model;
    bbpe_bpe_match match;
    bbpe_bpe_work work;
    uint8_t *image; /* what the model points into; NULL: it owns its arrays */
    uint64_t texts, runs, repeats, by_vectors, failed, unmade, out_of_order;
    /* texts that wait to be merged together, and their ids */
    bbpe_merge_batch merge_lanes[2];
    size_t merge_lanes_count;
    bbpe_merge_batch_piece units[BBPE_MERGE_BATCH];
    uint32_t unit_ids[BBPE_MERGE_BATCH][BBPE_MERGE_BATCH_BYTES];
    size_t unit_counts[BBPE_MERGE_BATCH], unit_count;
} driver;

static void must(bbpe_status status) {
    if (status == BBPE_OK) return;
    fprintf(stderr, "status %d\n", (int)status);
    exit(2);
}

/* Without any merge skipped the ids are the same; with some, they still spell the text. */
static void check_dropout(driver *self, const uint8_t *text, size_t n, const uint32_t *expected, size_t expected_count,
                          uint32_t *ids) {
    for (uint64_t eighths = 0; eighths <= 8; eighths += 4) {
        bbpe_bpe_dropout dropout = {self->texts, eighths << 50};
        size_t count, bytes = 0;
        must(bbpe_bpe_merge_dropout(&self->model, &self->work, text, n, &dropout, ids, &count));
        for (size_t i = 0; i < count; i++) bytes += self->model.lengths[ids[i]];
        const bool is_same = count == expected_count && memcmp(ids, expected, count * sizeof *ids) == 0;
        if (bytes == n && (eighths > 0 || is_same) && (eighths < 8 || count == n)) continue;
        if (self->failed++ < 3) fprintf(stderr, "dropout %d/8 differs: %zu bytes\n", (int)eighths, n);
    }
}

static void check_lanes_by(driver *self, bbpe_merge_batch merge_lanes) {
    uint32_t ids[BBPE_MERGE_BATCH][BBPE_MERGE_BATCH_BYTES], *rows[BBPE_MERGE_BATCH];
    size_t counts[BBPE_MERGE_BATCH];
    for (size_t i = 0; i < BBPE_MERGE_BATCH; i++) rows[i] = ids[i];
    merge_lanes(&self->model, self->units, self->unit_count, rows, counts);
    for (size_t i = 0; i < self->unit_count; i++) {
        const size_t count = self->unit_counts[i];
        if (counts[i] == count && memcmp(ids[i], self->unit_ids[i], count * sizeof **ids) == 0) continue;
        if (self->failed++ < 3) fprintf(stderr, "of %zu together differs: \"%.*s\"\n", self->unit_count,
                                        (int)self->units[i].n, self->units[i].bytes);
    }
}

static void check_lanes(driver *self) {
    for (size_t i = 0; i < self->merge_lanes_count; i++) check_lanes_by(self, self->merge_lanes[i]);
    self->unit_count = 0;
}

/* Have a text wait, of which some number are merged together, most often sixteen. */
static void put_lane(driver *self, const uint8_t *text, size_t n, const uint32_t *ids, size_t count) {
    if (self->merge_lanes_count == 0 || n == 0 || n > BBPE_MERGE_BATCH_BYTES) return;
    bbpe_merge_batch_piece *unit = self->units + self->unit_count;
    memset(unit->bytes, (int)next(256), sizeof unit->bytes); /* what is behind it may be anything */
    memcpy(unit->bytes, text, n);
    unit->n = (uint8_t)n;
    memcpy(self->unit_ids[self->unit_count], ids, count * sizeof *ids);
    self->unit_counts[self->unit_count++] = count;
    if (self->unit_count == BBPE_MERGE_BATCH || next(64) == 0) check_lanes(self);
}

static bool are_same(const uint32_t *ids, size_t count, const uint32_t *others, size_t other_count) {
    return count == other_count && memcmp(ids, others, count * sizeof *ids) == 0;
}

/* All ways on one text; the bytes stand in memory of their size, so that reading past the end is caught. */
static void check(driver *self, const uint8_t *bytes, size_t n) {
    uint8_t *text = bbpe_memory_new(n, 1);
    void *heap_ids = bbpe_memory_new(n, sizeof(uint32_t)), *ids = bbpe_memory_new(n, sizeof(uint32_t));
    if (!text || !heap_ids || !ids) must(BBPE_NO_MEMORY);
    memcpy(text, bytes, n);
    size_t heap_count, count = 0;
    must(bbpe_bpe_merge_long(&self->model, &self->work, text, n, 1, heap_ids, &heap_count));
    if (n > 0) must(bbpe_bpe_match_encode(&self->match, &self->model, &self->work, text, n, ids, &count));
    self->texts++;
    bool is_same = are_same(ids, count, heap_ids, heap_count);
    if (bbpe_bpe_is_short(&self->model, n)) {
        const bbpe_merge_one merge_one = bbpe_merge_one_select(&self->model);
        count = bbpe_bpe_merge_short(&self->model, text, n, 1, ids);
        is_same = is_same && are_same(ids, count, heap_ids, heap_count);
        if (n > 0 && merge_one != NULL) {
            count = merge_one(&self->model, text, n, ids);
            is_same = is_same && are_same(ids, count, heap_ids, heap_count);
            self->by_vectors++;
        }
    }
    const bool is_matched = is_same;
    if (n > 0 && (count = bbpe_bpe_merge_runs(&self->model, &self->work, text, n, ids)) > 0) {
        self->runs++;
        is_same = is_same && are_same(ids, count, heap_ids, heap_count);
    }
    if (!is_same && self->failed++ < 3)
        fprintf(stderr, "%s differ: \"%.*s\", %zu bytes\n", is_matched ? "runs" : "tokens", n < 80 ? (int)n : 80, text, n);
    check_dropout(self, text, n, heap_ids, heap_count, ids);
    if (self->model.levels == NULL) put_lane(self, text, n, heap_ids, heap_count);
    bbpe_memory_free(text);
    bbpe_memory_free(heap_ids);
    bbpe_memory_free(ids);
}

static bbpe_status merge_by_match(void *owner, const uint8_t *text, size_t n, uint32_t *ids, size_t *count) {
    driver *self = owner;
    return bbpe_bpe_match_encode(&self->match, &self->model, &self->work, text, n, ids, count);
}

/* A long text that repeats some bytes, with others before, within or after it. */
static void check_repeats(driver *self) {
    const size_t unit = 1 + next(next(3) ? 4 : 70), others = next(2) * next(3000), at = others ? next(REPEATS) : 0;
    const size_t n = REPEATS + next(REPEATS), letters = 1 + next(LETTERS);
    uint8_t *text = bbpe_memory_new(n, 1);
    void *expected = bbpe_memory_new(n, sizeof(uint32_t)), *ids = bbpe_memory_new(n, sizeof(uint32_t));
    size_t expected_count, count;
    if (!text || !expected || !ids) must(BBPE_NO_MEMORY);
    for (size_t i = 0; i < n; i++)
        text[i] = i < unit || (i >= at && i < at + others) ? (uint8_t)('a' + next(letters)) : text[i % unit];
    must(merge_by_match(self, text, n, expected, &expected_count));
    self->texts++;
    if (bbpe_bpe_merge_repeats(&self->model, text, n, merge_by_match, self, ids, &count)) {
        self->repeats++;
        if (!are_same(ids, count, expected, expected_count) && self->failed++ < 3)
            fprintf(stderr, "repeats differ: %zu bytes, units of %zu, others from %zu to %zu\n", n, unit, at, at + others);
    }
    bbpe_memory_free(text);
    bbpe_memory_free(expected);
    bbpe_memory_free(ids);
}

/* Numbers 0 .. n - 1 in any order. */
static void shuffle(uint32_t *numbers, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const size_t at = (size_t)next(i + 1);
        numbers[i] = numbers[at];
        numbers[at] = (uint32_t)i;
    }
}

typedef struct {
    uint8_t bytes[LONGEST_TOKEN];
    uint32_t length;
} small_token;

/* A vocabulary of the letters and what pairs of its tokens make, or anything; `number_of` are the ids. */
static size_t make_tokens(small_token *tokens, size_t letters, bool of_pairs) {
    size_t count = 0;
    for (; count < 256; count++) tokens[count] = (small_token){{(uint8_t)count}, 1};
    const size_t most = 256 + 1 + (size_t)next(MOST_TOKENS);
    for (int tries = 0; count < most && tries < 400; tries++) {
        small_token made = {{0}, 0};
        if (of_pairs) {
            const size_t letter = next(3) ? count - 256 : 0;
            for (int part = 0; part < 2; part++) {
                const size_t k = (size_t)next(letter + letters);
                const small_token *token = tokens + (k < letters ? 'a' + k : 256 + k - letters);
                if (made.length + token->length > LONGEST_TOKEN) break;
                memcpy(made.bytes + made.length, token->bytes, token->length);
                made.length += token->length;
            }
        } else {
            made.length = 2 + (uint32_t)next(6);
            for (uint32_t i = 0; i < made.length; i++) made.bytes[i] = (uint8_t)('a' + next(letters));
        }
        bool is_new = made.length > 1;
        for (size_t i = 256; i < count; i++)
            is_new = is_new && (tokens[i].length != made.length || memcmp(tokens[i].bytes, made.bytes, made.length));
        if (is_new) tokens[count++] = made;
    }
    return count;
}

/* List every split of a token into two tokens, or some, with ranks in the order of tokens or in any. */
static void list_merges(driver *self, const small_token *tokens, const uint32_t *ids, size_t count, bool in_order) {
    uint32_t ranks[MOST_TOKENS * LONGEST_TOKEN], rank = 0;
    for (uint32_t i = 0; i < MOST_TOKENS * LONGEST_TOKEN; i++) ranks[i] = i;
    if (!in_order) shuffle(ranks, MOST_TOKENS * LONGEST_TOKEN);
    const uint64_t sparse = 1 + next(3);
    for (size_t k = 256; k < count; k++)
        for (uint32_t cut = 1; cut < tokens[k].length; cut++) {
            const bbpe_pretoken_table *table = &self->model.tokens;
            const bbpe_pretoken_entry *left = bbpe_pretoken_table_find(table, tokens[k].bytes, cut);
            const bbpe_pretoken_entry *right =
                bbpe_pretoken_table_find(table, tokens[k].bytes + cut, tokens[k].length - cut);
            if (left == NULL || right == NULL || next(sparse)) continue;
            const uint32_t left_id = (uint32_t)left->value, right_id = (uint32_t)right->value;
            must(bbpe_bpe_add_merge(&self->model, left_id, right_id, ranks[rank++], ids[k]));
        }
}

/* Have some neighbours in the order of merging merge as one, the leftmost pair first. */
static void set_levels(driver *self) {
    uint32_t levels[MOST_TOKENS * LONGEST_TOKEN + 1] = {0};
    for (size_t i = 1; i < sizeof levels / sizeof *levels; i++) levels[i] = levels[i - 1] + (next(3) == 0);
    must(bbpe_bpe_set_levels(&self->model, levels, sizeof levels / sizeof *levels));
}

static void make_small_model(driver *self, size_t letters) {
    small_token tokens[256 + MOST_TOKENS + 1];
    uint32_t ids[256 + MOST_TOKENS + 1];
    const bool by_rank = next(2), in_order = next(2), of_pairs = next(4);
    const size_t count = make_tokens(tokens, letters, of_pairs);
    for (size_t i = 0; i < count; i++) ids[i] = (uint32_t)i;
    if (!in_order) shuffle(ids, count);
    must(bbpe_bpe_init(&self->model, count, by_rank, false));
    for (size_t i = 0; i < count; i++)
        must(bbpe_bpe_add_token(&self->model, ids[i], tokens[i].bytes, tokens[i].length));
    if (!by_rank) list_merges(self, tokens, ids, count, in_order);
    if (!by_rank && next(2)) set_levels(self);
    must(bbpe_bpe_finalize(&self->model));
}

/* By rank: each token that the heap merges to two symbols is made of them, and no other is made. */
static void check_settled(driver *self) {
    const bbpe_pretoken_table *tokens = &self->model.tokens;
    for (size_t i = 0; i < tokens->count && self->model.by_rank; i++) {
        const bbpe_pretoken_entry *token = tokens->entries + i;
        if (token->length < 2 || token->length > LONGEST_TEXT) continue;
        const bbpe_bpe_parts parts = self->model.parts[(uint32_t)token->value];
        uint32_t ids[LONGEST_TEXT];
        size_t count;
        must(bbpe_bpe_merge_long(&self->model, &self->work, tokens->arena + token->start, token->length, 2, ids, &count));
        const bool is_made = (token->value & BBPE_BPE_MADE) != 0;
        if (is_made == (count == 2) && (!is_made || (ids[0] == parts.left && ids[1] == parts.right))) continue;
        if (self->failed++ < 3) fprintf(stderr, "token %u is settled otherwise\n", (unsigned)(uint32_t)token->value);
    }
}

static void make_match(driver *self) {
    check_settled(self);
    must(bbpe_bpe_match_init(&self->match, &self->model));
    self->unmade += self->model.unmade_count;
    const bbpe_pretoken_table *tokens = &self->model.tokens;
    for (size_t i = 0; i < tokens->count; i++) {
        if (!(tokens->entries[i].value & BBPE_BPE_MADE) || tokens->entries[i].length == 1) continue;
        const uint32_t id = (uint32_t)tokens->entries[i].value;
        const bbpe_bpe_parts parts = self->model.parts[id];
        const uint64_t rank = (bbpe_bpe_value(&self->model, parts.left, parts.right) >> 32) + 1;
        self->out_of_order += self->match.ends[id].time > rank;
    }
}

/* Put the model into a block of memory and use it from there; no shorter block is opened. */
static void move_to_image(driver *self) {
    bbpe_image image = {.purpose = BBPE_IMAGE_MEASURE};
    bbpe_bpe_visit(&self->model, &image);
    const size_t size = bbpe_image_size(&image);
    self->image = bbpe_memory_table(size, 1);
    if (self->image == NULL) must(BBPE_NO_MEMORY);
    image = (bbpe_image){.bytes = self->image, .size = size, .purpose = BBPE_IMAGE_WRITE};
    bbpe_bpe_visit(&self->model, &image);
    bbpe_bpe_free(&self->model);
    for (size_t shorter = 0; shorter < size; shorter += 1 + shorter / 4) {
        image = (bbpe_image){.bytes = self->image, .size = shorter, .purpose = BBPE_IMAGE_OPEN};
        bbpe_bpe_visit(&self->model, &image);
        self->failed += bbpe_image_is_whole(&image);
        memset(&self->model, 0, sizeof self->model);
    }
    image = (bbpe_image){.bytes = self->image, .size = size, .purpose = BBPE_IMAGE_OPEN};
    bbpe_bpe_visit(&self->model, &image);
    self->failed += !bbpe_image_is_whole(&image);
}

static void free_model(driver *self) {
    if (self->unit_count > 0) check_lanes(self);
    bbpe_bpe_match_free(&self->match);
    if (self->image == NULL) bbpe_bpe_free(&self->model);
    memset(&self->model, 0, sizeof self->model);
    bbpe_memory_table_free(self->image);
    self->image = NULL;
}

static void fuzz(driver *self, long rounds) {
    static const size_t longest[LETTERS + 1] = {0, 0, 9, 6, 5};
    for (; rounds > 0 && self->failed == 0; rounds--) {
        const size_t letters = 2 + (size_t)next(LETTERS - 1);
        uint8_t text[LONGEST_TEXT];
        make_small_model(self, letters);
        if (rounds % 4 == 0) move_to_image(self);
        make_match(self);
        check(self, text, 0);
        for (size_t n = 1, texts = letters; n <= longest[letters]; n++, texts *= letters)
            for (size_t k = 0; k < texts; k++) {
                size_t rest = k;
                for (size_t i = 0; i < n; i++, rest /= letters) text[i] = (uint8_t)('a' + rest % letters);
                check(self, text, n);
            }
        for (int k = 0; k < 60; k++) {
            const size_t n = 1 + (size_t)next(LONGEST_TEXT);
            const uint64_t stay = k % 2 ? next(8) : 14; /* of 16: runs of up to two letters, or of eight */
            for (size_t i = 0; i < n; i++)
                text[i] = i && next(16) < stay ? text[i - 1] : (uint8_t)('a' + next(letters));
            check(self, text, n);
        }
        for (int k = 0; k < 4; k++) check_repeats(self);
        free_model(self);
    }
}

static uint8_t *read_file(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) exit(2);
    *n = (size_t)ftell(file);
    uint8_t *bytes = bbpe_memory_new(*n + 1, 1);
    rewind(file);
    if (bytes == NULL || fread(bytes, 1, *n, file) != *n) exit(2);
    fclose(file);
    bytes[*n] = 0;
    return bytes;
}

/* A model by rank; lines are the base64 of a token, a blank, its id. */
static void load(driver *self, const char *path) {
    size_t size;
    uint8_t *file = read_file(path, &size);
    for (int pass = 0; pass < 2; pass++) {
        size_t most = 0;
        for (uint8_t *p = file; *p != 0; p++) {
            uint8_t token[512];
            const char *blank = strchr((char *)p, ' ');
            if (blank == NULL) exit(2);
            const size_t n = bbpe_base64_decode(p, (size_t)(blank - (char *)p), token);
            const size_t id = strtoul(blank, (char **)&p, 10);
            if (n == BBPE_BASE64_NONE) exit(2);
            if (id >= most) most = id + 1;
            if (pass == 1) must(bbpe_bpe_add_token(&self->model, (uint32_t)id, token, n));
        }
        if (pass == 0) must(bbpe_bpe_init(&self->model, most, true, false));
    }
    bbpe_memory_free(file);
    must(bbpe_bpe_finalize(&self->model));
}

enum { CASES = 8 };

static void fill(uint8_t *text, size_t n, int kind) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i++)
        switch (kind) {
        case 0: text[i] = 'a'; break;
        case 1: text[i] = ' '; break;
        case 2: text[i] = '\n'; break;
        case 3: text[i] = (uint8_t)('a' + next(26)); break;
        case 4: text[i] = (uint8_t)next(256); break;
        case 5: text[i] = (uint8_t)digits[next(64)]; break;
        case 6: text[i] = (uint8_t)('0' + next(10)); break;
        default: text[i] = (uint8_t)"abrakadabra"[i % 11];
        }
}

static void compare(driver *self, const char *path, size_t bytes) {
    size_t size;
    uint8_t *text = read_file(path, &size);
    for (size_t at = 0; at < size && at < bytes; at += SLICE)
        check(self, text + at, size - at < SLICE ? size - at : SLICE);
    for (int k = 0; k < 3000; k++) {
        const size_t at = (size_t)next(size - 400);
        check(self, text + at, 1 + (size_t)next(400));
        for (size_t i = 0; i < 300; i++) check(self, text + at + i, 1 + (size_t)next(BBPE_MERGE_BATCH_BYTES));
        const size_t n = 1 + (size_t)next(400);
        for (size_t i = 0; i < n;) { /* a mixture of the cases, in pieces */
            size_t piece = 1 + (size_t)next(60);
            if (piece > n - i) piece = n - i;
            fill(text + i, piece, (int)next(CASES));
            i += piece;
        }
        check(self, text, n);
    }
    bbpe_memory_free(text);
}

int main(int argc, char **argv) {
    static driver self = {0};
    const char *what = argc > 1 ? argv[1] : "";
#ifdef BBPE_HAS_X86
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX2) self.merge_lanes[self.merge_lanes_count++] = bbpe_merge_batch_avx2;
#elif defined(BBPE_HAS_NEON)
    self.merge_lanes[self.merge_lanes_count++] = bbpe_merge_batch_neon;
#endif
    printf("%zu ways to merge pieces together, which this processor has\n", self.merge_lanes_count);
    if (strcmp(what, "fuzz") == 0 && argc == 3) {
        fuzz(&self, atol(argv[2]));
    } else if (strcmp(what, "compare") == 0 && argc == 5) {
        load(&self, argv[2]);
        make_match(&self);
        compare(&self, argv[3], strtoul(argv[4], NULL, 10));
        free_model(&self);
    } else {
        fputs("usage: bpe_driver fuzz ROUNDS | compare VOCAB TEXT BYTES\n", stderr);
        return 2;
    }
    bbpe_bpe_work_free(&self.work);
    printf("%llu texts, %llu of runs, %llu of repeats, %llu by vectors, %llu differ; %llu tokens unmade, %llu out of order\n",
           (unsigned long long)self.texts, (unsigned long long)self.runs, (unsigned long long)self.repeats, (unsigned long long)self.by_vectors,
           (unsigned long long)self.failed, (unsigned long long)self.unmade, (unsigned long long)self.out_of_order);
    return self.failed != 0;
}
