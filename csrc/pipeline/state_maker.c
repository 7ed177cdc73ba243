#include "pipeline/state_maker.h"

#include "base/hash.h"
#include "memory/memory.h"

/* Threads of all states of a search together. */
enum { MOST_THREADS = 1 << 20 };
/* duties of a thread: the next character is a line feed that ends the text; the text ends */
enum { BEFORE_LAST = 1, AT_END = 2, DUTIES = 3 };

void bbpe_made_states_free(bbpe_made_states *self) {
    bbpe_memory_free(self->entries);
    bbpe_memory_free(self->states);
    bbpe_memory_free(self->slots);
    bbpe_memory_free(self->threads);
    bbpe_memory_free(self->stack);
    bbpe_memory_free(self->found);
    bbpe_memory_free(self->moved);
    bbpe_memory_free(self->seen);
    memset(self, 0, sizeof *self);
}

/* -- states ---------------------------------------------------------------------------------------------- */

static uint32_t *slot_of(const bbpe_made_states *self, uint32_t before, bool refuses, bool ends, const int32_t *threads,
                         size_t count) {
    const uint64_t salt = bbpe_hash_two(before, (uint64_t)refuses << 1 | ends);
    size_t slot = bbpe_hash_bytes((const uint8_t *)threads, count * sizeof *threads, salt) & (self->slot_count - 1);
    for (;; slot = (slot + 1) & (self->slot_count - 1)) {
        if (self->slots[slot] == 0) return self->slots + slot;
        const bbpe_made_state *known = self->states + self->slots[slot];
        if (known->before == before && known->refuses == refuses && known->ends == ends && known->count == count &&
            memcmp(self->threads + known->threads, threads, count * sizeof *threads) == 0)
            return self->slots + slot;
    }
}

static bool is_full(const bbpe_made_states *self, bool ends, size_t more) {
    const bbpe_state_maker *maker = self->maker;
    return self->count >= maker->most_states || self->used + more > MOST_THREADS ||
           self->next[ends] + maker->row > (ends ? maker->entries : maker->first_ending);
}

/* Set `*at` to the first entry of a state, which is known or new; there is room for it. */
static bbpe_status place(bbpe_made_states *self, uint32_t before, bool refuses, bool ends, const int32_t *threads,
                         size_t count, uint32_t *at) {
    const bbpe_state_maker *maker = self->maker;
    uint32_t *slot = slot_of(self, before, refuses, ends, threads, count);
    if (*slot == 0) {
        if (!bbpe_memory_grow(&self->threads, &self->capacity, self->used + count, sizeof *threads)) return BBPE_NO_MEMORY;
        memcpy(self->threads + self->used, threads, count * sizeof *threads);
        const uint32_t start = self->next[ends];
        self->next[ends] += maker->row;
        self->count++;
        *slot = start / maker->row;
        self->states[*slot] = (bbpe_made_state){(uint32_t)self->used, (uint32_t)count, before, refuses, ends};
        self->used += count;
        for (uint32_t column = 0; column < maker->row; column++)
            self->entries[start + column] = (column + 1) % maker->width ? BBPE_STATE_UNMADE : BBPE_STATE_UNMADE_END;
    }
    *at = *slot * maker->row;
    return BBPE_OK;
}

static bbpe_status drop(bbpe_made_states *self) {
    const bbpe_state_maker *maker = self->maker;
    memset(self->slots, 0, self->slot_count * sizeof *self->slots);
    self->next[false] = 2 * maker->row;
    self->next[true] = maker->first_ending;
    self->used = self->count = 0;
    const int32_t first = DUTIES * maker->start;
    uint32_t at;
    bbpe_status status = BBPE_OK;
    for (size_t i = 0; i < maker->first_count && status == BBPE_OK; i++)
        status = place(self, maker->first_befores[i], maker->first_refuses[i], false, &first, 1, &at);
    return status;
}

bbpe_status bbpe_made_states_begin(bbpe_made_states *self, const bbpe_state_maker *maker) {
    if (self->maker == maker && self->identity == maker->identity) return BBPE_OK;
    bbpe_made_states_free(self);
    const size_t threads = DUTIES * maker->node_count;
    self->slot_count = 16;
    while (self->slot_count < 2 * (size_t)maker->most_states) self->slot_count *= 2;
    self->entries = bbpe_memory_new(maker->entries, sizeof *self->entries);
    self->states = bbpe_memory_new(maker->entries / maker->row, sizeof *self->states);
    self->slots = bbpe_memory_new(self->slot_count, sizeof *self->slots);
    self->stack = bbpe_memory_new(threads + DUTIES * maker->follow_count, sizeof *self->stack);
    self->found = bbpe_memory_new(threads, sizeof *self->found);
    self->moved = bbpe_memory_new(threads + 1, sizeof *self->moved);
    self->seen = bbpe_memory_zeroed(threads, sizeof *self->seen);
    if (!self->entries || !self->states || !self->slots || !self->stack || !self->found || !self->moved || !self->seen) {
        bbpe_made_states_free(self);
        return BBPE_NO_MEMORY;
    }
    self->maker = maker;
    self->identity = maker->identity;
    memset(self->entries, 0, 2 * (size_t)maker->row * sizeof *self->entries);
    const bbpe_status status = drop(self);
    if (status != BBPE_OK) bbpe_made_states_free(self);
    return status;
}

/* -- transitions ----------------------------------------------------------------------------------------- */

/* Whether a thread was not met in this round. */
static bool is_new(bbpe_made_states *self, int32_t thread) {
    const bool is = self->seen[thread] != self->round;
    self->seen[thread] = self->round;
    return is;
}

static void next_round(bbpe_made_states *self) {
    if (++self->round) return;
    memset(self->seen, 0, DUTIES * self->maker->node_count * sizeof *self->seen);
    self->round = 1;
}

static bool is_true(const bbpe_state_maker *maker, const bbpe_state_node *node, uint32_t before, uint32_t bits,
                    uint32_t after) {
    if (node->found == BBPE_STATE_SEARCH_START) return before >> maker->behind_count;
    if (node->found >= 0) return (int32_t)(bits >> node->found / 2 & 1) != node->found % 2;
    if (node->behind >= 0) return before >> node->behind & 1;
    return node->ahead < 0 || maker->holds[(size_t)node->ahead * maker->width + after];
}

static void sort(int32_t *items, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const int32_t item = items[i];
        size_t at = i;
        for (; at && items[at - 1] > item; at--) items[at] = items[at - 1];
        items[at] = item;
    }
}

/* The threads of a state that read a character or end a match, given what is next, into `found`; returns how many. */
static size_t close_over(bbpe_made_states *self, const bbpe_made_state *state, uint32_t bits, uint32_t after) {
    const bbpe_state_maker *maker = self->maker;
    const bool at_end = after == maker->width - 1, at_feed = !at_end && maker->within[after];
    int32_t *stack = self->stack;
    size_t left = 0, count = 0;
    for (uint32_t i = state->count; i > 0; i--) stack[left++] = self->threads[state->threads + i - 1];
    next_round(self);
    while (left) {
        const int32_t thread = stack[--left], number = thread / DUTIES, duty = thread % DUTIES;
        if ((duty == AT_END && !at_end) || (duty == BEFORE_LAST && !at_feed) || !is_new(self, thread)) continue;
        const bbpe_state_node *node = maker->nodes + number;
        if (number == BBPE_STATE_MATCH && duty == BEFORE_LAST) {
            const int32_t waiting = DUTIES * BBPE_STATE_WAITING + duty;
            if (!state->refuses) self->found[count++] = waiting;
        } else if (number <= BBPE_STATE_WAITING) {
            if (state->refuses && number == BBPE_STATE_MATCH) continue;
            self->found[count++] = thread;
            if ((number == BBPE_STATE_MATCH || duty == AT_END) && !maker->marks) break;
        } else if (node->chosen >= 0) {
            self->found[count++] = thread;
        } else if (node->ends_line) {
            if (at_end || at_feed) stack[left++] = DUTIES * maker->follow[node->follow] + (at_end ? duty : BEFORE_LAST);
        } else if (is_true(maker, node, state->before, bits, after)) {
            for (int32_t i = node->follow_end; i > node->follow; i--) stack[left++] = DUTIES * maker->follow[i - 1] + duty;
        }
    }
    return count;
}

/* Whether a match ends before the next character, by the threads in `found`. */
static bool ends_here(const bbpe_made_states *self, size_t count) {
    if (!self->maker->marks) return count && self->found[count - 1] / DUTIES == BBPE_STATE_MATCH;
    for (size_t i = 0; i < count; i++)
        if (self->found[i] / DUTIES == BBPE_STATE_MATCH) return true;
    return false;
}

/* The threads after a character of a class into `moved`; returns how many. */
static size_t move(bbpe_made_states *self, size_t count, uint32_t class) {
    const bbpe_state_maker *maker = self->maker;
    size_t moved = 0;
    next_round(self);
    for (size_t i = 0; i < count; i++) {
        const int32_t thread = self->found[i], number = thread / DUTIES;
        const bbpe_state_node *node = maker->nodes + number;
        if (number == BBPE_STATE_MATCH) continue;
        const bool waits = number == BBPE_STATE_WAITING;
        if (!maker->within[(size_t)(waits ? 0 : node->chosen) * maker->width + class]) continue;
        const int32_t next = waits ? BBPE_STATE_WAITING : maker->follow[node->follow];
        const int32_t thread_next = DUTIES * next + (thread % DUTIES ? AT_END : 0);
        if (is_new(self, thread_next)) self->moved[moved++] = thread_next;
    }
    if (!maker->marks) return moved;
    if (is_new(self, DUTIES * maker->start)) self->moved[moved++] = DUTIES * maker->start;
    sort(self->moved, moved);
    return moved;
}

/* Where a match ends at the end of the text: 0 for none, 1 there, 2 before the last line feed. */
static uint32_t edge(const bbpe_made_states *self, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (self->found[i] / DUTIES <= BBPE_STATE_WAITING) return self->found[i] / DUTIES == BBPE_STATE_MATCH ? 1 : 2;
    return 0;
}

/* Drop all states but the first ones and that which begins at `*at`. */
static bbpe_status drop_others(bbpe_made_states *self, uint32_t *at) {
    const bbpe_made_state state = self->states[*at / self->maker->row];
    memcpy(self->found, self->threads + state.threads, state.count * sizeof *self->found);
    self->drops++;
    const bbpe_status status = drop(self);
    if (status != BBPE_OK) return status;
    return place(self, state.before, state.refuses, state.ends, self->found, state.count, at);
}

bbpe_status bbpe_made_states_make(bbpe_made_states *self, uint32_t *at, uint32_t column) {
    const bbpe_state_maker *maker = self->maker;
    const uint32_t bits = column / maker->width, class = column % maker->width;
    const size_t count = close_over(self, self->states + *at / maker->row, bits, class);
    if (class == maker->width - 1) {
        self->entries[*at + column] = edge(self, count);
        return BBPE_OK;
    }
    const bool ends = ends_here(self, count);
    const size_t moved = move(self, count, class);
    uint32_t entry = ends ? maker->row : 0; /* no way on */
    if (moved) {
        bbpe_status status = BBPE_OK;
        const bool is_known = *slot_of(self, maker->befores[class], false, ends, self->moved, moved) != 0;
        if (!is_known && is_full(self, ends, moved)) status = drop_others(self, at);
        if (status == BBPE_OK) status = place(self, maker->befores[class], false, ends, self->moved, moved, &entry);
        if (status != BBPE_OK) return status;
    }
    self->entries[*at + column] = entry;
    return BBPE_OK;
}
