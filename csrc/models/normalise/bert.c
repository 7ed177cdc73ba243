#include "models/normalise/bert.h"

#include "text/text.h"

enum { REPLACEMENT = 0xFFFD };

typedef struct {
    bbpe_bert_words *words;
    unsigned rules;
    size_t start; /* of the word that is not ended */
    size_t run;   /* of the marks that may change places */
} writer;

static void end_word(writer *self) {
    bbpe_bert_words *words = self->words;
    if (words->used > self->start) words->ends[words->count++] = words->used;
    self->start = self->run = words->used;
}

/* Put a mark before those of its run that are sorted after it. */
static void put_sorted(writer *self, uint32_t c) {
    bbpe_bert_words *words = self->words;
    uint8_t mark[4];
    size_t at = words->used, next;
    const size_t length = bbpe_utf8_write(mark, c);
    const uint8_t order = bbpe_character_get(c)->order;
    while (at > self->run) {
        size_t before = at - 1;
        while (bbpe_utf8_is_tail(words->bytes[before])) before--;
        if (bbpe_character_get(bbpe_utf8_decode(words->bytes, before, words->used, &next))->order <= order) break;
        at = before;
    }
    memmove(words->bytes + at + length, words->bytes + at, words->used - at);
    memcpy(words->bytes + at, mark, length);
    words->used += length;
}

static bool is_space(const writer *self, uint32_t c, unsigned flags) {
    return self->rules & BBPE_BERT_BLANK ? c == ' ' || c == '\n' || c == '\r' : (flags & BBPE_CHARACTER_SPACE) != 0;
}

static void put_lowered(writer *self, uint32_t c) {
    bbpe_bert_words *words = self->words;
    const uint32_t *text = bbpe_character_texts + bbpe_character_get(c)->lowered;
    if (!(self->rules & BBPE_BERT_LOWER) || *text == 0) {
        words->used += bbpe_utf8_write(words->bytes + words->used, c);
        return;
    }
    for (uint32_t i = 1; i <= *text; i++) words->used += bbpe_utf8_write(words->bytes + words->used, text[i]);
}

/* A character that is decomposed, if it is to be. */
static void put_character(writer *self, uint32_t c) {
    const unsigned flags = bbpe_character_get(c)->flags;
    const bool is_sorted = self->rules & BBPE_BERT_STRIP;
    if (is_sorted && (flags & BBPE_CHARACTER_NONSPACING)) {
        if (!(flags & BBPE_CHARACTER_ORDERED)) self->run = self->words->used;
        return;
    }
    if (is_space(self, c, flags)) {
        end_word(self);
    } else if ((flags & BBPE_CHARACTER_PUNCTUATION) && !(self->rules & BBPE_BERT_JOIN)) {
        end_word(self);
        put_lowered(self, c);
        end_word(self);
    } else if (is_sorted && (flags & BBPE_CHARACTER_ORDERED)) {
        put_sorted(self, c);
    } else {
        put_lowered(self, c);
        self->run = self->words->used;
    }
}

static void put_decomposed(writer *self, uint32_t c) {
    const uint32_t *text = bbpe_character_texts + bbpe_character_get(c)->decomposed;
    uint32_t jamo[3];
    if (!(self->rules & BBPE_BERT_STRIP)) {
        put_character(self, c);
    } else if (c - BBPE_HANGUL < BBPE_HANGUL_COUNT) {
        const unsigned count = bbpe_hangul_decompose(c - BBPE_HANGUL, jamo);
        for (unsigned i = 0; i < count; i++) put_character(self, jamo[i]);
    } else if (*text == 0) {
        put_character(self, c);
    } else {
        for (uint32_t i = 1; i <= *text; i++) put_character(self, text[i]);
    }
}

void bbpe_bert_split(unsigned rules, const uint8_t *text, size_t n, bbpe_bert_words *words) {
    writer self = {words, rules, 0, 0};
    words->used = words->count = 0;
    for (size_t i = 0; i < n;) {
        uint32_t c = bbpe_utf8_decode(text, i, n, &i);
        if (c == BBPE_UTF8_INVALID) c = REPLACEMENT;
        const unsigned flags = bbpe_character_get(c)->flags;
        if ((rules & BBPE_BERT_CLEAN) && (flags & BBPE_CHARACTER_DROPPED)) continue;
        const bool is_apart = (rules & BBPE_BERT_APART) && (flags & BBPE_CHARACTER_IDEOGRAPH);
        if (is_apart) end_word(&self);
        put_decomposed(&self, c);
        if (is_apart) end_word(&self);
    }
    end_word(&self);
}
