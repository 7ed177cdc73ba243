/* Random nodes of regexes, whose states a search makes, over texts of few characters: matches against a backtracking search
 * of the same nodes: state_driver ROUNDS. */
#include <stdio.h>
#include <stdlib.h>

#include "memory/memory.h"
#include "pipeline/pipeline.h"
#include "random_below.h"

/* classes: the line feed, a, b, other bytes; the last column is an edge of the text */
enum { CLASSES = 4, WIDTH = CLASSES + 1, NODES = 14, FOLLOW = 4 * NODES, SETS = 4, CONDITIONS = 3, TEXT = 60, LOOKS = 2 };

typedef struct {
    bbpe_state_node nodes[NODES];
    int32_t follow[FOLLOW];
    uint8_t within[SETS * WIDTH], holds[CONDITIONS * WIDTH], first_refuses[3 * WIDTH];
    uint32_t befores[WIDTH], first_befores[3 * WIDTH], starts[3 * WIDTH];
    bbpe_state_maker maker;
} drawn_nodes;

typedef struct {
    uint8_t bytes_to_class[256];
    bbpe_automaton_look looks[LOOKS];
    drawn_nodes nodes[1 + LOOKS];
    bbpe_automaton automaton;
} sample;

static void check(bool is_right, const char *what) {
    if (is_right) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* -- random nodes ---------------------------------------------------------------------------------------- */

static void draw_node(drawn_nodes *self, size_t number, size_t looks, bool goes_on) {
    bbpe_state_node *node = self->nodes + number;
    const bool marks = self->maker.marks;
    const int32_t follow = (int32_t)self->maker.follow_count;
    size_t count = 1;
    *node = (bbpe_state_node){-1, -1, -1, -1, 0, follow, 0};
    switch (number > BBPE_STATE_WAITING ? next(12) : 12) {
    case 0: node->ends_line = !marks; break;
    case 1: node->ahead = (int32_t)next(CONDITIONS); break;
    case 2: node->behind = (int32_t)next(CONDITIONS); break;
    case 3: node->found = looks ? (int32_t)next(2 * looks) : goes_on ? BBPE_STATE_SEARCH_START : -1; break;
    case 4: case 5: case 6: case 7: node->chosen = (int32_t)next(SETS); break;
    case 12: count = 0; break;
    default: count = 1 + next(3); break;
    }
    /* only a node that reads a character leads back: a round of a repetition that reads none is the last one */
    const size_t least = node->chosen >= 0 ? BBPE_STATE_WAITING + 1 : number + 1;
    for (size_t i = 0; i < count; i++)
        self->follow[self->maker.follow_count++] =
            least < NODES && next(NODES) ? (int32_t)(least + next(NODES - least)) : BBPE_STATE_MATCH;
    node->follow_end = (int32_t)self->maker.follow_count;
}

/* Add a first state, which is new or known, and return the first entry of its row. */
static uint32_t add_first(drawn_nodes *self, uint32_t before, bool refuses) {
    bbpe_state_maker *maker = &self->maker;
    size_t at = 0;
    while (at < maker->first_count && (self->first_befores[at] != before || self->first_refuses[at] != refuses)) at++;
    self->first_befores[at] = before;
    self->first_refuses[at] = refuses;
    if (at == maker->first_count) maker->first_count++;
    return (uint32_t)(2 + at) * maker->row;
}

static void draw_nodes(drawn_nodes *self, size_t looks, bool marks, bool goes_on) {
    static uint64_t identity;
    memset(self, 0, sizeof *self);
    bbpe_state_maker *maker = &self->maker;
    *maker = (bbpe_state_maker){.nodes = self->nodes, .follow = self->follow, .within = self->within, .holds = self->holds,
                                .befores = self->befores, .first_befores = self->first_befores,
                                .first_refuses = self->first_refuses, .node_count = NODES, .width = WIDTH,
                                .row = WIDTH << looks, .start = 2, .behind_count = CONDITIONS, .marks = marks,
                                .identity = ++identity};
    for (size_t i = 0; i < NODES; i++) draw_node(self, i, looks, goes_on);
    for (size_t i = 0; i < SETS * WIDTH; i++) self->within[i] = i % WIDTH < CLASSES && (i < WIDTH ? i == 0 : next(2));
    for (size_t i = 0; i < CONDITIONS * WIDTH; i++) self->holds[i] = next(2);
    for (size_t i = 0; i < WIDTH; i++) self->befores[i] = (uint32_t)next(1 << CONDITIONS);
    const uint32_t here = (uint32_t)goes_on << CONDITIONS;
    for (size_t i = 0; i < 3 * WIDTH; i++)
        self->starts[i] = marks ? add_first(self, self->befores[CLASSES], false)
                                : add_first(self, self->befores[i % WIDTH] | (i < 2 * WIDTH ? here : 0), i / WIDTH == 1);
    /* sometimes room for few states */
    maker->most_states = (uint32_t)(maker->first_count + 2 + (next(3) ? next(5) : 1000));
    const uint32_t room = (uint32_t)(maker->first_count + 3 + (next(3) ? next(5) : 500)) * maker->row;
    maker->first_ending = 2 * maker->row + room;
    maker->entries = maker->first_ending + (2 + (uint32_t)next(40)) * maker->row;
}

static void draw(sample *drawn) {
    memset(drawn, 0, sizeof *drawn);
    bbpe_automaton *self = &drawn->automaton;
    for (size_t byte = 0; byte < 256; byte++)
        drawn->bytes_to_class[byte] = byte == '\n' ? 0 : byte == 'a' ? 1 : byte == 'b' ? 2 : 3;
    self->bytes_to_class = drawn->bytes_to_class;
    self->reads_bytes = self->may_be_empty = self->looks_behind = true;
    self->goes_on = next(3) == 0;
    self->looks = drawn->looks;
    self->look_count = next(LOOKS + 1);
    for (size_t i = 0; i < self->look_count; i++) {
        drawn_nodes *nodes = drawn->nodes + 1 + i;
        draw_nodes(nodes, i, true, false);
        drawn->looks[i] = (bbpe_automaton_look){NULL, &nodes->maker, nodes->starts[0], nodes->maker.first_ending, next(2)};
    }
    draw_nodes(drawn->nodes, self->look_count, false, self->goes_on);
    self->maker = &drawn->nodes->maker;
    self->starts = drawn->nodes->starts;
    self->width = WIDTH;
    self->first_ending = self->maker->first_ending;
    bbpe_automaton_finish(self, self->maker->entries / self->maker->row);
}

/* -- the definition: a backtracking search ---------------------------------------------------------------- */

typedef struct {
    const drawn_nodes *nodes;
    unsigned classes[TEXT]; /* in the direction of reading */
    uint8_t marks[TEXT + 1];
    size_t n, from, end;
    bool refuses_empty, goes_on, reads_back;
    bool seen[NODES][TEXT + 1];
    bool ends[TEXT + 1];
} walk;

/* Follow a node from a position on: whether a match ends, the first one, in `end`; with marks, all of them, in `ends`. */
static bool follow_node(walk *self, int32_t number, size_t at) {
    const bbpe_state_maker *maker = &self->nodes->maker;
    const bbpe_state_node *node = maker->nodes + number;
    if (self->seen[number][at]) return false;
    self->seen[number][at] = true;
    if (number == BBPE_STATE_MATCH) {
        if (self->refuses_empty && at == self->from) return false;
        self->end = at;
        self->ends[at] = true;
        return !maker->marks;
    }
    const unsigned after = at < self->n ? self->classes[at] : CLASSES;
    const uint32_t before = maker->befores[at ? self->classes[at - 1] : CLASSES];
    const uint8_t marks = self->marks[self->reads_back ? self->n - at : at];
    if (node->chosen >= 0)
        return after < CLASSES && maker->within[(size_t)node->chosen * WIDTH + after] &&
               follow_node(self, maker->follow[node->follow], at + 1);
    bool is_true = true;
    if (node->ends_line) is_true = at == self->n || (after == 0 && at + 1 == self->n);
    if (node->found == BBPE_STATE_SEARCH_START) is_true = self->goes_on && at == self->from;
    if (node->found >= 0) is_true = (marks >> node->found / 2 & 1) != node->found % 2;
    if (node->behind >= 0) is_true = before >> node->behind & 1;
    if (node->ahead >= 0) is_true = maker->holds[(size_t)node->ahead * WIDTH + after];
    for (int32_t i = node->follow; is_true && i < node->follow_end; i++)
        if (follow_node(self, maker->follow[i], at)) return true;
    return false;
}

static void begin(walk *self, const sample *drawn, const drawn_nodes *nodes, const uint8_t *text, size_t n, bool reads_back) {
    for (size_t i = 0; i < n; i++) self->classes[i] = drawn->bytes_to_class[text[reads_back ? n - 1 - i : i]];
    self->nodes = nodes;
    self->n = n;
    self->reads_back = reads_back;
    self->goes_on = drawn->automaton.goes_on;
    memset(self->ends, 0, sizeof self->ends);
}

static bbpe_span slow_find(const sample *drawn, const uint8_t *text, size_t n, size_t from, bool refuses_empty) {
    static walk self;
    memset(&self, 0, sizeof self);
    for (size_t look = 0; look < drawn->automaton.look_count; look++) {
        begin(&self, drawn, drawn->nodes + 1 + look, text, n, drawn->looks[look].reads_back);
        for (size_t at = 0; at <= n; at++) {
            memset(self.seen, 0, sizeof self.seen);
            (void)follow_node(&self, self.nodes->maker.start, at);
        }
        for (size_t at = 0; at <= n; at++)
            self.marks[self.reads_back ? n - at : at] |= (uint8_t)(self.ends[at] << look);
    }
    begin(&self, drawn, drawn->nodes, text, n, false);
    self.from = from;
    self.refuses_empty = refuses_empty;
    for (size_t at = from; at <= n; at++) {
        memset(self.seen, 0, sizeof self.seen);
        if (follow_node(&self, self.nodes->maker.start, at)) return (bbpe_span){at, self.end};
    }
    return (bbpe_span){SIZE_MAX, 0};
}

int main(int count, char **arguments) {
    const long rounds = count > 1 ? strtol(arguments[1], NULL, 10) : 1000;
    sample *drawn = bbpe_memory_new(1, sizeof *drawn);
    bbpe_automaton_scratch scratch = {0};
    size_t drops = 0, matches = 0;
    check(drawn != NULL, "no memory");
    for (long i = 0; i < rounds; i++) {
        draw(drawn);
        for (size_t texts = 0; texts < 3; texts++) {
            const size_t n = next(TEXT);
            uint8_t *text = bbpe_memory_new(n, 1); /* of its own, so that reading past it is seen */
            check(text != NULL, "no memory");
            for (size_t at = 0; at < n; at++) text[at] = (uint8_t)"aab\nx"[next(5)];
            bbpe_automaton_scratch_clear(&scratch);
            scratch.remembers = next(2); /* as if the budget were spent */
            bbpe_span found = {0, 0};
            for (bool refuses_empty = false; found.start != SIZE_MAX; refuses_empty = found.start == found.end) {
                const bbpe_span expected = slow_find(drawn, text, n, found.end, refuses_empty);
                check(bbpe_automaton_find(&drawn->automaton, &scratch, text, n, found.end, refuses_empty, &found) == BBPE_OK,
                      "no memory");
                check(found.start == expected.start && (found.start == SIZE_MAX || found.end == expected.end),
                      "a match differs");
                matches += found.start != SIZE_MAX;
            }
            bbpe_memory_free(text);
        }
        for (size_t number = 0; number <= LOOKS; number++) drops += scratch.made[number].drops;
    }
    bbpe_automaton_scratch_free(&scratch);
    bbpe_memory_free(drawn);
    check(matches > 0 && drops > 0, "no match was found, or no state was dropped");
    printf("%ld rounds, %zu matches, %zu drops\n", rounds, matches, drops);
    return 0;
}
