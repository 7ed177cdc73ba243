/* Three steps of a chain in one pass: a split at white space, marks in place of blanks and in front of words, and a split in
 * front of marks.  Most words have one mark, which begins them. */
#include "pipeline/mark_step.h"

#include "memory/memory.h"
#include "text/text.h"

typedef struct {
    const bbpe_pre_tokenizer_step *step;
    const uint8_t *text;
    bool with_places;
    bbpe_spans *out;
    bbpe_rewritten *written;
    const uint8_t *mark; /* that is written */
    size_t mark_size;
    size_t head; /* bytes of the text that come from the first character of the whole text */
} marking;

/* Note that the next bytes come from `from`, so many of them, and those after them from there on, in turn. */
BBPE_INLINE bool note(const marking *self, size_t held, size_t from) {
    bbpe_rewritten *written = self->written;
    if (!self->with_places) return true;
    if (bbpe_sources_reserve(&written->sources, 1) != BBPE_OK) return false;
    if (held == 0) bbpe_sources_copy(&written->sources, written->used, from);
    else bbpe_sources_put_before(&written->sources, written->used, held, from);
    return true;
}

BBPE_INLINE void put_mark(const marking *self) {
    bbpe_rewritten *written = self->written;
    for (size_t i = 0; i < self->mark_size; i++) written->bytes[written->used + i] = self->mark[i];
    written->used += self->mark_size;
}

BBPE_INLINE bool is_mark(const marking *self, size_t i, size_t end) {
    const bbpe_pre_tokenizer_step *step = self->step;
    return self->text[i] == step->mark[0] && end - i >= step->mark_size
           && memcmp(self->text + i, step->mark, step->mark_size) == 0;
}

BBPE_INLINE bool put_span(const marking *self, size_t start) {
    bbpe_spans *out = self->out;
    if (out->count == out->capacity && bbpe_spans_reserve(out, 1) != BBPE_OK) return false;
    out->items[out->count++] = (bbpe_span){start, self->written->used};
    return true;
}

/* Write a word, for which there is room; false without memory for its spans. */
BBPE_INLINE bool put_word(const marking *self, bbpe_span word, bool has_prefix) {
    const uint8_t *text = self->text;
    bbpe_rewritten *written = self->written;
    size_t start = written->used;
    for (size_t i = word.start; i < word.end;) {
        const bool is_blank = text[i] == ' ', is_boundary = is_blank || is_mark(self, i, word.end);
        if (!is_boundary) {
            const bool is_marked = i == word.start && has_prefix;
            if (!note(self, is_marked ? self->mark_size : 0, i)) return false;
            if (is_marked) put_mark(self);
            do written->bytes[written->used++] = text[i++];
            while (i < word.end && text[i] != ' ' && !is_mark(self, i, word.end));
            continue;
        }
        if (written->used > start) {
            if (!put_span(self, start)) return false;
            start = written->used;
        }
        if (!note(self, is_blank ? self->mark_size - 1 : 0, i)) return false;
        put_mark(self);
        i += is_blank ? 1 : self->step->mark_size;
    }
    return put_span(self, start);
}

/* The length of the white space at text[i], i < end, or 0. */
BBPE_INLINE size_t space_at(const uint8_t *text, size_t i, size_t end) {
    const uint8_t byte = text[i];
    if (byte < 0x80) return byte == ' ' || (byte >= '\t' && byte <= '\r');
    if (byte != 0xC2 && byte - 0xE1u > 2) return 0;
    size_t next;
    const uint32_t c = bbpe_utf8_decode(text, i, end, &next);
    return c != BBPE_UTF8_INVALID && bbpe_character_get(c)->flags & BBPE_CHARACTER_SPACE ? next - i : 0;
}

/* How long the first bytes of a word are when they are written, without a prefix. */
static size_t written_size(const marking *self, bbpe_span word, size_t end) {
    size_t size = 0;
    for (size_t i = word.start; i < end;) {
        const bool is_blank = self->text[i] == ' ', is_boundary = is_blank || is_mark(self, i, word.end);
        size += is_boundary ? self->mark_size : 1;
        i += is_boundary && !is_blank ? self->step->mark_size : 1;
    }
    return size;
}

/* Write a word, after the prefix if it gets one; `*head` is where what comes from the head of the text ends. */
static bool put_marked(const marking *self, bbpe_span word, size_t *head) {
    const bbpe_pre_tokenizer_step *step = self->step;
    const bool is_in_head = word.start < self->head, has_prefix = step->prefix_size && (!step->only_first || is_in_head);
    const size_t start = self->written->used;
    if (!put_word(self, word, has_prefix)) return false;
    if (!is_in_head) return true;
    const bool begins_with_mark = self->text[word.start] == ' ' || is_mark(self, word.start, word.end);
    *head = self->head >= word.end ? self->written->used
                                   : start + (has_prefix && !begins_with_mark ? self->mark_size : 0)
                                         + written_size(self, word, self->head);
    return true;
}

/* Write the words of a span. */
static bool put_words(const marking *self, bbpe_span span, size_t *head) {
    for (size_t i = span.start, size; i < span.end;) {
        if ((size = space_at(self->text, i, span.end)) > 0) {
            i += size;
            continue;
        }
        const size_t start = i;
        while (i < span.end && space_at(self->text, i, span.end) == 0) i++;
        if (!put_marked(self, (bbpe_span){start, i}, head)) return false;
    }
    return true;
}

static bool reserve(const marking *self, size_t n) {
    bbpe_rewritten *written = self->written;
    const size_t size = self->mark_size;
    if (n > SIZE_MAX / 32 / (size + 1)) return false;
    const size_t most = written->used + size + (size + 1) * n; /* a mark for each blank, or for each word of one byte */
    uint8_t *bytes = bbpe_memory_reserve(written->bytes, &written->capacity, most, 1);
    if (bytes == NULL) return false;
    written->bytes = bytes;
    return true;
}

bbpe_status bbpe_mark_step_apply(const bbpe_pre_tokenizer_step *step, const uint8_t *text, const bbpe_spans *in, size_t *head,
                                 bool with_places, bbpe_spans *out, bbpe_rewritten *written) {
    static const uint8_t BLANK[1] = {' '};
    const uint8_t *mark = step->unmarks ? BLANK : step->mark;
    const marking self = {step, text, with_places, out, written, mark, step->unmarks ? 1 : step->mark_size, *head};
    written->used = written->sources.count = *head = 0;
    for (size_t i = 0; i < in->count; i++) {
        const bbpe_span span = in->items[i];
        if (!reserve(&self, span.end - span.start)) return BBPE_NO_MEMORY;
        if (!(step->drops_space ? put_words(&self, span, head) : put_marked(&self, span, head))) return BBPE_NO_MEMORY;
    }
    return BBPE_OK;
}
