/* Unigram models of random tokens on random bytes, for the sanitizers: encoding, with and without what makes it faster,
 * ways, substrings and learning.
 *
 *   unigram ROUNDS */
#include <stdio.h>

#include "memory/memory.h"
#include "train/train.h"
#include "models/unigram/unigram.h"

static uint64_t state = 1;

static uint64_t draw(uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

/* Characters of one to four bytes, ends and beginnings of such, an overlong form and a surrogate. */
static const char *const CHARACTERS[] = {
    "\xE4\xB8\xAD", "\xE3\x81\x82", "\xE0\xA4\x95", "\xED\x95\x9C", "\xEF\xBF\xBD", "\xE3\x81\x83", " ", "a", "\xC3\xA9",
    "\xF0\x9F\x98\x80", "\xE3\x81", "\xE3", "\x81", "\xED\xA0\x80", "\xED\xA0", "\xE0\x80\x80", "\xE0", "", "\xF0\x9F",
};
enum { CHARACTER_COUNT = sizeof CHARACTERS / sizeof *CHARACTERS };

/* What tokens and texts are made of: the first `letters` of some bytes, or of the characters if there are none. */
typedef struct {
    const char *bytes;
    size_t letters;
} alphabet;

/* At most n bytes, at least one; now and then any byte, if `is_text`. */
static size_t fill(uint8_t *bytes, size_t n, const alphabet *from, bool is_text) {
    for (size_t at = 0, length; at < n; at += length) {
        const size_t letter = draw(from->letters);
        const char *drawn = from->bytes != NULL ? from->bytes + letter : CHARACTERS[letter];
        length = from->bytes != NULL || *drawn == '\0' ? 1 : strlen(drawn); /* the empty one is a zero */
        if (length > n - at && at > 0) return at;
        if (length > n - at) length = n - at;
        memcpy(bytes + at, drawn, length);
        if (is_text && !draw(40)) bytes[at] = (uint8_t)draw(256);
    }
    return n;
}

static int fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    return 1;
}

/* The bytes of ids, where all bytes have tokens, are the text. */
static bool spells(const bbpe_unigram *model, const uint32_t *ids, size_t count, const uint8_t *text, size_t n) {
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 256) {
            if (at >= n || text[at++] != ids[i]) return false;
            continue;
        }
        const bbpe_pretoken_entry *token = model->tokens.entries + (ids[i] - 256);
        if (token->length > n - at || memcmp(text + at, model->tokens.arena + token->start, token->length)) return false;
        at += token->length;
    }
    return at == n;
}

/* Ids of a model and of one that only walks by bytes. */
static int check_ids(const bbpe_unigram *model, const bbpe_unigram *slow, bbpe_model_scratch scratches[2],
                     const uint8_t *text, size_t n) {
    const bbpe_model view = bbpe_unigram_view(model), twin = bbpe_unigram_view(slow);
    uint32_t *ids = bbpe_memory_new(n, sizeof *ids), *expected = bbpe_memory_new(n, sizeof *ids);
    size_t count = 0, expected_count = 0;
    if (view.encode(view.self, scratches, text, n, ids, &count) != BBPE_OK) return fail("no memory");
    if (twin.encode(twin.self, scratches + 1, text, n, expected, &expected_count) != BBPE_OK) return fail("no memory");
    if (model->has_byte_ids && !spells(model, ids, count, text, n)) return fail("encoding lost bytes");
    if (count != expected_count || memcmp(ids, expected, count * sizeof *ids)) return fail("walks by bytes differ");
    /* as the first text that a thread has */
    bbpe_model_scratch fresh = {0};
    if (twin.encode(twin.self, &fresh, text, n, expected, &expected_count) != BBPE_OK) return fail("no memory");
    if (count != expected_count || memcmp(ids, expected, count * sizeof *ids)) return fail("it depends on texts before");
    bbpe_model_scratch_free(&fresh);
    bbpe_memory_free(ids);
    bbpe_memory_free(expected);
    return 0;
}

static int check_ways(const bbpe_unigram *model, const uint8_t *text, size_t n) {
    bbpe_unigram_nbest ways = {NULL, NULL, NULL, 0};
    if (bbpe_unigram_nbest_best(&ways, model, text, n, 1 + draw(5)) != BBPE_OK) return fail("no memory");
    for (size_t i = 0, first = 0; i < ways.count; first = ways.ends[i++])
        if (!spells(model, ways.ids + first, ways.ends[i] - first, text, n)) return fail("a way lost bytes");
    bbpe_unigram_nbest_free(&ways);
    if (bbpe_unigram_nbest_draw(&ways, model, text, n, 0.3, &state) != BBPE_OK) return fail("no memory");
    if (!spells(model, ways.ids, ways.ends[0], text, n)) return fail("a drawn way lost bytes");
    bbpe_unigram_nbest_free(&ways);
    return 0;
}

static int check_learning(const bbpe_unigram *model, const uint8_t *text, size_t n) {
    const int64_t offsets[3] = {0, (int64_t)(n / 2), (int64_t)n};
    const uint64_t counts[2] = {3, 1};
    const bbpe_unigram_corpus corpus = {text, offsets, counts};
    const size_t tokens = model->tokens.count;
    double *times = bbpe_memory_zeroed(tokens + 1, sizeof *times), *other = bbpe_memory_zeroed(tokens + 1, sizeof *other);
    double likelihood = 0;
    for (size_t i = 0; i < tokens; i++) other[i] = 0.01;
    bbpe_status status = bbpe_unigram_train_expect(model, &corpus, 0, 2, other, times, &likelihood);
    if (status == BBPE_OK) status = bbpe_unigram_train_count(model, &corpus, 0, 2, times);
    if (status == BBPE_OK) status = bbpe_unigram_train_losses(model, times, 100, 0, tokens, other);
    uint32_t *symbols = bbpe_memory_zeroed(n + 1, sizeof *symbols);
    for (size_t i = 0; i < n; i++) symbols[i] = i == n / 2 ? 0 : 1 + text[i];
    bbpe_substrings found = {NULL, 0, 0};
    if (status == BBPE_OK) status = bbpe_substrings_find(&found, symbols, n + 1, 256, counts, 1 + (unsigned)draw(20));
    bbpe_substrings_free(&found);
    bbpe_memory_free(symbols);
    bbpe_memory_free(times);
    bbpe_memory_free(other);
    return status == BBPE_OK ? 0 : fail("no memory");
}

/* Random tokens, whose ids are 256 and more. */
static int draw_tokens(bbpe_pretoken_table *tokens, double *scores, const alphabet *from) {
    uint8_t bytes[20];
    for (size_t most = 1 + draw(150), drawn = 0; drawn < most; drawn++) {
        bbpe_pretoken_entry *entry;
        const size_t before = tokens->count, n = fill(bytes, 1 + draw(draw(8) ? from->bytes ? 4 : 9 : 18), from, false);
        if (bbpe_pretoken_table_add(tokens, bytes, n, &entry) != BBPE_OK) return fail("no memory");
        if (tokens->count == before) continue;
        entry->value = 256 + before;
        scores[before] = -(double)draw(1000) / 100;
    }
    return 0;
}

static int round_of(const alphabet *from) {
    bbpe_pretoken_table tokens;
    double scores[200];
    uint8_t text[3000];
    if (bbpe_pretoken_table_init(&tokens, 0) != BBPE_OK) return fail("no memory");
    if (draw_tokens(&tokens, scores, from)) return 1;
    bbpe_unigram model;
    if (bbpe_unigram_init(&model, &tokens, scores) != BBPE_OK) return fail("no memory");
    bbpe_pretoken_table_free(&tokens);
    model.unknown_score = -20;
    model.unknown = UINT32_MAX;
    model.has_byte_ids = draw(4);
    model.named = UINT32_MAX;
    model.is_float = draw(2);
    model.has_some_byte_ids = !model.has_byte_ids && draw(2);
    for (uint32_t i = 0; i < 256; i++) model.byte_ids[i] = model.has_some_byte_ids && !draw(8) ? BBPE_UNIGRAM_NO_ID : i;
    const bbpe_unigram slow = model;
    if (bbpe_unigram_prepare(&model) != BBPE_OK) return fail("no memory");
    bbpe_model_scratch scratches[2] = {{0}, {0}};
    int failed = 0;
    for (int i = 0; i < 30 && !failed; i++) {
        const size_t n = fill(text, 1 + draw(draw(3) ? 40 : sizeof text - 1), from, true);
        failed = check_ids(&model, &slow, scratches, text, n) || check_learning(&model, text, n) ||
                 (model.has_byte_ids && check_ways(&model, text, n));
    }
    for (int i = 0; i < 2; i++) bbpe_model_scratch_free(scratches + i);
    bbpe_unigram_free(&model);
    return failed;
}

/* More prefixes than slots can number: there is no table, and the token is found by its bytes. */
static int check_too_many(void) {
    enum { BYTES = 3 * 700000 };
    bbpe_pretoken_table tokens;
    bbpe_pretoken_entry *entry;
    bbpe_unigram model;
    bbpe_model_scratch scratch = {0};
    const double score = -1;
    uint32_t *ids = bbpe_memory_new(BYTES, sizeof *ids);
    uint8_t *text = bbpe_memory_new(BYTES, 1);
    size_t count = 0;
    for (size_t i = 0; i < BYTES; i++) text[i] = (uint8_t)CHARACTERS[i < 3][i % 3]; /* begins nowhere else */
    if (bbpe_pretoken_table_init(&tokens, 0) != BBPE_OK) return fail("no memory");
    if (bbpe_pretoken_table_add(&tokens, text, BYTES, &entry) != BBPE_OK) return fail("no memory");
    entry->value = 7;
    if (bbpe_unigram_init(&model, &tokens, &score) != BBPE_OK) return fail("no memory");
    if (bbpe_unigram_prepare(&model) != BBPE_OK || model.steps.slots != NULL) return fail("a table of too many");
    model.unknown_score = -20;
    const bbpe_model view = bbpe_unigram_view(&model);
    if (view.encode(view.self, &scratch, text, BYTES, ids, &count) != BBPE_OK) return fail("no memory");
    if (count != 1 || ids[0] != 7) return fail("a long token is not found");
    bbpe_model_scratch_free(&scratch);
    bbpe_unigram_free(&model);
    bbpe_pretoken_table_free(&tokens);
    bbpe_memory_free(ids);
    bbpe_memory_free(text);
    return 0;
}

int main(int count, char **arguments) {
    const long rounds = count > 1 ? strtol(arguments[1], NULL, 10) : 100;
    for (long i = 0; i < rounds; i++) {
        const alphabet bytes = {"ab c\n\xC3\xA9\xE4\xB8\xAD", 2 + draw(9)};
        const alphabet characters = {NULL, 2 + draw(CHARACTER_COUNT - 1)};
        if (round_of(&bytes) || round_of(&characters)) return 1;
    }
    if (check_too_many()) return 1;
    printf("%ld rounds\n", rounds);
    return 0;
}
