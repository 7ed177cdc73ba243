/* A place between characters a and b is safe for a rule if each attempt that has read a is over when it reads b, as it would
 * be at the end of a text, and if none that begins with b looks at a.  Then the matches in a text are those on either side.
 * Whatever becomes of matches, the spans are those of either side, but that one may go on over the place.  It does not if some
 * rule of the chain has a match that ends or begins there in any text. */
#include "pipeline/safe_pairs.h"

#include "memory/memory.h"

enum { MOST_WORK = 1 << 22, NO_CLASS = 256 };

/* What reading one character does in any state: where the automaton may then be. */
typedef struct {
    const bbpe_automaton *automaton;
    uint32_t width;
    size_t states;
} reader;

static uint32_t row_of(const reader *self, size_t state, unsigned class_index) {
    return self->automaton->rows[state * self->width + class_index];
}

/* Whether an attempt that comes from any state to row `to`, having read the first character, is over at the second one. */
static bool is_over(const reader *self, uint32_t to, unsigned second) {
    const uint32_t *row = self->automaton->rows + to;
    return row[second] < 2 * self->width && row[self->width - 1] == (row[second] != 0);
}

static bool crosses(const reader *self, unsigned first, unsigned second) {
    const bbpe_automaton *automaton = self->automaton;
    for (size_t state = 2; state < self->states; state++) {
        const uint32_t to = row_of(self, state, first);
        if (to >= 2 * self->width && !is_over(self, to, second)) return true;
    }
    return automaton->looks_behind && automaton->starts[first] != automaton->starts[self->width - 1];
}

/* Whether a character is in no match. */
static bool is_never(const reader *self, unsigned class_index) {
    for (size_t state = 2; state < self->states; state++)
        if (row_of(self, state, class_index) >= 2 * self->width) return false;
    return true;
}

/* Whether an attempt at the first character, if any is made there, has a match that ends before the second one. */
static bool ends_match(const reader *self, unsigned first, unsigned second) {
    const bbpe_automaton *automaton = self->automaton;
    for (uint32_t before = 0; before < (automaton->looks_behind ? self->width : 1); before++) {
        const uint32_t start = automaton->starts[before];
        const uint32_t to = start < 2 * self->width ? 0 : automaton->rows[start + first];
        if (to < 2 * self->width || automaton->rows[to + second] != self->width) return false;
    }
    return true;
}

/* Whether an attempt at a character has a match, whatever follows. */
static bool begins_match(const reader *self, unsigned class_index) {
    const bbpe_automaton *automaton = self->automaton;
    for (uint32_t before = 0; before < (automaton->looks_behind ? self->width : 1); before++) {
        const uint32_t start = automaton->starts[before];
        const uint32_t to = start < 2 * self->width ? 0 : automaton->rows[start + class_index];
        if (to < 2 * self->width || automaton->rows[to + self->width - 1] != 1) return false;
        for (uint32_t next = 0; next + 1 < self->width; next++) {
            const uint32_t after = automaton->rows[to + next];
            if (after != self->width && after < automaton->first_ending) return false;
        }
    }
    return true;
}

static bool splits(const reader *self, bbpe_split_behavior behavior, unsigned first, unsigned second) {
    switch (behavior) {
        case BBPE_SPLIT_REMOVED:
        case BBPE_SPLIT_ISOLATED: return ends_match(self, first, second) || begins_match(self, second);
        case BBPE_SPLIT_CONTIGUOUS:
            return (ends_match(self, first, second) && is_never(self, second))
                   || (is_never(self, first) && begins_match(self, second));
        default: return false;
    }
}

/* Whether two characters after another one lead to the same, from where an attempt may be and where one begins; and the
 * character after them looks at the same. */
static bool are_alike(const reader *self, unsigned first, unsigned a, unsigned b) {
    const bbpe_automaton *automaton = self->automaton;
    if (a == b) return true;
    if (automaton->looks_behind && automaton->starts[a] != automaton->starts[b]) return false;
    for (uint32_t before = 0; before < (automaton->looks_behind ? self->width : 1); before++) {
        const uint32_t *row = automaton->rows + automaton->starts[before];
        if (row[a] != row[b]) return false;
    }
    for (size_t state = 2; first != NO_CLASS && state < self->states; state++) {
        const uint32_t to = row_of(self, state, first);
        if (to >= 2 * self->width && automaton->rows[to + a] != automaton->rows[to + b]) return false;
    }
    return true;
}

/* What the rules of a chain do at two characters. */
typedef struct {
    bool splits[128][128];  /* some rule ends a span there */
    bool crosses[128][128]; /* for some rule, one side depends on the other */
    uint8_t least[129][128]; /* as the pairs */
} pair_facts;

/* The least character of each class that ASCII has; returns how many classes these are. */
static size_t find_classes(const bbpe_automaton *automaton, uint8_t of_class[256]) {
    size_t count = 0;
    memset(of_class, 0xFF, 256);
    for (unsigned c = 0; c < 128; c++) {
        uint8_t *least = of_class + automaton->bytes_to_class[c];
        if (*least != 0xFF) continue;
        *least = (uint8_t)c;
        count++;
    }
    return count;
}

/* Tell characters apart that a rule does, after one of a class or NO_CLASS. */
static void refine(const reader *reads, const uint8_t of_class[256], unsigned first, uint8_t least[128]) {
    const uint8_t *classes = reads->automaton->bytes_to_class;
    uint8_t alike[256], refined[128]; /* for each class the least character of those that are like it */
    for (unsigned c = 0; c < 128; c++) {
        if (of_class[classes[c]] != c) continue;
        unsigned b = 0;
        while (b < c && !(of_class[classes[b]] == b && are_alike(reads, first, classes[b], classes[c]))) b++;
        alike[classes[c]] = (uint8_t)b;
    }
    for (unsigned c = 0; c < 128; c++) {
        unsigned b = least[c];
        while (b < c && !(least[b] == least[c] && alike[classes[b]] == alike[classes[c]])) b++;
        refined[c] = (uint8_t)b;
    }
    memcpy(least, refined, sizeof refined);
}

/* Add what a rule does; false: it may match nothing, has too many states, is not plain, or depends on the last match. */
static bool add_rule(pair_facts *facts, const bbpe_split_rule *rule) {
    const bbpe_automaton *automaton = rule->automaton;
    if (!automaton->is_plain || automaton->goes_on) return false;
    const reader reads = {automaton, automaton->width, automaton->entries / automaton->width};
    uint8_t of_class[256];
    const size_t classes = find_classes(automaton, of_class);
    if (automaton->may_be_empty || classes * classes * classes * reads.states > MOST_WORK) return false;
    refine(&reads, of_class, NO_CLASS, facts->least[BBPE_PAIR_NO_FIRST]);
    for (unsigned a = 0; a < 128; a++) {
        const unsigned first = automaton->bytes_to_class[a];
        bool does_cross[256], does_split[256]; /* by class */
        for (unsigned b = 0; b < 128; b++) {
            const unsigned second = automaton->bytes_to_class[b];
            if (of_class[second] == b) {
                does_cross[second] = crosses(&reads, first, second);
                does_split[second] = splits(&reads, rule->behavior, first, second);
            }
            facts->crosses[a][b] |= does_cross[second];
            facts->splits[a][b] |= does_split[second];
        }
        refine(&reads, of_class, first, facts->least[a]);
    }
    return true;
}

bbpe_status bbpe_safe_pairs_init(bbpe_safe_pairs *self, const bbpe_split_rule *const *rules, size_t count) {
    memset(self, 0, sizeof *self);
    pair_facts *facts = bbpe_memory_zeroed(1, sizeof *facts);
    if (facts == NULL) return BBPE_NO_MEMORY;
    bool is_known = true;
    for (size_t i = 0; i < count && is_known; i++) is_known = add_rule(facts, rules[i]);
    memcpy(self->pairs, facts->least, sizeof self->pairs);
    for (unsigned a = 0; a < 128 && is_known; a++) {
        for (unsigned b = 0; b < 128; b++) {
            if (!facts->splits[a][b] || facts->crosses[a][b]) continue;
            self->pairs[a][b] |= BBPE_PAIR_IS_SAFE;
            self->has_any = true;
        }
    }
    bbpe_memory_free(facts);
    return BBPE_OK;
}
