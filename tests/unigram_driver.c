/* Unigram models of random tokens on random bytes, for the sanitizers: encoding, ways, substrings and learning.
 *
 *   unigram ROUNDS */
#include <stdio.h>

#include "memory.h"
#include "substrings.h"
#include "unigram.h"
#include "unigram_train.h"
#include "unigram_ways.h"

static uint64_t state = 1;

static uint64_t draw(uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void fill(uint8_t *bytes, size_t n, const char *alphabet, size_t letters) {
    for (size_t i = 0; i < n; i++) bytes[i] = draw(40) ? (uint8_t)alphabet[draw(letters)] : (uint8_t)draw(256);
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

static int check_text(const bbpe_unigram *model, bbpe_model_scratch *scratch, const uint8_t *text, size_t n) {
    const bbpe_model view = bbpe_unigram_view(model);
    uint32_t *ids = bbpe_memory_new(n, sizeof *ids);
    size_t count = 0;
    if (view.encode(view.self, scratch, text, n, ids, &count) != BBPE_OK) return fail("no memory");
    if (!spells(model, ids, count, text, n)) return fail("encoding lost bytes");
    bbpe_memory_free(ids);
    bbpe_unigram_ways ways = {NULL, NULL, NULL, 0};
    if (bbpe_unigram_ways_best(&ways, model, text, n, 1 + draw(5)) != BBPE_OK) return fail("no memory");
    for (size_t i = 0, first = 0; i < ways.count; first = ways.ends[i++])
        if (!spells(model, ways.ids + first, ways.ends[i] - first, text, n)) return fail("a way lost bytes");
    bbpe_unigram_ways_free(&ways);
    if (bbpe_unigram_ways_draw(&ways, model, text, n, 0.3, &state) != BBPE_OK) return fail("no memory");
    if (!spells(model, ways.ids, ways.ends[0], text, n)) return fail("a drawn way lost bytes");
    bbpe_unigram_ways_free(&ways);
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

static int round_of(const char *alphabet, size_t letters) {
    bbpe_pretoken_table tokens;
    double scores[200];
    uint8_t bytes[20], text[3000];
    if (bbpe_pretoken_table_init(&tokens) != BBPE_OK) return fail("no memory");
    while (tokens.count < 1 + draw(150)) {
        bbpe_pretoken_entry *entry;
        const size_t n = 1 + draw(draw(8) ? 4 : 18);
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)alphabet[draw(letters)];
        if (bbpe_pretoken_table_add(&tokens, bytes, n, &entry) != BBPE_OK) return fail("no memory");
        entry->value = 256 + tokens.count - 1;
        for (size_t i = 0; i < tokens.count; i++)
            if (tokens.entries + i == entry) entry->value = 256 + i;
        scores[tokens.count - 1] = -(double)draw(1000) / 100;
    }
    bbpe_unigram model;
    if (bbpe_unigram_init(&model, &tokens, scores) != BBPE_OK) return fail("no memory");
    bbpe_pretoken_table_free(&tokens);
    model.unknown_score = -20;
    model.unknown = UINT32_MAX;
    model.has_byte_ids = true;
    model.is_float = draw(2);
    for (uint32_t i = 0; i < 256; i++) model.byte_ids[i] = i;
    bbpe_model_scratch scratch = {0};
    int failed = 0;
    for (int i = 0; i < 30 && !failed; i++) {
        const size_t n = 1 + draw(draw(3) ? 40 : sizeof text - 1);
        fill(text, n, alphabet, letters);
        failed = check_text(&model, &scratch, text, n) || check_learning(&model, text, n);
    }
    bbpe_model_scratch_free(&scratch);
    bbpe_unigram_free(&model);
    return failed;
}

int main(int count, char **arguments) {
    const long rounds = count > 1 ? strtol(arguments[1], NULL, 10) : 100;
    for (long i = 0; i < rounds; i++)
        if (round_of("ab c\n\xC3\xA9\xE4\xB8\xAD", 2 + draw(9))) return 1;
    printf("%ld rounds\n", rounds);
    return 0;
}
