#include "decode/stop_strings.h"

#include "memory/memory.h"

/* The child of a state by a character, or BBPE_STOP_NONE. */
static uint32_t child_of(const bbpe_stop_state *states, uint32_t state, uint32_t character) {
    uint32_t low = states[state].first_child, high = states[state + 1].first_child;
    const uint32_t end = high;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (states[middle].character < character) low = middle + 1;
        else high = middle;
    }
    return low < end && states[low].character == character ? low : BBPE_STOP_NONE;
}

static uint32_t step(const bbpe_stop_state *states, uint32_t state, uint32_t character) {
    for (;;) {
        const uint32_t child = child_of(states, state, character);
        if (child != BBPE_STOP_NONE) return child;
        if (state == 0) return 0;
        state = states[state].fail;
    }
}

/* Number the beginnings of all strings, shorter ones first.  `open` has the strings that go on, `at` their states. */
static uint32_t number(
    bbpe_stop_state *states, const uint32_t *characters, const size_t *ends, size_t count, uint32_t *open, uint32_t *at) {
    uint32_t made = 1, closed = 0; /* states, and those whose children are all known */
    for (size_t i = 0; i < count; i++) open[i] = (uint32_t)i, at[i] = 0;
    for (uint32_t depth = 0; count != 0; depth++) {
        size_t kept = 0;
        const uint32_t level = made;
        for (size_t i = 0; i < count; i++) {
            const uint32_t string = open[i], parent = at[i];
            const size_t begin = string == 0 ? 0 : ends[string - 1];
            const uint32_t character = characters[begin + depth];
            /* sorted strings that begin alike are neighbours */
            const bool is_new = made == level || states[made - 1].character != character || closed != parent + 1;
            while (closed <= parent) states[closed++].first_child = made;
            if (is_new) {
                states[made] = (bbpe_stop_state){character, 0, 0, depth + 1, string, BBPE_STOP_NONE};
                made++;
            }
            if (begin + depth + 1 == ends[string]) states[made - 1].found = string;
            else open[kept] = string, at[kept++] = made - 1;
        }
        count = kept;
    }
    while (closed <= made) states[closed++].first_child = made;
    return made;
}

/* Link each state with that of its longest suffix.  That one is shorter, so it is linked already. */
static void link_suffixes(bbpe_stop_state *states, uint32_t count) {
    for (uint32_t parent = 0; parent < count; parent++) {
        for (uint32_t state = states[parent].first_child; state < states[parent + 1].first_child; state++) {
            states[state].fail = parent == 0 ? 0 : step(states, states[parent].fail, states[state].character);
            if (states[state].found == BBPE_STOP_NONE) states[state].found = states[states[state].fail].found;
        }
    }
}

bbpe_status bbpe_stop_strings_init(bbpe_stop_strings *self, const uint32_t *characters, const size_t *ends, size_t count) {
    const size_t total = count == 0 ? 0 : ends[count - 1];
    if (total >= BBPE_STOP_NONE - 2) return BBPE_TOO_LARGE;
    uint32_t *open = bbpe_memory_new(count, sizeof *open), *at = bbpe_memory_new(count, sizeof *at);
    self->states = bbpe_memory_zeroed(total + 2, sizeof *self->states);
    const bool has_memory = open != NULL && at != NULL && self->states != NULL;
    if (has_memory) {
        self->states[0].found = BBPE_STOP_NONE;
        self->count = number(self->states, characters, ends, count, open, at);
        link_suffixes(self->states, self->count);
        for (uint32_t state = 1; state < self->states[1].first_child; state++) {
            self->begins[self->states[state].character & 0xFF] = 1;
        }
    }
    bbpe_memory_free(open);
    bbpe_memory_free(at);
    return has_memory ? BBPE_OK : BBPE_NO_MEMORY;
}

void bbpe_stop_strings_free(bbpe_stop_strings *self) {
    bbpe_memory_free(self->states);
    self->states = NULL;
}

/* One loop for each size of a character. */
#define FIND(type)                                                                                        \
    static bool find_##type(                                                                              \
        const bbpe_stop_strings *self, const type *text, size_t n, uint32_t *state, size_t *end) {        \
        uint32_t now = *state;                                                                            \
        for (size_t i = 0; i < n; i++) {                                                                  \
            if (now == 0 && !self->begins[text[i] & 0xFF]) continue;                                      \
            now = step(self->states, now, text[i]);                                                       \
            if (self->states[now].found != BBPE_STOP_NONE) {                                              \
                *state = now;                                                                             \
                *end = i + 1;                                                                             \
                return true;                                                                              \
            }                                                                                             \
        }                                                                                                 \
        *state = now;                                                                                     \
        return false;                                                                                     \
    }

FIND(uint8_t)
FIND(uint16_t)
FIND(uint32_t)

bool bbpe_stop_strings_find(
    const bbpe_stop_strings *self, const void *text, unsigned unit, size_t n, uint32_t *state, size_t *end) {
    BBPE_ASSERT(*state < self->count && (unit == 1 || unit == 2 || unit == 4));
    if (unit == 1) return find_uint8_t(self, text, n, state, end);
    return unit == 2 ? find_uint16_t(self, text, n, state, end) : find_uint32_t(self, text, n, state, end);
}
