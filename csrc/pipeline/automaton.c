#include "pipeline/automaton.h"

#include "base/hash.h"
#include "memory/memory.h"

enum { LEAST_SHIFT = 4, FIRST_CAPACITY = 1024 };

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
    self->entries = state_count * self->width;
    for (size_t byte = 0; byte < 256; byte++) {
        const uint8_t known = self->bytes_to_class[byte];
        self->skips[byte] = known != BBPE_AUTOMATON_BEYOND && self->idle[known];
    }
}

void bbpe_automaton_scratch_free(bbpe_automaton_scratch *self) {
    bbpe_memory_free(self->dead_ends);
    bbpe_memory_free(self->path);
    bbpe_spans_free(&self->matches);
    memset(self, 0, sizeof *self);
}

void bbpe_automaton_scratch_clear(bbpe_automaton_scratch *self) {
    self->wasted = 0;
    self->is_asked = false;
    if (!self->remembers) return;
    self->remembers = false;
    self->count = 0;
    if (self->capacity) memset(self->dead_ends, 0, self->capacity * sizeof *self->dead_ends);
}

unsigned bbpe_automaton_class_before(const bbpe_automaton *self, const uint8_t *text, size_t at) {
    BBPE_ASSERT(at > 0);
    size_t next;
    if (!self->reads_bytes && text[at - 1] >= 0x80) {
        /* a lead byte is never a part of a character that begins before it */
        for (size_t size = 2; size <= 4 && size <= at; size++) {
            const uint32_t c = bbpe_utf8_decode(text, at - size, at, &next);
            if (c != BBPE_UTF8_INVALID && next == at)
                return bbpe_automaton_class(self, false, text, at - size, at, &next);
        }
        return self->invalid;
    }
    return self->bytes_to_class[text[at - 1]];
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

static unsigned shift_of(size_t states) {
    unsigned shift = LEAST_SHIFT;
    while (states >> (shift + 1)) shift++;
    return shift;
}

bbpe_status bbpe_automaton_follow_remembering(const bbpe_automaton *self, bbpe_automaton_scratch *scratch,
                                              const uint8_t *text, size_t from, size_t n, uint32_t state, size_t *end) {
    /* One state is remembered in each block of 1 << shift bytes.  The more states there are, the larger is a block, so that
     * memory is bounded by the text. */
    const unsigned shift = shift_of(self->entries / self->width);
    const uint64_t least = (uint64_t)from * self->entries + 1;
    size_t i = from, block = from >> shift;
    bool is_over = false;
    *end = BBPE_AUTOMATON_NONE;
    scratch->path_count = 0;
    while (i < n && !is_over) {
        if (i >> shift != block) {
            block = i >> shift;
            const uint64_t key = (uint64_t)i * self->entries + state + 1;
            if (scratch->capacity && *slot_of(scratch, key)) break;
            const bbpe_status status = add_to_path(scratch, key);
            if (status != BBPE_OK) return status;
        }
        size_t next;
        state = self->rows[state + bbpe_automaton_class(self, self->reads_bytes, text, i, n, &next)];
        is_over = state < 2 * self->width;
        if (is_over ? state > 0 : state >= self->first_ending) {
            *end = i;
            scratch->path_count = 0;
        }
        i = next;
    }
    /* a dead end that was remembered has i < n */
    if (i >= n && !is_over && self->rows[state + self->width - 1]) {
        *end = n + 1 - self->rows[state + self->width - 1];
        scratch->path_count = 0;
    }
    return keep_path(scratch, least);
}

bbpe_status bbpe_automaton_find_in_host(const bbpe_automaton *self, bbpe_automaton_scratch *scratch, const uint8_t *text,
                                        size_t n, bbpe_span *found) {
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

bbpe_status bbpe_automaton_find(const bbpe_automaton *self, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n,
                                size_t from, bool refuses_empty, bbpe_span *found) {
    if (self->reads_bytes)
        return bbpe_automaton_find_inline(self, true, scratch, text, n, from, refuses_empty, found);
    return bbpe_automaton_find_inline(self, false, scratch, text, n, from, refuses_empty, found);
}
