/* Random automatons over texts of few characters: matches and splits against their definitions: automaton_driver ROUNDS. */
#include <stdio.h>
#include <stdlib.h>

#include "memory/memory.h"
#include "pipeline/pipeline.h"
#include "random_below.h"

enum { CLASSES = 5, STATES = 12, TEXT = 300, WIDTH = CLASSES + 1, LOOKS = 2 };

enum { MOST_ENTRIES = (STATES + 3) * WIDTH << LOOKS };

typedef struct {
    uint8_t bytes_to_class[256], values[BBPE_AUTOMATON_BLOCK];
    uint16_t blocks[0x110000 / BBPE_AUTOMATON_BLOCK];
    uint32_t rows[MOST_ENTRIES], starts[3 * WIDTH], look_rows[LOOKS][(STATES + 2) * WIDTH << LOOKS];
    bbpe_automaton_look looks[LOOKS];
    bbpe_automaton automaton;
} sample;

static void check(bool is_right, const char *what) {
    if (is_right) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* The automaton of a lookaround: all of its rows have a way on. */
static void draw_look(sample *drawn, size_t number) {
    const size_t states = 1 + next(STATES), row = (size_t)WIDTH << number;
    uint32_t *rows = drawn->look_rows[number];
    for (size_t i = 0; i < (states + 2) * row; i++)
        rows[i] = (uint32_t)(i % WIDTH == CLASSES ? next(2) : (2 + next(states)) * row);
    drawn->looks[number] = (bbpe_automaton_look){rows, NULL, (uint32_t)((2 + next(states)) * row),
                                                 (uint32_t)((2 + next(states + 1)) * row), next(2)};
}

/* Classes: a, b, the rest of ASCII, other characters, bytes that are not UTF-8. */
static void draw(sample *drawn) {
    memset(drawn, 0, sizeof *drawn);
    bbpe_automaton *self = &drawn->automaton;
    self->reads_bytes = next(4) == 0;
    for (size_t byte = 0; byte < 256; byte++)
        drawn->bytes_to_class[byte] = byte >= 0x80 && !self->reads_bytes ? BBPE_AUTOMATON_BEYOND
                                      : byte == 'a'                      ? 0
                                      : byte == 'b'                      ? 1
                                                                         : 2;
    memset(drawn->values, 3, sizeof drawn->values);
    self->looks = drawn->looks;
    self->look_count = next(LOOKS + 1);
    for (size_t i = 0; i < self->look_count; i++) draw_look(drawn, i);
    const size_t states = 1 + next(STATES), endings = next(states), dead = next(4), row = (size_t)WIDTH << self->look_count;
    for (size_t i = 2 * row; i < (states + 2) * row; i++)
        drawn->rows[i] = (uint32_t)(i % WIDTH == CLASSES ? next(2) : (next(6) < dead ? next(2) : 2 + next(states)) * row);
    self->first_ending = (uint32_t)((2 + endings) * row);
    /* from this row no character leads to an empty match */
    for (size_t i = 0; i < row; i++)
        drawn->rows[(states + 2) * row + i] = i % WIDTH != CLASSES && endings ? (uint32_t)((2 + next(endings)) * row) : 0;
    for (size_t i = 0; i < 3 * WIDTH; i++)
        drawn->starts[i] = (uint32_t)((2 + (i / WIDTH != 1 ? next(states) : states)) * row);
    self->goes_on = next(4) == 0;
    self->looks_behind = next(2);
    self->may_be_empty = true;
    for (size_t class = 0; class < CLASSES; class++) {
        self->idle[class] = true;
        for (size_t i = 0; i < (self->goes_on ? 3 : 2) * WIDTH; i++)
            for (size_t look = 0; look < row; look += WIDTH)
                self->idle[class] &= drawn->rows[drawn->starts[i] + look + class] == 0;
    }
    self->bytes_to_class = drawn->bytes_to_class;
    self->blocks = drawn->blocks;
    self->values = drawn->values;
    self->rows = drawn->rows;
    self->starts = drawn->starts;
    self->width = WIDTH;
    self->invalid = 4;
    bbpe_automaton_finish(self, states + 3);
}

/* -- the definitions ------------------------------------------------------------------------------------- */

/* Which lookarounds are true at each position of a text. */
static void slow_marks(const sample *drawn, const uint8_t *text, size_t n, uint8_t marks[TEXT + 1]) {
    const bbpe_automaton *self = &drawn->automaton;
    size_t count = 0, places[TEXT + 1];
    unsigned classes[TEXT + 1];
    for (size_t at = 0; at < n;) {
        places[count] = at;
        classes[count++] = bbpe_automaton_class(self, self->reads_bytes, text, at, n, &at);
    }
    places[count] = n;
    memset(marks, 0, n + 1);
    for (size_t look = 0; look < self->look_count; look++) {
        const bbpe_automaton_look *one = self->looks + look;
        uint32_t row = one->start;
        for (size_t i = 0; i <= count; i++) {
            const size_t place = one->reads_back ? count - i : i;
            const unsigned class = i == count ? CLASSES : classes[one->reads_back ? place - 1 : place];
            row = drawn->look_rows[look][row + marks[places[place]] * WIDTH + class];
            if (i == count ? row : row >= one->first_ending) marks[places[place]] |= (uint8_t)(1 << look);
        }
    }
}

static bbpe_span slow_find(const sample *drawn, const uint8_t *text, size_t n, size_t from, bool refuses_empty) {
    const bbpe_automaton *self = &drawn->automaton;
    const uint32_t dead = 2 * WIDTH << self->look_count;
    uint8_t marks[TEXT + 1];
    slow_marks(drawn, text, n, marks);
    unsigned before = self->looks_behind ? CLASSES : 0;
    for (size_t at = 0, following; at <= n; at = following) {
        uint32_t row = self->starts[(at != from ? 2 * self->goes_on : refuses_empty) * WIDTH + before];
        size_t end = SIZE_MAX, i = at;
        while (i < n && row >= dead) {
            size_t after;
            const unsigned class = bbpe_automaton_class(self, self->reads_bytes, text, i, n, &after);
            row = drawn->rows[row + marks[i] * WIDTH + class];
            if (row == dead / 2 || row >= self->first_ending) end = i;
            i = after;
        }
        if (row >= dead && drawn->rows[row + marks[n] * WIDTH + CLASSES]) end = n;
        if (at >= from && end != SIZE_MAX) return (bbpe_span){at, end};
        if (at == n) break;
        const unsigned class = bbpe_automaton_class(self, self->reads_bytes, text, at, n, &following);
        if (self->looks_behind) before = class;
    }
    return (bbpe_span){SIZE_MAX, 0};
}

/* What becomes of the parts of a span, from right to left for matches that join what follows. */
static void slow_split(const sample *drawn, const bbpe_split_rule *rule, const uint8_t *text, bbpe_span span,
                       bbpe_spans *out) {
    struct {
        bbpe_span span;
        bool is_match, is_cut; /* after an empty match */
    } found[2 * TEXT + 2];
    size_t count = 0, done = 0;
    bool is_cut = false;
    const size_t n = span.end - span.start;
    bbpe_span match = {0, 0};
    for (bool refuses_empty = false;; refuses_empty = match.start == match.end) {
        match = slow_find(drawn, text + span.start, n, match.end, refuses_empty);
        const size_t start = match.start == SIZE_MAX ? n : match.start, end = match.start == SIZE_MAX ? n : match.end;
        for (int part = 0; part < 2; part++) { /* what is before the match, and the match */
            const bbpe_span one = part == 0 ? (bbpe_span){done, start} : (bbpe_span){start, end};
            if (one.end == one.start) continue;
            found[count].is_match = (part == 1) != rule->inverts;
            found[count].is_cut = is_cut;
            found[count++].span = one;
            is_cut = false;
        }
        is_cut |= start == end;
        done = end;
        if (match.start == SIZE_MAX) break;
    }
    const size_t first = out->count;
    for (size_t i = 0; i < count; i++) {
        const bool is_match = found[i].is_match, has = out->count > first;
        const bool after_match = i > 0 && found[i - 1].is_match;
        bool extends = false;
        if (rule->behavior == BBPE_SPLIT_REMOVED && is_match) continue;
        if (rule->behavior == BBPE_SPLIT_CONTIGUOUS) extends = has && is_match == after_match && !found[i].is_cut;
        if (rule->behavior == BBPE_SPLIT_MERGED_WITH_PREVIOUS) extends = has && is_match && !after_match;
        if (rule->behavior == BBPE_SPLIT_MERGED_WITH_NEXT) extends = has && !is_match && after_match;
        const bbpe_span whole = {span.start + found[i].span.start, span.start + found[i].span.end};
        if (extends) out->items[out->count - 1].end = whole.end;
        else check(bbpe_spans_add(out, whole.start, whole.end) == BBPE_OK, "no memory");
    }
}

/* ---------------------------------------------------------------------------------------------------------- */

static size_t fill(uint8_t *text) {
    const size_t n = next(TEXT), kinds = 1 + next(5);
    for (size_t i = 0; i < n;) {
        const size_t kind = next(kinds);
        if (kind == 3 && n - i >= 2) {
            text[i++] = 0xC3;
            text[i++] = 0xA9;
        } else {
            text[i++] = kind == 4 ? (uint8_t)(0x80 + next(128)) : "aab "[kind];
        }
    }
    return n;
}

static void try_find(const sample *drawn, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n) {
    bbpe_span found = {0, 0}, expected = {0, 0};
    for (bool refuses_empty = false; found.start != SIZE_MAX; refuses_empty = found.start == found.end) {
        expected = slow_find(drawn, text, n, found.end, refuses_empty);
        check(bbpe_automaton_find(&drawn->automaton, scratch, text, n, found.end, refuses_empty, &found) == BBPE_OK,
              "no memory");
        check(found.start == expected.start && (found.start == SIZE_MAX || found.end == expected.end), "a match differs");
    }
}

static void try_split(const sample *drawn, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n) {
    bbpe_spans in = {0}, out = {0}, expected = {0};
    size_t at = 0;
    while (at < n) { /* at characters only, and with gaps */
        const size_t start = at, stop = at + 1 + next(40);
        while (at < n && at < stop)
            (void)bbpe_automaton_class(&drawn->automaton, drawn->automaton.reads_bytes, text, at, n, &at);
        if (next(5)) check(bbpe_spans_add(&in, start, at) == BBPE_OK, "no memory");
    }
    const bbpe_split_rule rule = {&drawn->automaton, (bbpe_split_behavior)next(5), next(2)};
    check(bbpe_split_rule_apply(&rule, scratch, text, &in, &out) == BBPE_OK, "no memory");
    for (size_t i = 0; i < in.count; i++) slow_split(drawn, &rule, text, in.items[i], &expected);
    check(out.count == expected.count, "a number of spans differs");
    check(out.count == 0 || memcmp(out.items, expected.items, out.count * sizeof *out.items) == 0, "a span differs");
    bbpe_spans_free(&in);
    bbpe_spans_free(&out);
    bbpe_spans_free(&expected);
}

/* Chains of a split, a length and a rewriting or marking: the spans are in order, and parts of a text have those of the whole. */
static void try_chain(const sample *drawn, bbpe_pre_tokenizer_scratch *scratch, const uint8_t *text, size_t n) {
    const bbpe_split_behavior behavior = next(2) ? BBPE_SPLIT_ISOLATED : BBPE_SPLIT_REMOVED;
    const bbpe_pre_tokenizer_step split = {.kind = BBPE_STEP_SPLIT, .split = {&drawn->automaton, behavior, next(2)}};
    const bbpe_pre_tokenizer_step length = {.kind = next(4) ? BBPE_STEP_LENGTH : BBPE_STEP_BLANKS,
                                            .length = 1 + next(4),
                                            .counts_bytes = next(2)};
    const bbpe_pre_tokenizer_step changed = {.kind = BBPE_STEP_REWRITE,
                                             .prefix = (const uint8_t *)" b",
                                             .prefix_size = next(3),
                                             .only_first = next(2),
                                             .mark = (const uint8_t *)"_",
                                             .mark_size = next(2)};
    const bbpe_pre_tokenizer_step marked = {.kind = BBPE_STEP_MARK,
                                            .prefix = (const uint8_t *)"_",
                                            .prefix_size = next(2),
                                            .only_first = next(2),
                                            .mark = (const uint8_t *)"_",
                                            .mark_size = 1,
                                            .drops_space = next(2),
                                            .unmarks = next(2)};
    const bbpe_pre_tokenizer_step spelled = {.kind = BBPE_STEP_ALPHABET}; /* only as the last step */
    const bbpe_pre_tokenizer_step steps[5] = {split, length, next(2) ? changed : marked, split, next(2) ? changed : spelled};
    static uint64_t number; /* the scratch is used with all chains */
    const bool with_places = next(2);
    bbpe_pre_tokenizer chain, parted;
    bbpe_pre_tokenized result;
    check(bbpe_pre_tokenizer_init(&chain, steps + next(3), 1 + next(3), ++number) == BBPE_OK, "no memory");
    check(bbpe_pre_tokenizer_init(&parted, steps, 1 + next(2), ++number) == BBPE_OK, "no memory");
    check(bbpe_pre_tokenizer_split(&chain, scratch, text, n, next(2) * next(4), with_places, &result) == BBPE_OK, "no memory");
    const bbpe_source_view *from = &result.sources;
    for (size_t i = 0, run = 0; with_places && from->count > 0 && i < result.n; i++) {
        run = bbpe_source_view_find(from, run, i);
        check(bbpe_source_run_at(from->runs + run, from->from + i) < n, "a byte comes from after the text");
    }
    for (size_t i = 0, done = 0; i < result.count; done = result.spans[i++].end)
        check(done <= result.spans[i].start && result.spans[i].start < result.spans[i].end && result.spans[i].end <= result.n,
              "spans are not in order");
    if (n == 0) return;
    bbpe_pre_tokenizer_scratch own = {0};
    check(bbpe_pre_tokenizer_split(&parted, scratch, text, n, 1, false, &result) == BBPE_OK, "no memory");
    bbpe_split_cursor cursor = {0};
    size_t same = 0;
    while (!cursor.is_over) {
        bbpe_pre_tokenized part;
        check(bbpe_pre_tokenizer_next(&parted, &own, &cursor, text, n, 1 + next(9), &part) == BBPE_OK, "no memory");
        check(same + part.count <= result.count, "there are more spans in parts");
        for (size_t i = 0; i < part.count; i++, same++)
            check(part.spans[i].start == result.spans[same].start && part.spans[i].end == result.spans[same].end,
                  "a span of a part differs");
    }
    check(same == result.count, "there are fewer spans in parts");
    bbpe_pre_tokenizer_scratch_free(&own);
}

int main(int count, char **arguments) {
    const long rounds = count > 1 ? strtol(arguments[1], NULL, 10) : 1000;
    sample *drawn = bbpe_memory_new(1, sizeof *drawn);
    bbpe_automaton_scratch scratch = {0};
    bbpe_pre_tokenizer_scratch chain = {0};
    check(drawn != NULL, "no memory");
    for (long i = 0; i < rounds; i++) {
        draw(drawn);
        uint8_t sized[TEXT];
        const size_t n = fill(sized);
        uint8_t *text = bbpe_memory_new(n, 1); /* of its own, so that reading past it is seen */
        check(text != NULL, "no memory");
        memcpy(text, sized, n);
        bbpe_automaton_scratch_clear(&scratch);
        scratch.remembers = next(2); /* as if the budget were spent */
        try_find(drawn, &scratch, text, n);
        try_split(drawn, &scratch, text, n);
        try_chain(drawn, &chain, text, n);
        bbpe_memory_free(text);
    }
    bbpe_automaton_scratch_free(&scratch);
    bbpe_pre_tokenizer_scratch_free(&chain);
    bbpe_memory_free(drawn);
    printf("%ld rounds\n", rounds);
    return 0;
}
