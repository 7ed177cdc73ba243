/* WordPiece against trying every length, BERT's rules on any bytes, and learning merges of words: exits with 1 when
 * words differ.
 *
 *     words_driver ROUNDS
 *
 * Meant for AddressSanitizer and UBSan: texts, ids and words stand in memory of their size. */
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "train_words.h"
#include "wordpiece.h"

enum { TOKENS = 40, LONGEST = 12, TEXT = 60 };

static const char *const LETTERS[] = {"a", "b", "é", "中", "\xf0\x9d\x85\x9e", " ", "!", "\xe4\xb8", "Σ", "가", "\xcc\x81", "\n"};
enum { LETTER_COUNT = sizeof LETTERS / sizeof *LETTERS, WORD_LETTERS = 4 };

typedef struct {
    uint8_t bytes[LONGEST];
    size_t n;
    uint32_t root;
} token;

static uint64_t random_state = 88172645463325252u;

static size_t below(size_t limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)((random_state >> 11) % limit);
}

static void must(bbpe_status status) {
    if (status == BBPE_OK) return;
    fprintf(stderr, "status %d\n", (int)status);
    exit(2);
}

static size_t letters(uint8_t *text, size_t limit, size_t of) {
    size_t n = 0;
    for (;;) {
        const char *letter = LETTERS[below(of)];
        const size_t length = strlen(letter);
        if (n + length > limit || (n > 0 && below(8) == 0)) return n;
        memcpy(text + n, letter, length);
        n += length;
    }
}

static uint8_t *exact(const uint8_t *bytes, size_t n) {
    uint8_t *copy = bbpe_memory_new(n, 1);
    if (copy == NULL) must(BBPE_NO_MEMORY);
    memcpy(copy, bytes, n);
    return copy;
}

/* The ids of a word by trying every length, or 0. */
static size_t slow(const token *tokens, const uint8_t *word, size_t n, uint32_t *ids) {
    size_t count = 0;
    for (size_t start = 0, best; start < n; start += best) {
        best = 0;
        for (uint32_t i = 0; i < TOKENS; i++) {
            const token *t = tokens + i;
            if (t->root != (start > 0) || t->n < best || t->n > n - start || memcmp(t->bytes, word + start, t->n)) continue;
            best = t->n; /* of two with the same bytes the last counts */
            ids[count] = i;
        }
        if (best == 0) return 0;
        count++;
    }
    return count;
}

static void check_words(void) {
    token tokens[TOKENS];
    bbpe_wordpiece model;
    bbpe_model_scratch scratch = {0};
    must(bbpe_wordpiece_init(&model, TOKENS, 1000));
    for (uint32_t i = 0; i < TOKENS; i++) {
        while ((tokens[i].n = letters(tokens[i].bytes, 1 + below(LONGEST), WORD_LETTERS)) == 0) continue;
        tokens[i].root = (uint32_t)below(2);
        must(bbpe_wordpiece_add(&model, tokens[i].root, tokens[i].bytes, tokens[i].n, i));
    }
    must(bbpe_wordpiece_settle(&model));
    for (int turn = 0; turn < 50; turn++) {
        uint8_t text[TEXT];
        uint32_t expected[TEXT];
        model.is_bert = below(2);
        model.rules = (unsigned)below(16);
        const size_t n = letters(text, TEXT, model.is_bert ? LETTER_COUNT : WORD_LETTERS);
        if (n == 0) continue;
        uint8_t *word = exact(text, n);
        uint32_t *ids = bbpe_memory_new(n, sizeof *ids);
        size_t count = 0, wanted = slow(tokens, word, n, expected);
        must(bbpe_wordpiece_encode(&model, &scratch, word, n, ids, &count));
        if (wanted == 0) expected[wanted++] = TOKENS;
        if (!model.is_bert && (count != wanted || memcmp(ids, expected, count * sizeof *ids))) {
            fprintf(stderr, "a word of %zu bytes has other ids\n", n);
            exit(1);
        }
        bbpe_memory_free(word);
        bbpe_memory_free(ids);
    }
    bbpe_model_scratch_free(&scratch);
    bbpe_wordpiece_free(&model);
}

static void learn(void) {
    bbpe_train_words trainer;
    const uint32_t kinds = 1 + (uint32_t)below(4);
    must(bbpe_train_words_init(&trainer, below(2), below(3)));
    for (size_t words = 1 + below(12); words > 0; words--) {
        uint32_t symbols[LONGEST];
        const size_t n = 1 + below(LONGEST);
        for (size_t i = 0; i < n; i++) symbols[i] = (uint32_t)below(kinds);
        must(bbpe_train_words_add(&trainer, symbols, n, 1 + below(100)));
    }
    must(bbpe_train_words_begin(&trainer));
    for (uint32_t id = kinds; id < 60 && bbpe_train_words_best(&trainer) != NULL; id++)
        must(bbpe_train_words_merge(&trainer, id));
    bbpe_train_words_free(&trainer);
}

int main(int argc, char **argv) {
    const long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    for (long round = 0; round < rounds; round++) {
        check_words();
        learn();
    }
    printf("%ld rounds\n", rounds);
    return 0;
}
