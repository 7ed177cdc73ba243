#include "pipeline/token_places.h"

#include "base/utf8.h"
#include "memory/memory.h"
#include "pipeline/bert_places.h"

enum { MOST_KEPT = 1 << 18, MOST_IDS_KEPT = 1 << 20 }; /* 4 MiB of places, 4 MiB of ids */

/* Where the walk over a stretch is. */
typedef struct {
    const bbpe_token_lengths *lengths;
    const bbpe_stretch *stretch;
    size_t at, pretoken, pretoken_start, pretoken_end;
    int64_t word; /* the number of the pretoken among those that are not empty */
} walk;

static void enter_pretoken(walk *self) {
    const bbpe_stretch *stretch = self->stretch;
    while (self->at >= self->pretoken_end && self->pretoken < stretch->pretoken_count) {
        self->pretoken_start = self->pretoken_end;
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

/* Whether a pretoken is longer than the text of the unknown token, and begins with it: the id does not tell what it stands for. */
static bool is_ambiguous(const walk *self) {
    const bbpe_token_lengths *lengths = self->lengths;
    if (lengths->unknown == NULL || self->pretoken_end - self->at <= lengths->unknown_size) return false;
    return !memcmp(self->stretch->text + self->at, lengths->unknown, lengths->unknown_size);
}

/* The end of what an unknown token stands for, or the present place if the id does not tell it. */
static size_t unknown_end(const walk *self) {
    size_t next;
    if (self->lengths->whole) return is_ambiguous(self) ? self->at : self->pretoken_end;
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

/* The places of tokens that stand for as many bytes everywhere, of a stretch [start, end); false when they do not stand for all
 * of it, or one varies. */
static bool put_fixed(const bbpe_token_lengths *lengths, size_t start, size_t end, const uint32_t *ids, size_t count,
                      bbpe_place *places) {
    bool varies = false;
    size_t at = start;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= lengths->id_count) return false;
        uint32_t length = lengths->extents[ids[i]].bytes;
        if (BBPE_UNLIKELY(length == 0)) {
            length = lengths->inside[ids[i]];
            varies |= length - 1 >= BBPE_LENGTH_VARIES - 1; /* or is 0 */
        }
        places[i] = (bbpe_place){(int64_t)at, (int64_t)(at + length)};
        at += length;
    }
    return !varies && at == end;
}

static walk begin_walk(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch) {
    const bool is_whole = stretch->pretokens == NULL;
    return (walk){lengths, stretch, 0, 0, 0, is_whole ? stretch->n : 0, is_whole ? 0 : -1};
}

/* The same of any tokens, with the numbers of their pretokens. */
static bool put_varying(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch, const uint32_t *ids, size_t count,
                        bbpe_place *places, int64_t *words) {
    walk self = begin_walk(lengths, stretch);
    for (size_t i = 0; i < count; i++) {
        skip_dropped(&self);
        const size_t start = self.at;
        if (!take(&self, ids[i])) return false;
        places[i] = (bbpe_place){(int64_t)start, (int64_t)self.at};
        if (words != NULL) words[i] = self.word;
    }
    skip_dropped(&self);
    return self.at == stretch->n;
}

/* The end of the character that a byte of text[0..n) is in; bytes of what the text does not have are at its end. */
static size_t end_of(const uint8_t *text, size_t n, size_t at) {
    size_t next = at;
    if (at < n) (void)bbpe_utf8_decode(text, bbpe_utf8_start(text, at, n), n, &next);
    return next;
}

/* Let a place of a stretch be that in text[0..n) that it comes from; returns the run of its last byte. */
static size_t place_of(const bbpe_source_view *view, size_t run, bool is_exact, const uint8_t *text, size_t n, bbpe_place *place) {
    run = bbpe_source_view_find(view, run, (size_t)place->start);
    const size_t start = bbpe_source_run_at(view->runs + run, view->from + (size_t)place->start);
    run = bbpe_source_view_find(view, run, (size_t)place->end - 1);
    const size_t last = bbpe_source_run_at(view->runs + run, view->from + (size_t)place->end - 1);
    const bool is_simple = is_exact || (last < n && text[last] < 0x80);
    place->start = (int64_t)(is_exact || start >= n ? start : bbpe_utf8_start(text, start, n));
    place->end = (int64_t)(is_simple ? last + 1 : end_of(text, n, last));
    return run;
}

static void find_sources(const bbpe_stretch_source *source, const uint8_t *text, size_t n, size_t count, bbpe_place *places) {
    size_t run = bbpe_source_view_begin(&source->sources);
    for (size_t i = 0; i < count; i++) run = place_of(&source->sources, run, source->is_exact, text, n, places + i);
}

/* Bytes of a stretch before `end` are copied from those `ahead` of them in the text, modulo 2^64. */
typedef struct {
    size_t end, ahead;
} copied_part;

/* Where the walk over a changed stretch is, and in its sources. */
typedef struct {
    walk walk;
    bbpe_source_view view;
    const uint8_t *text;
    size_t n, run;
    bool is_exact, in_chars;
    bbpe_offsets_place cursor; /* of the last place, in characters */
    copied_part copied;       /* from the present place on */
} changed_walk;

/* What is copied from the present place on; empty if that is not. */
static copied_part find_copied(changed_walk *self) {
    const bbpe_source_view *view = &self->view;
    const size_t at = self->walk.at;
    self->run = bbpe_source_view_find(view, self->run, at);
    const bbpe_source_run *run = view->runs + self->run;
    /* of bytes that were put, the last one may come from where those begin that are copied */
    if (run->held > 0 && view->from + at - run->start <= run->held) return (copied_part){0, 0};
    const size_t end = self->run + 1 < view->count ? run[1].start - view->from : self->walk.stretch->n;
    return (copied_part){end, run->source + view->from - run->start - run->held};
}

/* The place of the bytes of the stretch before `end`, which may come from several places. */
static bbpe_place put_any(changed_walk *self, size_t end) {
    bbpe_place place = {(int64_t)self->walk.at, (int64_t)end};
    const bool is_exact = self->is_exact || self->in_chars; /* any byte of a character counts for it */
    self->run = place_of(&self->view, self->run, is_exact, self->text, self->n, &place);
    if (self->in_chars) bbpe_offsets_count(self->text, self->n, &self->cursor, &place.start, &place.end);
    return place;
}

/* The place of an id with bytes that were put and copied bytes after them, such as the first one of a word after a mark, in
 * characters; false if it is not so simple. */
BBPE_INLINE bool put_marked(changed_walk *self, bbpe_token_extent extent, bbpe_place *place) {
    const bbpe_source_run *run = self->view.runs + self->run;
    const uint8_t *const bytes = self->walk.stretch->text;
    const size_t at = self->walk.at, end = at + extent.bytes, middle = run->start + run->held - self->view.from;
    const size_t next = self->run + 1 < self->view.count ? run[1].start - self->view.from : self->walk.stretch->n;
    if (run->held == SIZE_MAX || middle < at || middle >= end || end > next || run->source >= self->n) return false;
    const uint8_t first = self->text[run->source];
    if (bytes[middle] != first || bbpe_utf8_is_tail(first)) return false; /* the last byte that was put, or a part of a character */
    size_t heads = extent.characters & ~BBPE_EXTENT_IS_WITHIN;
    for (size_t i = at; i < middle; i++) heads -= !bbpe_utf8_is_tail(bytes[i]);
    if (self->cursor.byte != run->source) bbpe_offsets_move(&self->cursor, self->text, self->n, run->source);
    place->start = (int64_t)self->cursor.chars;
    self->cursor = (bbpe_offsets_place){run->source + (end - middle), self->cursor.chars + heads};
    place->end = (int64_t)self->cursor.chars;
    return true;
}

/* The bytes of an id that is copied from text[start..). */
static bbpe_place put_copied(const changed_walk *self, size_t start, size_t size) {
    const size_t end = start + size;
    if (self->is_exact) return (bbpe_place){(int64_t)start, (int64_t)end};
    const bool is_within = end < self->n && bbpe_utf8_is_tail(self->text[end]);
    return (bbpe_place){(int64_t)bbpe_utf8_start(self->text, start, self->n),
                            (int64_t)(is_within ? end_of(self->text, self->n, end - 1) : end)};
}

/* The characters of an id that is copied from where the last one has ended. */
BBPE_INLINE bbpe_place count_copied(bbpe_offsets_place *cursor, bbpe_token_extent extent) {
    const size_t before = cursor->chars - extent.characters / BBPE_EXTENT_IS_WITHIN;
    cursor->byte += extent.bytes;
    cursor->chars += extent.characters & ~BBPE_EXTENT_IS_WITHIN;
    return (bbpe_place){(int64_t)before, (int64_t)cursor->chars};
}

/* Put the next id, whatever it comes from; false when it stands for something else. */
static bool put_next(changed_walk *self, uint32_t id, bbpe_place *place) {
    const bbpe_token_extent extent = self->walk.lengths->extents[id];
    const size_t at = self->walk.at, end = at + extent.bytes;
    if (extent.bytes == 0) {
        if (!take(&self->walk, id)) return false;
        const size_t after = self->walk.at;
        self->walk.at = at;
        *place = put_any(self, after);
        self->walk.at = after;
        return true;
    }
    if (end > self->copied.end) self->copied = find_copied(self);
    if (end > self->copied.end) {
        if (!self->in_chars || !put_marked(self, extent, place)) *place = put_any(self, end);
    } else if (self->in_chars) {
        bbpe_offsets_move(&self->cursor, self->text, self->n, at + self->copied.ahead);
        *place = count_copied(&self->cursor, extent);
    } else {
        *place = put_copied(self, at + self->copied.ahead, extent.bytes);
    }
    self->walk.at = end;
    return true;
}

/* The places of tokens that stand for as many bytes everywhere, but for unknown ones, of a stretch that was changed. */
static bool put_changed(changed_walk *self, const uint32_t *ids, size_t count, bbpe_place *places) {
    const bbpe_token_lengths *const lengths = self->walk.lengths;
    const size_t n = self->walk.stretch->n;
    const bool in_chars = self->in_chars;
    bbpe_offsets_place cursor = self->cursor;
    size_t at = self->walk.at, copied_end = self->copied.end, ahead = self->copied.ahead;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= lengths->id_count) return false;
        const bbpe_token_extent extent = lengths->extents[ids[i]];
        const size_t end = at + extent.bytes;
        if (BBPE_LIKELY(in_chars && end <= copied_end && extent.bytes > 0 && cursor.byte == at + ahead)) {
            places[i] = count_copied(&cursor, extent);
            at = end;
            continue;
        }
        if (end > n) return false;
        self->walk.at = at;
        self->cursor = cursor;
        if (!put_next(self, ids[i], places + i)) return false;
        at = self->walk.at;
        cursor = self->cursor;
        copied_end = self->copied.end;
        ahead = self->copied.ahead;
    }
    self->cursor = cursor;
    return at == n;
}

/* The places of a stretch, changed or not, in bytes or with a `place` in characters. */
static bool put_sources(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch, const bbpe_stretch_source *source,
                        const uint8_t *text, size_t n, const uint32_t *ids, size_t count, bbpe_offsets_place *cursor,
                        bbpe_place *places) {
    const bool is_changed = source->sources.runs != NULL;
    const bbpe_source_run whole = {0, source->at, 0};
    const bbpe_source_view view = is_changed ? source->sources : (bbpe_source_view){&whole, 1, 0};
    changed_walk self = {.walk = begin_walk(lengths, stretch), .view = view, .text = text, .n = n};
    self.run = bbpe_source_view_begin(&view);
    self.is_exact = !is_changed || source->is_exact;
    self.in_chars = cursor != NULL;
    if (cursor != NULL) self.cursor = *cursor;
    const bool is_put = put_changed(&self, ids, count, places);
    if (is_put && cursor != NULL) *cursor = self.cursor;
    return is_put;
}

bool bbpe_token_places(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch, const bbpe_stretch_source *source,
                      const uint8_t *text, size_t n, const uint32_t *ids, size_t count, bbpe_place *places, int64_t *words) {
    const bool is_fixed = words == NULL && lengths->extents != NULL;
    size_t at = source->sources.runs == NULL ? source->at : 0;
    if (lengths->is_bert) return bbpe_bert_places(lengths, stretch->text, stretch->n, ids, count, false, &at, places);
    if (is_fixed && source->sources.runs == NULL && put_fixed(lengths, at, at + stretch->n, ids, count, places)) return true;
    if (is_fixed) return put_sources(lengths, stretch, source, text, n, ids, count, NULL, places);
    if (!put_varying(lengths, stretch, ids, count, places, words)) return false;
    if (source->sources.runs != NULL) find_sources(source, text, n, count, places);
    else
        for (size_t i = 0; i < count; i++)
            places[i] = (bbpe_place){(int64_t)at + places[i].start, (int64_t)at + places[i].end};
    return true;
}

/* The places of tokens that stand for as many bytes everywhere, of a stretch that was not changed; false if one varies. */
static bool count_fixed(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch, size_t at, const uint32_t *ids, size_t count,
                        bbpe_offsets_place *cursor, bbpe_place *places) {
    size_t bytes = 0, chars = cursor->chars;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= lengths->id_count) return false;
        const bbpe_token_extent extent = lengths->extents[ids[i]];
        if (BBPE_UNLIKELY(extent.bytes == 0)) return false;
        const size_t after = chars + (extent.characters & ~BBPE_EXTENT_IS_WITHIN);
        places[i] = (bbpe_place){(int64_t)(chars - extent.characters / BBPE_EXTENT_IS_WITHIN), (int64_t)after};
        bytes += extent.bytes;
        chars = after;
    }
    if (bytes != stretch->n) return false;
    *cursor = (bbpe_offsets_place){at + bytes, chars};
    return true;
}

bool bbpe_token_places_count(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch, const bbpe_stretch_source *source,
                            const uint8_t *text, size_t n, const uint32_t *ids, size_t count, bbpe_offsets_place *cursor,
                            bbpe_place *places) {
    const bool is_changed = source->sources.runs != NULL;
    if (count == 0 && stretch->n == 0) return true;
    if (lengths->extents == NULL && !lengths->is_bert) return false;
    if (!is_changed) bbpe_offsets_move(cursor, text, n, source->at);
    if (lengths->is_bert) {
        if (!bbpe_bert_places(lengths, stretch->text, stretch->n, ids, count, true, &cursor->chars, places)) return false;
        cursor->byte += stretch->n;
        return true;
    }
    if (!is_changed && count_fixed(lengths, stretch, source->at, ids, count, cursor, places)) return true;
    return put_sources(lengths, stretch, source, text, n, ids, count, cursor, places);
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

void bbpe_place_scratch_trim(bbpe_place_scratch *self) {
    if (self->capacity > MOST_IDS_KEPT || self->place_capacity > MOST_KEPT || self->count_capacity > MOST_KEPT
        || self->end_capacity > MOST_KEPT)
        bbpe_place_scratch_free(self);
}

void bbpe_place_scratch_free(bbpe_place_scratch *self) {
    bbpe_memory_free(self->ids);
    bbpe_memory_free(self->places);
    bbpe_memory_free(self->words);
    bbpe_memory_free(self->counts);
    bbpe_memory_free(self->ends);
    memset(self, 0, sizeof *self);
}
