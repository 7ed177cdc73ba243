/* Tokens looked for in texts of few letters, by walks and by the automaton, against trying every token at every place:
 * matcher_driver ROUNDS. */
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/pipeline.h"
#include "memory/memory.h"
#include "random_below.h"

enum { TOKENS = 24, LONGEST = 12, TEXT = 400 };

typedef struct {
    uint8_t bytes[TOKENS][LONGEST];
    size_t lengths[TOKENS], count;
    uint64_t policy[1];
} sample;

static void check(bool is_right, const char *what) {
    if (is_right) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* Different tokens, in order or reversed, as entries of a table. */
static void fill(bbpe_pretoken_table *table, const sample *tokens, bool reversed) {
    check(bbpe_pretoken_table_init(table, 7) == BBPE_OK, "no memory");
    for (size_t i = 0; i < tokens->count; i++) {
        uint8_t bytes[LONGEST];
        const size_t n = tokens->lengths[i];
        for (size_t k = 0; k < n; k++) bytes[k] = tokens->bytes[i][reversed ? n - 1 - k : k];
        bbpe_pretoken_entry *entry;
        check(bbpe_pretoken_table_add(table, bytes, n, &entry) == BBPE_OK, "no memory");
        entry->value = BBPE_MATCHER_TOKEN | i;
    }
}

static void draw(sample *tokens) {
    tokens->count = 0;
    tokens->policy[0] = 0;
    const size_t wanted = 1 + next(TOKENS);
    for (size_t i = 0; i < wanted; i++) {
        uint8_t *bytes = tokens->bytes[tokens->count];
        const size_t n = 1 + next(LONGEST);
        for (size_t k = 0; k < n; k++) bytes[k] = (uint8_t)('a' + next(2));
        bool is_new = true;
        for (size_t k = 0; k < tokens->count; k++)
            is_new &= tokens->lengths[k] != n || memcmp(tokens->bytes[k], bytes, n) != 0;
        if (!is_new) continue;
        tokens->policy[0] |= (uint64_t)(next(4) > 0) << tokens->count;
        tokens->lengths[tokens->count++] = n;
    }
}

static size_t slow(const sample *tokens, const uint8_t *text, size_t n, bbpe_match *found) {
    size_t count = 0;
    for (size_t at = 0; at < n;) {
        size_t length = 0, token = 0;
        for (size_t i = 0; i < tokens->count; i++) {
            const size_t m = tokens->lengths[i];
            if (!(tokens->policy[0] >> i & 1) || m <= length || m > n - at || memcmp(text + at, tokens->bytes[i], m)) continue;
            length = m;
            token = i;
        }
        if (length > 0) found[count++] = (bbpe_match){at, at + length, (uint32_t)token};
        at += length > 0 ? length : 1;
    }
    return count;
}

static void compare(const bbpe_matches *found, const bbpe_match *expected, size_t count, const char *what) {
    check(found->count == count, what);
    for (size_t i = 0; i < count; i++)
        check(found->items[i].start == expected[i].start && found->items[i].end == expected[i].end
                  && found->items[i].token == expected[i].token,
              what);
}

static void try_round(void) {
    sample tokens;
    draw(&tokens);
    bbpe_pretoken_table forward, backward;
    fill(&forward, &tokens, false);
    fill(&backward, &tokens, true);
    bbpe_matcher matcher;
    bbpe_matcher_linear linear;
    check(bbpe_matcher_init(&matcher, &forward, tokens.count) == BBPE_OK, "no memory");
    check(bbpe_matcher_linear_init(&linear, &backward, tokens.count) == BBPE_OK, "no memory");
    bbpe_pretoken_table_free(&forward);
    bbpe_pretoken_table_free(&backward);
    uint32_t *best = bbpe_memory_new(linear.trie.slot_count, sizeof *best);
    check(best != NULL, "no memory");
    bbpe_matcher_linear_best(&linear, tokens.policy, best);
    const size_t n = next(TEXT);
    uint8_t *text = bbpe_memory_new(n + 1, 1); /* of its own, so that reading past it is seen */
    bbpe_match *expected = bbpe_memory_new(n + 1, sizeof *expected);
    check(text != NULL && expected != NULL, "no memory");
    for (size_t i = 0; i < n; i++) text[i] = (uint8_t)('a' + next(3) % 2 + (next(9) == 0));
    const size_t count = slow(&tokens, text, n, expected);
    bbpe_matches walked = {0}, searched = {0};
    size_t at = 0, from = 0;
    bool is_slow;
    check(bbpe_matcher_find(&matcher, tokens.policy, text, n, SIZE_MAX, &at, &is_slow, &walked) == BBPE_OK, "no memory");
    check(!is_slow && at == n, "a short text was slow");
    compare(&walked, expected, count, "walks differ");
    check(bbpe_matcher_linear_find(&linear, best, tokens.lengths, matcher.longest, text, n, SIZE_MAX, &from, &searched) == BBPE_OK,
          "no memory");
    compare(&searched, expected, count, "the automaton differs");
    bbpe_memory_free(walked.items);
    bbpe_memory_free(searched.items);
    bbpe_memory_free(text);
    bbpe_memory_free(expected);
    bbpe_memory_free(best);
    bbpe_matcher_free(&matcher);
    bbpe_matcher_linear_free(&linear);
}

int main(int count, char **arguments) {
    const long rounds = count > 1 ? strtol(arguments[1], NULL, 10) : 1000;
    for (long i = 0; i < rounds; i++) try_round();
    printf("%ld rounds\n", rounds);
    return 0;
}
