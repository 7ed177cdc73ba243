/* The keys of a table, all of them once: what is broken is found, and the characters that keys may begin at. */
#include "pipeline/charsmap.h"

#include "memory/memory.h"
#include "base/utf8.h"

enum { MOST_STEPS = 2000000, MOST_UNITS = 1 << 30 }; /* a table of NFKC has 225,000 keys */

/* The children of each base, and the texts that are UTF-8 up to their ends.  Many keys of two characters and more go on
 * alike, by the same nodes: what follows them is looked at once, as no character there is marked. */
typedef struct {
    bbpe_charsmap *map;
    uint32_t *first, *units; /* the children of base b are units[first[b]..first[b + 1]) */
    size_t bases;
    uint8_t *is_text;
    uint16_t *seen; /* by base: the fewest bytes of a key of two characters or more that leads there; 0: none yet */
} keys;

/* A node of the walk: the base of its children, the next child, where its last character begins in the key, and how many
 * there are before that, up to two. */
typedef struct {
    size_t base;
    uint32_t next;
    uint16_t start, count;
} level;

/* A unit's label: its index is the base of its parent ^ the label; 0 for a unit that is no child. */
static uint32_t label_of(const bbpe_charsmap *self, size_t i) {
    const uint32_t unit = bbpe_charsmap_unit(self, i);
    return unit >> 31 ? 0 : unit & 0xFF;
}

/* Order units by the base of their parents. */
static bbpe_status list_children(keys *self) {
    const size_t count = self->map->unit_count;
    self->bases = (count | 0xFF) + 1;
    self->first = bbpe_memory_zeroed(self->bases + 2, sizeof *self->first);
    self->units = bbpe_memory_new(count, sizeof *self->units);
    if (self->first == NULL || self->units == NULL) return BBPE_NO_MEMORY;
    uint32_t *ends = self->first + 1; /* first of the next base, once all are counted */
    for (size_t i = 0; i < count; i++) {
        const uint32_t label = label_of(self->map, i);
        if (label) ends[(i ^ label) + 1]++;
    }
    for (size_t base = 1; base <= self->bases; base++) ends[base] += ends[base - 1];
    for (size_t i = 0; i < count; i++) {
        const uint32_t label = label_of(self->map, i);
        if (label) self->units[ends[i ^ label]++] = (uint32_t)i;
    }
    return BBPE_OK;
}

/* From the last text to the first, so that none is read twice. */
static bbpe_status check_texts(keys *self) {
    const bbpe_charsmap *map = self->map;
    self->is_text = bbpe_memory_zeroed(map->texts_end + 1, 1);
    if (self->is_text == NULL) return BBPE_NO_MEMORY;
    for (size_t i = map->texts_end, next; i-- > 0;) {
        const bool is_valid = bbpe_utf8_decode(map->texts, i, map->texts_end, &next) != BBPE_UTF8_INVALID;
        self->is_text[i] = map->texts[i] == 0 || (is_valid && self->is_text[next]);
    }
    return BBPE_OK;
}

/* Mark a key of one character, or the second one of others. */
static void mark_key(bbpe_charsmap *map, const uint8_t *key, size_t n) {
    size_t next;
    const uint32_t first = bbpe_utf8_decode(key, 0, n, &next);
    bbpe_charsmap_mark(map, next == n ? first : bbpe_utf8_decode(key, next, n, &next));
}

/* Whether the value of a key, the unit at an index, is a text. */
static bool is_value(const keys *self, size_t index) {
    if (index >= self->map->unit_count) return false;
    const size_t text = bbpe_charsmap_unit(self->map, index) & 0x7FFFFFFF;
    return text < self->map->texts_end && self->is_text[text];
}

static uint32_t first_child(const keys *self, size_t base) {
    return base < self->bases ? self->first[base] : 0;
}

static uint32_t end_of_children(const keys *self, size_t base) {
    return base < self->bases ? self->first[base + 1] : 0;
}

/* Whether what follows a key of two characters or more was looked at, as far as it is looked at here. */
static bool was_seen(const keys *self, size_t base, size_t length) {
    if (base >= self->bases) return true; /* nothing does */
    if (self->seen[base] != 0 && self->seen[base] <= length) return true;
    self->seen[base] = (uint16_t)length;
    return false;
}

static bool walk(const keys *self) {
    level levels[BBPE_CHARSMAP_LONGEST_KEY + 1];
    uint8_t key[BBPE_CHARSMAP_LONGEST_KEY];
    size_t depth = 0, steps = 0;
    levels[0] = (level){self->map->root, first_child(self, self->map->root), 0, 0};
    for (;;) {
        level *at = levels + depth;
        size_t end;
        if (at->next == end_of_children(self, at->base)) {
            if (depth-- == 0) return true;
            continue;
        }
        if (++steps > MOST_STEPS) return false;
        const uint32_t i = self->units[at->next++], unit = bbpe_charsmap_unit(self->map, i);
        const size_t base = i ^ bbpe_charsmap_offset(unit);
        key[depth] = (uint8_t)unit;
        const size_t length = depth + 1;
        const bool is_whole = bbpe_utf8_decode(key, at->start, length, &end) != BBPE_UTF8_INVALID;
        if ((unit >> 8 & 1) && !(is_whole && is_value(self, base))) return false;
        const uint16_t count = at->count < 2 && is_whole ? at->count + 1 : at->count;
        /* all keys of more characters have the same second one */
        if (is_whole && (at->count == 1 || (at->count == 0 && (unit >> 8 & 1)))) mark_key(self->map, key, length);
        if (length == BBPE_CHARSMAP_LONGEST_KEY || (is_whole && count == 2 && was_seen(self, base, length))) continue;
        levels[length] = (level){base, first_child(self, base), is_whole ? (uint16_t)length : at->start, count};
        depth = length;
    }
}

bbpe_status bbpe_charsmap_mark_keys(bbpe_charsmap *self, bool *is_broken) {
    keys all = {self, NULL, NULL, 0, NULL, NULL};
    *is_broken = false;
    if (self->unit_count == 0) return BBPE_OK;
    if (self->unit_count > MOST_UNITS) return BBPE_TOO_LARGE;
    bbpe_status status = list_children(&all);
    if (status == BBPE_OK) status = check_texts(&all);
    if (status == BBPE_OK) {
        all.seen = bbpe_memory_zeroed(all.bases, sizeof *all.seen);
        if (all.seen == NULL) status = BBPE_NO_MEMORY;
    }
    if (status == BBPE_OK) *is_broken = !walk(&all);
    bbpe_memory_free(all.seen);
    bbpe_memory_free(all.first);
    bbpe_memory_free(all.units);
    bbpe_memory_free(all.is_text);
    return status;
}
