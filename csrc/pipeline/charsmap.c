#include "pipeline/charsmap.h"

#include "memory/memory.h"
#include "base/utf8.h"

enum { MARK_WORDS = 0x10000 / 64, SLACK = 8, BLANK_LENGTH = 3, MARKED = 1, BLANK = 2 };
static const uint8_t blank_mark[BLANK_LENGTH] = {0xE2, 0x96, 0x81}; /* U+2581 */

/* One text on its way: what is left of it always has room in the output. */
typedef struct {
    const bbpe_charsmap *map;
    bbpe_charsmap_output *output;
    const uint8_t *text;
    size_t n, done;  /* text[0..done) has been dealt with */
    size_t source;   /* that what is put comes from */
    bool after_blank; /* a blank now would be too many */
} writer;

bbpe_status bbpe_charsmap_output_grow(bbpe_charsmap_output *self, size_t need, size_t puts) {
    uint8_t *bytes = bbpe_memory_reserve(self->bytes, &self->capacity, need, sizeof *bytes);
    if (bytes == NULL) return BBPE_NO_MEMORY;
    self->bytes = bytes;
    return self->with_places ? bbpe_sources_reserve(&self->sources, puts + BBPE_CHARSMAP_RUNS) : BBPE_OK;
}

void bbpe_charsmap_output_free(bbpe_charsmap_output *self) {
    bbpe_memory_free(self->bytes);
    bbpe_sources_free(&self->sources);
}

bbpe_status bbpe_charsmap_init(bbpe_charsmap *self, const uint8_t *table, size_t n, unsigned rules) {
    memset(self, 0, sizeof *self);
    self->rules = rules;
    if (n) {
        size_t size = 0;
        if (n < 4) return BBPE_TOO_LARGE;
        for (size_t i = 4; i--;) size = size << 8 | table[i];
        if (size > n - 4 || size % 4) return BBPE_TOO_LARGE;
        self->units = table + 4;
        self->unit_count = size / 4;
        self->texts = table + 4 + size;
        self->texts_end = n - 4 - size;
        while (self->texts_end && self->texts[self->texts_end - 1]) self->texts_end--;
        if (self->unit_count) self->root = bbpe_charsmap_offset(bbpe_charsmap_unit(self, 0));
    }
    self->marks = bbpe_memory_zeroed(MARK_WORDS, sizeof *self->marks);
    if (self->marks == NULL) return BBPE_NO_MEMORY;
    if (rules & BBPE_CHARSMAP_SQUEEZES) self->stops[' '] = BLANK;
    return bbpe_pretoken_table_init(&self->kept_strings, 0);
}

void bbpe_charsmap_free(bbpe_charsmap *self) {
    bbpe_memory_free(self->marks);
    bbpe_trie_free(&self->kept);
    bbpe_pretoken_table_free(&self->kept_strings);
}

void bbpe_charsmap_mark(bbpe_charsmap *self, uint32_t character) {
    if (character < 128) self->stops[character] |= MARKED;
    if (character > 0xFFFF) self->marks_beyond = true;
    else self->marks[character / 64] |= (uint64_t)1 << character % 64;
}

void bbpe_charsmap_mark_as(bbpe_charsmap *self, const bbpe_charsmap *other) {
    for (size_t i = 0; i < MARK_WORDS; i++) self->marks[i] |= other->marks[i];
    for (size_t i = 0; i < 128; i++) self->stops[i] |= other->stops[i] & MARKED;
    self->marks_beyond |= other->marks_beyond;
}

bbpe_status bbpe_charsmap_keep(bbpe_charsmap *self, const uint8_t *bytes, size_t n) {
    bbpe_pretoken_entry *entry;
    const size_t id = self->kept_strings.count;
    const bbpe_status status = bbpe_pretoken_table_add(&self->kept_strings, bytes, n, &entry);
    if (status == BBPE_OK && self->kept_strings.count > id) entry->value = (uint64_t)1 << 32 | id;
    return status;
}

/* Whether a key begins with a blank. */
static bool has_blank_key(const bbpe_charsmap *self) {
    const size_t index = self->root ^ ' ';
    if (index >= self->unit_count) return false;
    const uint32_t unit = bbpe_charsmap_unit(self, index);
    return unit >> 31 == 0 && (unit & 0xFF) == ' ';
}

bbpe_status bbpe_charsmap_finalize(bbpe_charsmap *self) {
    self->skips = self->kept_strings.count == 0 && !has_blank_key(self);
    if (self->kept_strings.count == 0) return BBPE_OK;
    return bbpe_trie_init(&self->kept, &self->kept_strings, (uint64_t)1 << 32, self->kept_strings.count);
}

/* How long the shortest or the longest key is that s[0..n) begins with, 0 if there is none; where its value is, and in
 * `*seen` how many bytes begin keys. */
BBPE_INLINE size_t walk(const bbpe_charsmap *self, const uint8_t *s, size_t n, bool is_shortest, const uint8_t **value,
                        size_t *length, size_t *seen) {
    size_t found = 0, at = 0, index = self->root;
    *seen = 0;
    for (size_t i = 0; i < n && i < BBPE_CHARSMAP_LONGEST_KEY && s[i] && !(is_shortest && found); i++) {
        index ^= s[i];
        if (index >= self->unit_count) break;
        const uint32_t unit = bbpe_charsmap_unit(self, index);
        if (unit >> 31 || (unit & 0xFF) != s[i]) break;
        index ^= bbpe_charsmap_offset(unit);
        *seen = i + 1;
        if (!(unit >> 8 & 1)) continue;
        if (index >= self->unit_count) break;
        const size_t text = bbpe_charsmap_unit(self, index) & 0x7FFFFFFF;
        if (text < self->texts_end) {
            found = i + 1;
            at = text;
        }
    }
    if (found) {
        *value = self->texts + at;
        *length = strlen((const char *)*value);
    }
    return found;
}

size_t bbpe_charsmap_shortest(const bbpe_charsmap *self, const uint8_t *s, size_t n, const uint8_t **value, size_t *length) {
    size_t seen;
    return walk(self, s, n, true, value, length, &seen);
}

size_t bbpe_charsmap_longest(const bbpe_charsmap *self, const uint8_t *s, size_t n, const uint8_t **value, size_t *length) {
    size_t seen;
    return walk(self, s, n, false, value, length, &seen);
}

/* The child of a node by a byte; 0 if there is none. */
BBPE_INLINE uint32_t child_of(const bbpe_charsmap *self, size_t base, uint8_t byte) {
    const size_t index = base ^ byte;
    const uint32_t unit = byte != 0 && index < self->unit_count ? bbpe_charsmap_unit(self, index) : 0;
    return unit >> 31 || (unit & 0xFF) != byte ? 0 : unit;
}

bool bbpe_charsmap_goes_on(const bbpe_charsmap *self, const uint8_t *s, size_t n) {
    size_t base = self->root;
    for (size_t i = 0; i < n; i++) {
        const uint32_t unit = child_of(self, base, s[i]);
        if (unit == 0) return false;
        base ^= s[i] ^ bbpe_charsmap_offset(unit);
    }
    for (unsigned byte = 1; byte < 256; byte++)
        if (child_of(self, base, (uint8_t)byte) != 0) return n < BBPE_CHARSMAP_LONGEST_KEY;
    return false;
}

/* The longest one, or a string that is kept. */
static size_t match(const bbpe_charsmap *self, const uint8_t *s, size_t n, const uint8_t **value, size_t *length,
                    size_t *seen) {
    if (self->kept.slots != NULL && bbpe_trie_longest(&self->kept, s, n, length) != BBPE_TRIE_NONE) {
        *value = s;
        *seen = 0;
        return *length;
    }
    return walk(self, s, n, false, value, length, seen);
}

static bool is_blank_mark(const uint8_t *s, size_t n) {
    return n >= BLANK_LENGTH && !memcmp(s, blank_mark, BLANK_LENGTH);
}

/* Copy what is not dealt with before text[end]. */
static void copy(writer *self, size_t end) {
    bbpe_charsmap_output *output = self->output;
    const size_t size = end - self->done;
    self->source = end;
    if (size == 0) return;
    memcpy(output->bytes + output->used, self->text + self->done, size);
    if (output->with_places) bbpe_sources_copy(&output->sources, output->used, self->done);
    output->used += size;
    self->after_blank = self->text[end - 1] == ' ';
    self->done = end;
}

static void put_byte(writer *self, uint8_t byte) {
    if (self->output->with_places) bbpe_sources_put(&self->output->sources, self->output->used, 1, self->source);
    self->output->bytes[self->output->used++] = byte;
}

static void put_blank(writer *self, bool is_mark) {
    const bool squeezes = self->map->rules & BBPE_CHARSMAP_SQUEEZES;
    if (!is_mark && squeezes && self->after_blank) return;
    put_byte(self, ' ');
    self->after_blank = !is_mark;
}

static bbpe_status put(writer *self, const uint8_t *value, size_t length) {
    bbpe_charsmap_output *output = self->output;
    const size_t left = self->n - self->done;
    if (length > SIZE_MAX - left || output->used > SIZE_MAX - SLACK - left - length) return BBPE_TOO_LARGE;
    const bbpe_status status = bbpe_charsmap_reserve(output, output->used + left + length + SLACK, length);
    if (status != BBPE_OK) return status;
    for (size_t i = 0; i < length; i++) {
        if (value[i] == ' ') {
            put_blank(self, false);
        } else if (self->map->rules & BBPE_CHARSMAP_UNMARKS && is_blank_mark(value + i, length - i)) {
            put_blank(self, true);
            i += BLANK_LENGTH - 1;
        } else {
            put_byte(self, value[i]);
            self->after_blank = false;
        }
    }
    return BBPE_OK;
}

/* Let what would become more blanks go, if one was put for a character of which no two begin a key: of newlines alone 1.5
 * instead of 19 ns each. */
static void skip_blanks(writer *self, uint8_t character) {
    const uint8_t *text = self->text;
    if (self->map->kept.slots != NULL || !(self->map->rules & BBPE_CHARSMAP_SQUEEZES) || !self->after_blank) return;
    while (self->done + 1 < self->n && text[self->done] == character && text[self->done + 1] == character) self->done++;
}

/* Put the value of a key at text[start] or not, which is not dealt with, and `*found` how long the key is. */
static bbpe_status replace(writer *self, size_t start, size_t *found) {
    const uint8_t *value = NULL;
    size_t length = 0, seen;
    *found = match(self->map, self->text + start, self->n - start, &value, &length, &seen);
    if (*found == 0) return BBPE_OK;
    copy(self, start);
    self->done = start + *found;
    const bbpe_status status = put(self, value, length);
    if (seen == 1 && length == 1 && value[0] == ' ') skip_blanks(self, self->text[start]);
    return status;
}

bool bbpe_charsmap_is_marked(const bbpe_charsmap *self, const uint8_t *s, size_t n, size_t *size) {
    uint32_t c;
    *size = 1;
    if (s[0] < 0x80) return self->stops[s[0]] & MARKED;
    if (s[0] >= 0xF0) return self->marks_beyond;
    if (s[0] >= 0xE0) {
        if (n < 3 || !bbpe_utf8_is_tail(s[1]) || !bbpe_utf8_is_tail(s[2])) return false;
        c = (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
        *size = 3;
    } else {
        if (s[0] < 0xC0 || n < 2 || !bbpe_utf8_is_tail(s[1])) return false;
        c = (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
        *size = 2;
    }
    return self->marks[c / 64] >> c % 64 & 1;
}

/* Look for a key at the character before text[i], and at text[i]. */
static bbpe_status replace_around(writer *self, size_t i, size_t *found) {
    *found = 0;
    if (i > self->done) {
        size_t before = i - 1;
        while (before > self->done && i - before < 4 && bbpe_utf8_is_tail(self->text[before])) before--;
        const bbpe_status status = replace(self, before, found);
        if (status != BBPE_OK || *found) return status;
    }
    return replace(self, i, found);
}

/* Whether a blank at text[i] is one too many. */
static bool is_too_many(const writer *self, size_t i) {
    return i > self->done ? self->text[i - 1] == ' ' : self->after_blank;
}

/* Where the next character is that may not be copied as it is; `*marked` whether a key may be there. */
static size_t next_stop(const writer *self, size_t i, bool *marked, size_t *size) {
    const bbpe_charsmap *map = self->map;
    const uint8_t *text = self->text;
    const bool unmarks = map->rules & BBPE_CHARSMAP_UNMARKS;
    for (; i < self->n; i += *size) {
        *size = 1;
        if (BBPE_LIKELY(text[i] < 0x80)) {
            const unsigned stop = map->stops[text[i]];
            if (BBPE_LIKELY(!stop) || (stop == BLANK && !is_too_many(self, i))) continue;
            *marked = stop & MARKED;
            return i;
        }
        *marked = bbpe_charsmap_is_marked(map, text + i, self->n - i, size);
        if (*marked || (unmarks && *size == BLANK_LENGTH && is_blank_mark(text + i, self->n - i))) return i;
    }
    return i;
}

static bbpe_status write_all(writer *self) {
    const bool unmarks = self->map->rules & BBPE_CHARSMAP_UNMARKS;
    size_t i = 0, size = 0, found;
    bool marked = false;
    while ((i = next_stop(self, i, &marked, &size)) < self->n) {
        bbpe_status status = marked ? replace_around(self, i, &found) : replace(self, i, &found);
        if (status != BBPE_OK) return status;
        if (found) {
            i = self->done;
            continue;
        }
        const bool mark = unmarks && size == BLANK_LENGTH && is_blank_mark(self->text + i, self->n - i);
        if (mark || (self->text[i] == ' ' && self->map->stops[' '] & BLANK && is_too_many(self, i))) {
            copy(self, i);
            status = put(self, NULL, 0); /* room */
            if (status != BBPE_OK) return status;
            put_blank(self, mark);
            self->done = i + size;
            while (!mark && self->map->skips && self->done < self->n && self->text[self->done] == ' ') self->done++;
            i = self->done;
            continue;
        }
        i += size;
    }
    copy(self, self->n);
    return BBPE_OK;
}

bool bbpe_charsmap_are_blanks(const bbpe_charsmap *self, const uint8_t *text, size_t n) {
    for (size_t i = 0; i < n;) {
        const uint8_t *value;
        size_t length, seen;
        const size_t found = match(self, text + i, n - i, &value, &length, &seen);
        if (found ? length != 1 || value[0] != ' ' : text[i] != ' ') return false;
        i += found ? found : 1;
    }
    return true;
}

bbpe_status bbpe_charsmap_apply(const bbpe_charsmap *self, const uint8_t *text, size_t n,
                                bbpe_charsmap_output *output) {
    writer state = {self, output, text, n, 0, 0, true};
    const size_t start = output->used;
    const bool squeezes = self->rules & BBPE_CHARSMAP_SQUEEZES, appends = self->rules & BBPE_CHARSMAP_APPENDS;
    if (n == 0 || (squeezes && appends && bbpe_charsmap_are_blanks(self, text, n))) return BBPE_OK;
    bbpe_status status = put(&state, NULL, 0); /* room */
    if (status != BBPE_OK) return status;
    if (self->rules & BBPE_CHARSMAP_PREPENDS) put_byte(&state, ' ');
    const size_t first = output->used;
    if (self->rules & BBPE_CHARSMAP_BEGINS) put_blank(&state, true);
    status = write_all(&state);
    if (squeezes)
        while (output->used > first && output->bytes[output->used - 1] == ' ') output->used--;
    if (output->used == first) output->used = start;
    bbpe_sources_cut(&output->sources, output->used);
    state.source = n - 1;
    if (status == BBPE_OK && appends) put_byte(&state, ' ');
    return status;
}
