/* WordPiece against trying every length, BERT's rules on any bytes, learning merges of words, and marked words in parts, some
 * of them matched, against whole ones merged by the heap: exits with 1 when words differ.
 *
 *     words_driver ROUNDS
 *
 * Meant for AddressSanitizer and UBSan: texts, ids and words stand in memory of their size. */
#include <stdio.h>
#include <stdlib.h>

#include "memory/memory.h"
#include "random_below.h"
#include "train/train.h"
#include "models/word_bpe/word_bpe.h"
#include "models/wordpiece/wordpiece.h"

enum { TOKENS = 40, LONGEST = 12, TEXT = 60, LONG_TEXT = 1200 };

static const char *const LETTERS[] = {"a", "b", "é", "中", "\xf0\x9d\x85\x9e", " ", "!", "\xe4\xb8", "Σ", "가", "\xcc\x81", "\n"};
enum { LETTER_COUNT = sizeof LETTERS / sizeof *LETTERS, WORD_LETTERS = 4 };

typedef struct {
    uint8_t bytes[LONGEST];
    size_t n;
    uint32_t root;
} token;

static void must(bbpe_status status) {
    if (status == BBPE_OK) return;
    fprintf(stderr, "status %d\n", (int)status);
    exit(2);
}

static size_t letters(uint8_t *text, size_t limit, size_t of) {
    size_t n = 0;
    for (;;) {
        const char *letter = LETTERS[next(of)];
        const size_t length = strlen(letter);
        if (n + length > limit || (n > 0 && next(8) == 0)) return n;
        memcpy(text + n, letter, length);
        n += length;
    }
}

/* Letters of few kinds, more than a heap is spared for. */
static size_t many_letters(uint8_t *text) {
    const size_t of = 2 + next(LETTER_COUNT - 1);
    size_t n = 0;
    while (n < LONG_TEXT / 2) n += letters(text + n, LONG_TEXT - n, of);
    return n;
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
    must(bbpe_wordpiece_init(&model, TOKENS, 1000, 0));
    for (uint32_t i = 0; i < TOKENS; i++) {
        while ((tokens[i].n = letters(tokens[i].bytes, 1 + next(LONGEST), WORD_LETTERS)) == 0) continue;
        tokens[i].root = (uint32_t)next(2);
        must(bbpe_wordpiece_add(&model, tokens[i].root, tokens[i].bytes, tokens[i].n, i));
    }
    must(bbpe_wordpiece_finalize(&model));
    for (int turn = 0; turn < 50; turn++) {
        uint8_t text[TEXT];
        uint32_t expected[TEXT];
        model.is_bert = next(2);
        model.has_tries = next(2);
        model.rules = (unsigned)next(16);
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

/* A model of bytes in the making. */
enum { FORMS = 800, LONGEST_TOKEN = 60 };

typedef struct {
    bbpe_bpe model;
    uint8_t bytes[FORMS][LONGEST_TOKEN];
    size_t lengths[FORMS];
    uint32_t count, rank;
    uint32_t parts[FORMS]; /* what random merges are made of */
    size_t part_count;
} maker;

/* The token that two make, merged behind all others so far; one that is there already is not made again. */
static uint32_t join(maker *self, uint32_t left, uint32_t right) {
    const size_t n = self->lengths[left] + self->lengths[right];
    uint8_t *bytes = self->bytes[self->count];
    memcpy(bytes, self->bytes[left], self->lengths[left]);
    memcpy(bytes + self->lengths[left], self->bytes[right], self->lengths[right]);
    const bbpe_pretoken_entry *known = bbpe_pretoken_table_find(&self->model.tokens, bytes, n);
    if (known != NULL) return (uint32_t)known->value;
    self->lengths[self->count] = n;
    must(bbpe_bpe_add_token(&self->model, self->count, bytes, n));
    must(bbpe_bpe_add_merge(&self->model, left, right, self->rank++, self->count));
    return self->count++;
}

/* Characters, these with marks, and random merges of what may stand side by side. */
static void make_merges(maker *self) {
    uint32_t outputs[FORMS], starts[FORMS + 1], forms[LETTER_COUNT][4];
    memset(self, 0, sizeof *self);
    must(bbpe_bpe_init(&self->model, FORMS, false, false));
    for (; self->count < 256; self->count++) {
        self->bytes[self->count][0] = (uint8_t)self->count;
        self->lengths[self->count] = 1;
        must(bbpe_bpe_add_token(&self->model, self->count, self->bytes[self->count], 1));
    }
    for (size_t i = 0; i < LETTER_COUNT; i++) {
        const uint8_t *letter = (const uint8_t *)LETTERS[i];
        forms[i][0] = letter[0];
        for (size_t k = 1; letter[k]; k++) forms[i][0] = join(self, forms[i][0], letter[k]);
    }
    for (size_t i = 0; i < LETTER_COUNT; i++) forms[i][1] = join(self, BBPE_WORD_BPE_BEGIN, forms[i][0]);
    for (size_t i = 0; i < LETTER_COUNT; i++)
        for (unsigned place = 0; place < 2; place++) forms[i][2 + place] = join(self, forms[i][place], BBPE_WORD_BPE_END);
    for (size_t i = 0; i < LETTER_COUNT * 4; i++) self->parts[self->part_count++] = forms[i / 4][i % 4];
    for (size_t tries = 0; tries < 300; tries++) {
        const uint32_t left = self->parts[next(self->part_count)], right = self->parts[next(self->part_count)];
        const size_t n = self->lengths[left] + self->lengths[right];
        if (n > LONGEST_TOKEN || self->count >= FORMS - 1 || self->bytes[right][0] == BBPE_WORD_BPE_BEGIN
            || self->bytes[left][self->lengths[left] - 1] == BBPE_WORD_BPE_END)
            continue;
        self->parts[self->part_count < FORMS ? self->part_count++ : next(FORMS)] = join(self, left, right);
    }
    must(bbpe_bpe_finalize(&self->model));
    for (uint32_t i = 0; i <= FORMS; i++) starts[i] = i;
    for (uint32_t i = 0; i < FORMS; i++) outputs[i] = i;
    must(bbpe_bpe_set_outputs(&self->model, starts, outputs));
}

/* The ids of the words of a pretoken, each merged whole. */
static size_t merge_whole(const bbpe_word_bpe *words, bbpe_model_scratch *scratch, const uint8_t *text, size_t n,
                          uint32_t *ids) {
    uint8_t *marked = bbpe_memory_new(bbpe_word_bpe_bound(n), 1);
    size_t *ends = bbpe_memory_new(n, sizeof *ends), word_count = 0, start = 0, count = 0, made;
    must(bbpe_word_bpe_mark(words, scratch, text, n, marked, ends, &word_count));
    for (size_t i = 0; i < word_count; start = ends[i++], count += made)
        must(bbpe_bpe_merge_long(words->bpe, &scratch->work, marked + start, ends[i] - start, 1, ids + count, &made));
    bbpe_memory_free(marked);
    bbpe_memory_free(ends);
    return count;
}

static void check_marked(void) {
    static maker made;
    bbpe_word_bpe words;
    bbpe_model_scratch scratch = {0};
    size_t end;
    make_merges(&made);
    must(bbpe_word_bpe_init(&words, &made.model, next(4) > 0));
    for (size_t i = 0; i < LETTER_COUNT && words.symbols != NULL; i++) {
        const uint32_t c = bbpe_utf8_decode((const uint8_t *)LETTERS[i], 0, strlen(LETTERS[i]), &end);
        if (c != BBPE_UTF8_INVALID) words.symbols[c] = (uint8_t)(next(4) ? 15 : next(16));
    }
    words.begins = words.symbols != NULL && next(2);
    words.ends = words.symbols != NULL && next(2);
    words.fuses = next(2);
    words.drops = next(8) == 0;
    words.spells = !words.begins && !words.ends && next(2);
    for (size_t i = 0; i < sizeof words.spelled; i++) words.spelled[i] = next(4) > 0;
    for (int turn = 0; turn < 50; turn++) {
        uint8_t text[LONG_TEXT];
        uint32_t expected[5 * LONG_TEXT];
        const size_t n = next(8) ? letters(text, TEXT, LETTER_COUNT) : many_letters(text);
        if (n == 0) continue;
        words.has_rules = words.symbols != NULL && !words.spells && next(4) > 0;
        words.is_clip = next(2);
        words.rules = (unsigned)next(32);
        uint8_t *given = exact(text, n);
        uint32_t *ids = bbpe_memory_new(n, sizeof *ids);
        size_t count = 0, wanted = merge_whole(&words, &scratch, given, n, expected);
        must(bbpe_word_bpe_encode(&words, &scratch, given, n, ids, &count));
        if (count != wanted || memcmp(ids, expected, count * sizeof *ids)) {
            fprintf(stderr, "words of %zu bytes have other ids in parts\n", n);
            exit(1);
        }
        bbpe_memory_free(given);
        bbpe_memory_free(ids);
    }
    bbpe_model_scratch_free(&scratch);
    bbpe_word_bpe_free(&words);
    bbpe_bpe_free(&made.model);
}

static void learn(void) {
    bbpe_train_words trainer;
    const uint32_t kinds = 1 + (uint32_t)next(4);
    must(bbpe_train_words_init(&trainer, next(2), next(3)));
    for (size_t words = 1 + next(12); words > 0; words--) {
        uint32_t symbols[LONGEST];
        const size_t n = 1 + next(LONGEST);
        for (size_t i = 0; i < n; i++) symbols[i] = (uint32_t)next(kinds);
        must(bbpe_train_words_add(&trainer, symbols, n, 1 + next(100)));
    }
    if (next(2)) { /* equal scores by strings, some of which are equal or empty */
        uint8_t strings[LONGEST];
        int64_t offsets[5] = {0};
        for (size_t i = 0; i < LONGEST; i++) strings[i] = (uint8_t)next(2);
        for (uint32_t id = 0; id < kinds; id++) offsets[id + 1] = offsets[id] + (int64_t)next(3);
        must(bbpe_train_words_name(&trainer, strings, offsets, kinds));
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
        check_marked();
        learn();
    }
    printf("%ld rounds\n", rounds);
    return 0;
}
