#include "pipeline/token_spans.h"

#include "base/utf8.h"
#include "memory/memory.h"
#include "pipeline/bert_spans.h"

enum { MOST_KEPT = 1 << 18, MOST_IDS_KEPT = 1 << 20 }; /* 4 MiB of spans, 4 MiB of ids */

/* Where the walk over a stretch is. */
typedef struct {
    const bbpe_token_lengths *lengths;
    const bbpe_stretch *stretch;
    size_t at, pretoken, pretoken_start, pretoken_end;
    int64_t word; /* the number of the pretoken among those that are not empty */
} walk;

static void enter_pretoken(walk *self) {
    const bbpe_stretch *stretch = self->stretch;
    while (self->at == self->pretoken_end && self->pretoken < stretch->pretoken_count) {
        self->pretoken_start = self->at;
        self->pretoken_end = stretch->pretokens[self->pretoken++];
        self->word += self->pretoken_end > self->pretoken_start;
    }
}

static uint32_t character_at(const walk *self, size_t at, size_t *next) {
    *next = at + 1;
    if (self->lengths->of_bytes) return self->stretch->text[at];
    return bbpe_utf8_decode(self->stretch->text, at, self->pretoken_end, next);
}

/* The end of the run of unknown characters at a place; that place if the character there is known. */
static size_t after_unknown(const walk *self, size_t at) {
    while (at < self->pretoken_end) {
        size_t next;
        const uint32_t c = character_at(self, at, &next);
        const unsigned position = (unsigned)(at == self->pretoken_start) | (unsigned)(next == self->pretoken_end) << 1;
        if (c != BBPE_UTF8_INVALID && (self->lengths->known[position][c / 64] >> (c % 64) & 1)) break;
        at = next;
    }
    return at;
}

/* The end of what an unknown token stands for. */
static size_t unknown_end(const walk *self) {
    size_t next;
    if (self->lengths->whole) return self->pretoken_end;
    const size_t end = self->lengths->fuses ? after_unknown(self, self->at) : self->at;
    if (end > self->at) return end;
    (void)character_at(self, self->at, &next);
    return next;
}

static void skip_dropped(walk *self) {
    size_t before;
    if (!self->lengths->drops) return;
    do {
        before = self->at;
        enter_pretoken(self);
        self->at = after_unknown(self, self->at);
    } while (self->at != before);
}

/* The end of `length` bytes of characters that are known: a token may join what was around characters that are left out. */
static size_t after_known(const walk *self, size_t length) {
    size_t at = self->at, next;
    while (length > 0 && (at = after_unknown(self, at)) < self->pretoken_end) {
        (void)character_at(self, at, &next);
        if (next - at > length) break;
        length -= next - at;
        at = next;
    }
    return length > 0 ? SIZE_MAX : at;
}

/* Take the next id; false when there is not as much left as it stands for. */
static bool take(walk *self, uint32_t id) {
    const bbpe_token_lengths *lengths = self->lengths;
    if (id >= lengths->id_count) return false;
    enter_pretoken(self);
    if (self->at >= self->pretoken_end) return false;
    const uint32_t length = (self->at == self->pretoken_start ? lengths->first : lengths->inside)[id];
    const size_t end = length == BBPE_LENGTH_VARIES ? unknown_end(self)
                       : lengths->drops             ? after_known(self, length)
                                                    : self->at + length;
    if (end <= self->at || end > self->pretoken_end) return false;
    self->at = end;
    return true;
}

/* The spans of tokens that stand for as many bytes everywhere, of a stretch [start, end); false when they do not stand for all
 * of it, or one varies. */
static bool put_fixed(const bbpe_token_lengths *lengths, size_t start, size_t end, const uint32_t *ids, size_t count,
                      bbpe_text_span *spans) {
    bool varies = false;
    size_t at = start;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= lengths->id_count) return false;
        uint32_t length = lengths->extents[ids[i]].bytes;
        if (BBPE_UNLIKELY(length == 0)) {
            length = lengths->inside[ids[i]];
            varies |= length - 1 >= BBPE_LENGTH_VARIES - 1; /* or is 0 */
        }
        spans[i] = (bbpe_text_span){(int64_t)at, (int64_t)(at + length)};
        at += length;
    }
    return !varies && at == end;
}

/* The same of any tokens, with the numbers of their pretokens. */
static bool put_varying(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch, const uint32_t *ids, size_t count,
                        bbpe_text_span *spans, int64_t *words) {
    const bool is_whole = stretch->pretokens == NULL;
    walk self = {lengths, stretch, 0, 0, 0, is_whole ? stretch->n : 0, is_whole ? 0 : -1};
    for (size_t i = 0; i < count; i++) {
        skip_dropped(&self);
        const size_t start = self.at;
        if (!take(&self, ids[i])) return false;
        spans[i] = (bbpe_text_span){(int64_t)start, (int64_t)self.at};
        if (words != NULL) words[i] = self.word;
    }
    skip_dropped(&self);
    return self.at == stretch->n;
}

/* The span in text[0..n) of a span of a stretch. */
static bbpe_text_span source_span(const bbpe_stretch_source *source, const uint8_t *text, size_t n, bbpe_text_span span) {
    const size_t last = source->sources[span.end - 1];
    size_t after = last + source->is_exact;
    if (last < n && !source->is_exact) (void)bbpe_utf8_decode(text, last, n, &after);
    return (bbpe_text_span){(int64_t)source->sources[span.start], (int64_t)after};
}

bool bbpe_token_spans(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch, const bbpe_stretch_source *source,
                      const uint8_t *text, size_t n, const uint32_t *ids, size_t count, bbpe_text_span *spans, int64_t *words) {
    const bool is_fixed = words == NULL && lengths->extents != NULL;
    size_t at = source->sources == NULL ? source->at : 0;
    if (lengths->is_bert) return bbpe_bert_spans(lengths, stretch->text, stretch->n, ids, count, false, &at, spans);
    const bool is_put = is_fixed && put_fixed(lengths, at, at + stretch->n, ids, count, spans);
    if (!is_put && !put_varying(lengths, stretch, ids, count, spans, words)) return false;
    if (source->sources != NULL)
        for (size_t i = 0; i < count; i++) spans[i] = source_span(source, text, n, spans[i]);
    else if (!is_put)
        for (size_t i = 0; i < count; i++)
            spans[i] = (bbpe_text_span){(int64_t)at + spans[i].start, (int64_t)at + spans[i].end};
    return true;
}

bool bbpe_token_spans_count(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch, const bbpe_stretch_source *source,
                            const uint8_t *text, size_t n, const uint32_t *ids, size_t count, bbpe_offsets_place *place,
                            bbpe_text_span *spans) {
    if (count == 0 && stretch->n == 0) return true;
    if ((lengths->extents == NULL && !lengths->is_bert) || source->sources != NULL) return false;
    bbpe_offsets_move(place, text, n, source->at);
    if (lengths->is_bert) {
        if (!bbpe_bert_spans(lengths, stretch->text, stretch->n, ids, count, true, &place->chars, spans)) return false;
        place->byte += stretch->n;
        return true;
    }
    size_t bytes = 0, chars = place->chars;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= lengths->id_count) return false;
        const bbpe_token_extent extent = lengths->extents[ids[i]];
        if (BBPE_UNLIKELY(extent.bytes == 0)) return false;
        const size_t after = chars + (extent.characters & ~BBPE_EXTENT_IS_WITHIN);
        spans[i] = (bbpe_text_span){(int64_t)(chars - extent.characters / BBPE_EXTENT_IS_WITHIN), (int64_t)after};
        bytes += extent.bytes;
        chars = after;
    }
    if (bytes != stretch->n) return false;
    *place = (bbpe_offsets_place){source->at + bytes, chars};
    return true;
}

bbpe_token_extent bbpe_token_extent_of(const uint8_t *token, size_t n) {
    unsigned heads = 0;
    if (n == 0 || n > BBPE_EXTENT_MOST) return (bbpe_token_extent){0};
    for (size_t i = 0; i < n; i++) heads += !bbpe_utf8_is_tail(token[i]);
    return (bbpe_token_extent){(uint8_t)n, (uint8_t)(heads + (bbpe_utf8_is_tail(token[0]) ? BBPE_EXTENT_IS_WITHIN : 0))};
}

size_t bbpe_stretch_word_count(const bbpe_stretch *stretch) {
    size_t count = 0, end = 0;
    if (stretch->pretokens == NULL) return stretch->n > 0;
    for (size_t i = 0; i < stretch->pretoken_count; end = stretch->pretokens[i++]) count += stretch->pretokens[i] > end;
    return count;
}

void bbpe_span_scratch_trim(bbpe_span_scratch *self) {
    if (self->capacity > MOST_IDS_KEPT || self->span_capacity > MOST_KEPT || self->count_capacity > MOST_KEPT
        || self->end_capacity > MOST_KEPT)
        bbpe_span_scratch_free(self);
}

void bbpe_span_scratch_free(bbpe_span_scratch *self) {
    bbpe_memory_free(self->ids);
    bbpe_memory_free(self->spans);
    bbpe_memory_free(self->words);
    bbpe_memory_free(self->counts);
    bbpe_memory_free(self->ends);
    memset(self, 0, sizeof *self);
}
