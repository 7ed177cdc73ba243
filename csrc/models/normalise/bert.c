#include "models/normalise/bert.h"

#include "models/normalise/bert_table.h"
#include "base/utf8.h"

enum { REPLACEMENT = 0xFFFD, HANGUL = 0xAC00, HANGUL_COUNT = 11172, VOWELS = 21, TRAILS = 28 };

typedef struct {
    bbpe_bert_words *words;
    unsigned rules;
    size_t start; /* of the word that is not ended */
    size_t run;   /* of the marks that may change places */
} writer;

static const bbpe_bert_row *row_of(uint32_t c) {
    const uint32_t block = bbpe_bert_block[c / BBPE_BERT_BLOCK];
    return bbpe_bert_rows + bbpe_bert_value[block * BBPE_BERT_BLOCK + c % BBPE_BERT_BLOCK];
}

static void end_word(writer *self) {
    bbpe_bert_words *words = self->words;
    if (words->used > self->start) words->ends[words->count++] = words->used;
    self->start = self->run = words->used;
}

/* By what a normal form sorts a mark; 0 for other characters. */
static uint32_t order_of(uint32_t c) {
    size_t low = 0, high = sizeof bbpe_bert_moving / sizeof *bbpe_bert_moving / 2;
    if (!(row_of(c)->flags & BBPE_BERT_MOVES)) return 0;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (bbpe_bert_moving[2 * middle] <= c) low = middle;
        else high = middle;
    }
    return bbpe_bert_moving[2 * low + 1];
}

/* Put a mark before those of its run that are sorted after it. */
static void put_sorted(writer *self, uint32_t c) {
    bbpe_bert_words *words = self->words;
    uint8_t mark[4];
    size_t at = words->used, next;
    const size_t length = bbpe_utf8_write(mark, c);
    while (at > self->run) {
        size_t before = at - 1;
        while (bbpe_utf8_is_tail(words->bytes[before])) before--;
        if (order_of(bbpe_utf8_decode(words->bytes, before, words->used, &next)) <= order_of(c)) break;
        at = before;
    }
    memmove(words->bytes + at + length, words->bytes + at, words->used - at);
    memcpy(words->bytes + at, mark, length);
    words->used += length;
}

static void put_lowered(writer *self, uint32_t c) {
    bbpe_bert_words *words = self->words;
    const uint32_t *text = bbpe_bert_texts + row_of(c)->lowered;
    if (!(self->rules & BBPE_BERT_LOWER) || *text == 0) {
        words->used += bbpe_utf8_write(words->bytes + words->used, c);
        return;
    }
    for (uint32_t i = 1; i <= *text; i++) words->used += bbpe_utf8_write(words->bytes + words->used, text[i]);
}

/* A character that is decomposed, if it is to be. */
static void put_character(writer *self, uint32_t c) {
    const unsigned flags = row_of(c)->flags;
    const bool is_sorted = self->rules & BBPE_BERT_STRIP;
    if (is_sorted && (flags & BBPE_BERT_NONSPACING)) {
        if (!(flags & BBPE_BERT_MOVES)) self->run = self->words->used;
        return;
    }
    if (flags & BBPE_BERT_SPACE) {
        end_word(self);
    } else if ((flags & BBPE_BERT_PUNCTUATION) && !(self->rules & BBPE_BERT_JOIN)) {
        end_word(self);
        put_lowered(self, c);
        end_word(self);
    } else if (is_sorted && (flags & BBPE_BERT_MOVES)) {
        put_sorted(self, c);
    } else {
        put_lowered(self, c);
        self->run = self->words->used;
    }
}

static void put_hangul(writer *self, uint32_t syllable) {
    put_character(self, 0x1100 + syllable / (VOWELS * TRAILS));
    put_character(self, 0x1161 + syllable / TRAILS % VOWELS);
    if (syllable % TRAILS) put_character(self, 0x11A7 + syllable % TRAILS);
}

static void put_decomposed(writer *self, uint32_t c) {
    const uint32_t *text = bbpe_bert_texts + row_of(c)->decomposed;
    if (!(self->rules & BBPE_BERT_STRIP)) put_character(self, c);
    else if (c - HANGUL < HANGUL_COUNT) put_hangul(self, c - HANGUL);
    else if (*text == 0) put_character(self, c);
    else
        for (uint32_t i = 1; i <= *text; i++) put_character(self, text[i]);
}

void bbpe_bert_split(unsigned rules, const uint8_t *text, size_t n, bbpe_bert_words *words) {
    writer self = {words, rules, 0, 0};
    words->used = words->count = 0;
    for (size_t i = 0; i < n;) {
        uint32_t c = bbpe_utf8_decode(text, i, n, &i);
        if (c == BBPE_UTF8_INVALID) c = REPLACEMENT;
        const unsigned flags = row_of(c)->flags;
        if ((rules & BBPE_BERT_CLEAN) && (flags & BBPE_BERT_DROPPED)) continue;
        const bool is_apart = (rules & BBPE_BERT_APART) && (flags & BBPE_BERT_IDEOGRAPH);
        if (is_apart) end_word(&self);
        put_decomposed(&self, c);
        if (is_apart) end_word(&self);
    }
    end_word(&self);
}
