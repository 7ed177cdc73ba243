#include "pipeline/automaton.h"

#include "base/hash.h"
#include "memory/memory.h"

enum { LEAST_SHIFT = 4, FIRST_CAPACITY = 1024, LONG_RUN = 2 };

bbpe_status bbpe_spans_reserve(bbpe_spans *self, size_t more) {
    bbpe_span *items = bbpe_memory_reserve(self->items, &self->capacity, self->count + more, sizeof *items);
    if (items == NULL) return BBPE_NO_MEMORY;
    self->items = items;
    return BBPE_OK;
}

bbpe_status bbpe_spans_add(bbpe_spans *self, size_t start, size_t end) {
    const bbpe_status status = bbpe_spans_reserve(self, 1);
    if (status == BBPE_OK) self->items[self->count++] = (bbpe_span){start, end};
    return status;
}

void bbpe_spans_free(bbpe_spans *self) {
    bbpe_memory_free(self->items);
    memset(self, 0, sizeof *self);
}

void bbpe_automaton_finish(bbpe_automaton *self, size_t state_count) {
    self->entries = state_count * ((size_t)self->width << self->look_count);
    self->is_plain = self->look_count == 0 && self->maker == NULL;
    self->block_shift = LEAST_SHIFT;
    /* a search makes few of the states that there may be */
    const size_t usual = self->maker == NULL ? state_count : 256;
    while (usual >> (self->block_shift + 1)) self->block_shift++;
    for (size_t byte = 0; byte < 256; byte++) {
        const uint8_t known = self->bytes_to_class[byte];
        self->skips[byte] = known != BBPE_AUTOMATON_BEYOND && self->idle[known];
    }
}

void bbpe_automaton_scratch_free(bbpe_automaton_scratch *self) {
    bbpe_memory_free(self->dead_ends);
    bbpe_memory_free(self->path);
    bbpe_memory_free(self->marks);
    bbpe_spans_free(&self->matches);
    for (size_t i = 0; i < sizeof self->made / sizeof *self->made; i++) bbpe_made_states_free(self->made + i);
    memset(self, 0, sizeof *self);
}

void bbpe_automaton_scratch_clear(bbpe_automaton_scratch *self) {
    self->wasted = self->run_end = 0;
    self->is_asked = self->has_marks = false;
    self->failed = BBPE_OK;
    if (!self->remembers) return;
    self->remembers = false;
    self->count = 0;
    if (self->capacity) memset(self->dead_ends, 0, self->capacity * sizeof *self->dead_ends);
}

/* The class of the character before text[at], which begins at `*start`. */
BBPE_INLINE unsigned read_back(const bbpe_automaton *self, bool reads_bytes, const uint8_t *text, size_t at,
                               size_t *start) {
    BBPE_ASSERT(at > 0);
    *start = at - 1;
    if (reads_bytes || text[at - 1] < 0x80) return self->bytes_to_class[text[at - 1]];
    /* a lead byte is never a part of a character that begins before it */
    for (size_t size = 2; size <= 4 && size <= at; size++) {
        size_t next;
        const uint32_t c = bbpe_utf8_decode(text, at - size, at, &next);
        if (c != BBPE_UTF8_INVALID && next == at) {
            *start = at - size;
            return bbpe_automaton_class(self, false, text, at - size, at, &next);
        }
    }
    return self->invalid;
}

unsigned bbpe_automaton_class_before(const bbpe_automaton *self, const uint8_t *text, size_t at) {
    size_t start;
    return read_back(self, self->reads_bytes, text, at, &start);
}

/* -- entries that a search makes ------------------------------------------------------------------------- */

static void forget_dead_ends(bbpe_automaton_scratch *self) {
    self->count = self->path_count = self->run_end = 0;
    if (self->capacity) memset(self->dead_ends, 0, self->capacity * sizeof *self->dead_ends);
}

uint32_t bbpe_automaton_made(bbpe_automaton_scratch *scratch, size_t number, uint32_t state, uint32_t column) {
    const size_t drops = scratch->made[number].drops;
    scratch->failed = bbpe_made_states_make(scratch->made + number, &state, column);
    if (number == 0 && scratch->made[number].drops != drops) forget_dead_ends(scratch); /* of states that are elsewhere now */
    return scratch->failed == BBPE_OK ? state : 0;
}

/* -- lookarounds ----------------------------------------------------------------------------------------- */

/* Mark where a lookaround is true.  Its automaton goes through the text once, in its direction:
 *
 *     state = start
 *     for each position and the next character, if there is one:
 *         state = row[state, marks of the position, class of the character]
 *         if state >= first_ending: mark the position */
BBPE_INLINE void mark_look(const bbpe_automaton *self, bool reads_bytes, size_t number, bbpe_automaton_scratch *scratch,
                           const uint8_t *text, size_t n) {
    const bbpe_automaton_look *look = self->looks + number;
    const uint8_t mark = (uint8_t)(1u << number);
    uint8_t *marks = scratch->marks;
    const uint32_t *rows = look->rows;
    const uint32_t width = self->width, first_ending = look->first_ending;
    uint32_t state = look->start;
    if (look->maker != NULL) {
        scratch->failed = bbpe_made_states_begin(scratch->made + number + 1, look->maker);
        if (scratch->failed != BBPE_OK) return;
        rows = scratch->made[number + 1].entries;
    }
    size_t at = look->reads_back ? n : 0, next;
    while (look->reads_back ? at > 0 : at < n) {
        const unsigned class = look->reads_back ? read_back(self, reads_bytes, text, at, &next)
                                                : bbpe_automaton_class(self, reads_bytes, text, at, n, &next);
        const uint32_t column = marks[at] * width + class, following = rows[state + column];
        if (BBPE_UNLIKELY(following == BBPE_STATE_UNMADE)) {
            state = bbpe_automaton_made(scratch, number + 1, state, column);
            if (scratch->failed != BBPE_OK) return;
            continue;
        }
        state = following;
        marks[at] |= state >= first_ending ? mark : 0;
        at = next;
    }
    const uint32_t column = marks[at] * width + width - 1;
    uint32_t edge = rows[state + column];
    if (edge == BBPE_STATE_UNMADE_END) {
        state = bbpe_automaton_made(scratch, number + 1, state, column);
        edge = rows[state + column];
    }
    if (edge) marks[at] |= mark;
}

/* Mark where the lookarounds are true in a text. */
static bbpe_status mark_looks(const bbpe_automaton *self, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n) {
    uint8_t *marks = bbpe_memory_reserve(scratch->marks, &scratch->marks_capacity, n + 1, 1);
    if (marks == NULL) return BBPE_NO_MEMORY;
    scratch->marks = marks;
    memset(marks, 0, n + 1);
    for (size_t i = 0; i < self->look_count && scratch->failed == BBPE_OK; i++) {
        if (self->reads_bytes) mark_look(self, true, i, scratch, text, n);
        else mark_look(self, false, i, scratch, text, n);
    }
    if (self->maker != NULL && scratch->failed == BBPE_OK) scratch->failed = bbpe_made_states_begin(scratch->made, self->maker);
    scratch->has_marks = scratch->failed == BBPE_OK;
    return scratch->failed;
}

/* -- dead ends ------------------------------------------------------------------------------------------- */

static uint64_t *slot_of(const bbpe_automaton_scratch *self, uint64_t key) {
    size_t slot = bbpe_hash_u64(key) & (self->capacity - 1);
    while (self->dead_ends[slot] && self->dead_ends[slot] != key) slot = (slot + 1) & (self->capacity - 1);
    return self->dead_ends + slot;
}

/* Room for `more` keys, without those below `least`, to which no search comes back. */
static bbpe_status reserve(bbpe_automaton_scratch *self, size_t more, uint64_t least) {
    if (2 * (self->count + more) <= self->capacity) return BBPE_OK;
    size_t live = more;
    for (size_t i = 0; i < self->capacity; i++) live += self->dead_ends[i] >= least;
    size_t capacity = FIRST_CAPACITY;
    while (capacity < 4 * live) capacity *= 2;
    uint64_t *grown = bbpe_memory_zeroed(capacity, sizeof *grown), *old = self->dead_ends;
    if (grown == NULL) return BBPE_NO_MEMORY;
    const size_t before = self->capacity;
    self->dead_ends = grown;
    self->capacity = capacity;
    self->count = 0;
    for (size_t i = 0; i < before; i++) {
        if (old[i] < least) continue;
        *slot_of(self, old[i]) = old[i];
        self->count++;
    }
    bbpe_memory_free(old);
    return BBPE_OK;
}

static bbpe_status keep_path(bbpe_automaton_scratch *self, uint64_t least) {
    const bbpe_status status = reserve(self, self->path_count, least);
    if (status != BBPE_OK) return status;
    for (size_t i = 0; i < self->path_count; i++) {
        uint64_t *slot = slot_of(self, self->path[i]);
        self->count += *slot == 0;
        *slot = self->path[i];
    }
    return BBPE_OK;
}

static bbpe_status add_to_path(bbpe_automaton_scratch *self, uint64_t key) {
    uint64_t *path = bbpe_memory_reserve(self->path, &self->path_capacity, self->path_count + 1, sizeof *path);
    if (path == NULL) return BBPE_NO_MEMORY;
    self->path = path;
    self->path[self->path_count++] = key;
    return BBPE_OK;
}

/* Positions of one attempt in one state; a dead end each, if the attempt is over before a match ends. */
typedef struct {
    size_t start, end;
    uint32_t state;
} run;

BBPE_INLINE bbpe_status follow_remembering(const bbpe_automaton *self, bool reads_bytes, const uint8_t *marks,
                                           bbpe_automaton_scratch *scratch, const uint8_t *text, size_t from, size_t n,
                                           uint32_t state, size_t *end) {
    /* One state is remembered in each block of 1 << shift bytes.  The more states there are, the larger is a block, so that
     * memory is bounded by the text. */
    const uint32_t *rows = marks != NULL && self->maker != NULL ? scratch->made[0].entries : self->rows;
    const uint32_t row = self->width << self->look_count;
    const unsigned shift = self->block_shift;
    const uint64_t least = (uint64_t)from * self->entries + 1;
    size_t i = from, block = from >> shift;
    run kept = {0, 0, 0}, now = {from, from, state}; /* the first run that is long, and this one */
    bool is_over = false;
    *end = BBPE_AUTOMATON_NONE;
    scratch->path_count = 0;
    while (i < n && !is_over) {
        if (state != now.state) {
            if (kept.end - kept.start < LONG_RUN && i - now.start > kept.end - kept.start)
                kept = (run){now.start, i, now.state};
            now = (run){i, i, state};
        }
        if (state == scratch->run_state && i >= scratch->run_start && i < scratch->run_end) break;
        if (i >> shift != block) {
            block = i >> shift;
            const uint64_t key = (uint64_t)i * self->entries + state + 1;
            if (scratch->capacity && *slot_of(scratch, key)) break;
            const bbpe_status status = add_to_path(scratch, key);
            if (status != BBPE_OK) return status;
        }
        size_t next;
        const uint32_t marked = marks != NULL ? marks[i] * self->width : 0, here = state;
        const uint32_t column = marked + bbpe_automaton_class(self, reads_bytes, text, i, n, &next);
        state = rows[here + column];
        if (marks != NULL && state == BBPE_STATE_UNMADE) {
            const size_t drops = scratch->made->drops;
            state = bbpe_automaton_made(scratch, 0, here, column);
            if (scratch->failed != BBPE_OK) return scratch->failed;
            if (scratch->made->drops != drops) {
                kept.start = kept.end = 0;
                now = (run){i, i, state};
            }
            continue;
        }
        is_over = state < 2 * row;
        if (is_over ? state > 0 : state >= self->first_ending) {
            *end = i;
            scratch->path_count = 0;
            kept.start = kept.end = 0;
            now = (run){next, next, state};
        }
        i = next;
    }
    /* a dead end that was remembered has i < n */
    if (i >= n && !is_over) {
        const uint32_t column = (marks != NULL ? marks[n] * self->width : 0) + self->width - 1;
        uint32_t edge = rows[state + column];
        if (marks != NULL && edge == BBPE_STATE_UNMADE_END) { /* which leads to no state, so none is dropped */
            state = bbpe_automaton_made(scratch, 0, state, column);
            if (scratch->failed != BBPE_OK) return scratch->failed;
            edge = rows[state + column];
        }
        if (edge) {
            *end = n + 1 - edge;
            scratch->path_count = 0;
            kept.start = kept.end = now.start = i;
        }
    }
    if (kept.end - kept.start < LONG_RUN && i > now.start && i - now.start > kept.end - kept.start)
        kept = (run){now.start, i, now.state};
    if (kept.end > scratch->run_end) {
        scratch->run_start = kept.start;
        scratch->run_end = kept.end;
        scratch->run_state = kept.state;
    }
    return scratch->path_count ? keep_path(scratch, least) : BBPE_OK;
}

bbpe_status bbpe_automaton_follow_remembering(const bbpe_automaton *self, bbpe_automaton_scratch *scratch,
                                              const uint8_t *text, size_t from, size_t n, uint32_t state, size_t *end) {
    const uint8_t *marks = scratch->marks;
    if (!self->is_plain)
        return self->reads_bytes ? follow_remembering(self, true, marks, scratch, text, from, n, state, end)
                                 : follow_remembering(self, false, marks, scratch, text, from, n, state, end);
    return self->reads_bytes ? follow_remembering(self, true, NULL, scratch, text, from, n, state, end)
                             : follow_remembering(self, false, NULL, scratch, text, from, n, state, end);
}

/* As bbpe_automaton_find, of a regex of the host: the first match, and then the one after that which was found last. */
static bbpe_status find_in_host(const bbpe_automaton *self, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n,
                                bbpe_span *found) {
    found->start = BBPE_AUTOMATON_NONE;
    if (!scratch->is_asked) scratch->next_match = scratch->matches.count = 0;
    if (scratch->next_match == scratch->matches.count && n > 0 && !(scratch->is_asked && scratch->is_over)) {
        scratch->next_match = scratch->matches.count = 0;
        const bbpe_status status = self->find_in_host(self->host_regex, scratch, text, n);
        if (status != BBPE_OK) return status;
        scratch->is_asked = true;
    }
    if (scratch->next_match < scratch->matches.count) *found = scratch->matches.items[scratch->next_match++];
    return BBPE_OK;
}

bbpe_status bbpe_automaton_find_otherwise(const bbpe_automaton *self, bbpe_automaton_scratch *scratch, const uint8_t *text,
                                          size_t n, size_t from, bool refuses_empty, bbpe_span *found) {
    if (self->host_regex != NULL) return find_in_host(self, scratch, text, n, found);
    if (!scratch->has_marks) {
        const bbpe_status status = mark_looks(self, scratch, text, n);
        if (status != BBPE_OK) return status;
    }
    if (self->reads_bytes)
        return bbpe_automaton_search(self, true, scratch->marks, scratch, text, n, from, refuses_empty, found);
    return bbpe_automaton_search(self, false, scratch->marks, scratch, text, n, from, refuses_empty, found);
}

bbpe_status bbpe_automaton_find(const bbpe_automaton *self, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n,
                                size_t from, bool refuses_empty, bbpe_span *found) {
    if (self->reads_bytes)
        return bbpe_automaton_find_inline(self, true, scratch, text, n, from, refuses_empty, found);
    return bbpe_automaton_find_inline(self, false, scratch, text, n, from, refuses_empty, found);
}
