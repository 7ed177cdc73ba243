/* Stop strings looked for in texts of few characters, cut anywhere, against comparing every string at every end:
 * stops_driver ROUNDS. */
#include <stdio.h>
#include <stdlib.h>

#include "decode/decode.h"
#include "memory/memory.h"
#include "random_below.h"

enum { STRINGS = 12, LONGEST = 8, TEXT = 60 };

typedef struct {
    uint32_t characters[STRINGS][LONGEST];
    size_t lengths[STRINGS], count;
} sample;

static void check(bool is_right, const char *what) {
    if (is_right) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* Characters that differ in each of their bytes, or in the lowest one alone. */
static uint32_t character(unsigned unit) {
    static const uint32_t of[3][4] = {{'a', 'b', 0, 0xFF}, {'a', 0x161, 0x4E2D, 0x4E61}, {'a', 0x161, 0x1F600, 0x10FF61}};
    return of[unit >> 1][next(4)];
}

static int compare(const uint32_t *one, size_t n, const uint32_t *other, size_t m) {
    for (size_t i = 0; i < n && i < m; i++)
        if (one[i] != other[i]) return one[i] < other[i] ? -1 : 1;
    return n == m ? 0 : n < m ? -1 : 1;
}

/* Different strings, sorted. */
static void draw(sample *strings, unsigned unit) {
    strings->count = 0;
    for (size_t i = next(STRINGS + 1); i > 0; i--) {
        uint32_t string[LONGEST];
        const size_t n = 1 + next(LONGEST);
        for (size_t k = 0; k < n; k++) string[k] = character(unit);
        size_t at = strings->count;
        while (at > 0 && compare(strings->characters[at - 1], strings->lengths[at - 1], string, n) > 0) at--;
        if (at > 0 && compare(strings->characters[at - 1], strings->lengths[at - 1], string, n) == 0) continue;
        for (size_t k = strings->count++; k > at; k--) {
            memcpy(strings->characters[k], strings->characters[k - 1], sizeof string);
            strings->lengths[k] = strings->lengths[k - 1];
        }
        memcpy(strings->characters[at], string, n * sizeof *string);
        strings->lengths[at] = n;
    }
}

static bool is_end(const sample *strings, size_t string, size_t n, const uint32_t *text, size_t end) {
    return n <= end && memcmp(text + end - n, strings->characters[string], n * sizeof *text) == 0;
}

/* The longest string that ends here, or the longest beginning of one. */
static size_t longest(const sample *strings, const uint32_t *text, size_t end, bool whole, size_t *string) {
    size_t most = 0;
    for (size_t i = 0; i < strings->count; i++)
        for (size_t n = whole ? strings->lengths[i] : 1; n <= strings->lengths[i]; n++)
            if (n > most && is_end(strings, i, n, text, end)) most = n, *string = i;
    return most;
}

static size_t read_part(
    const bbpe_stop_strings *stops, const uint32_t *text, size_t n, unsigned unit, uint32_t *now, bool *found) {
    void *part = bbpe_memory_new(n, unit); /* of its own, so that a sanitizer sees a step beyond it */
    check(part != NULL, "no memory");
    for (size_t i = 0; i < n; i++) {
        if (unit == 1) ((uint8_t *)part)[i] = (uint8_t)text[i];
        else if (unit == 2) ((uint16_t *)part)[i] = (uint16_t)text[i];
        else ((uint32_t *)part)[i] = text[i];
    }
    size_t end = n;
    *found = bbpe_stop_strings_find(stops, part, unit, n, now, &end);
    bbpe_memory_free(part);
    return end;
}

static void try_round(void) {
    const unsigned unit = 1u << next(3);
    sample strings;
    draw(&strings, unit);
    uint32_t all[STRINGS * LONGEST], text[TEXT], now = 0;
    size_t ends[STRINGS], size = 0, string = 0;
    for (size_t i = 0; i < strings.count; i++) {
        memcpy(all + size, strings.characters[i], strings.lengths[i] * sizeof *all);
        ends[i] = size += strings.lengths[i];
    }
    bbpe_stop_strings stops = {0};
    check(bbpe_stop_strings_init(&stops, all, ends, strings.count) == BBPE_OK, "no memory");
    const size_t n = next(TEXT + 1);
    for (size_t i = 0; i < n; i++) text[i] = character(unit);
    bool found = false;
    for (size_t at = 0; at < n && !found;) {
        const size_t begin = at, part = 1 + next(n - at);
        at += read_part(&stops, text + at, part, unit, &now, &found);
        for (size_t end = begin + 1; end < at; end++)
            check(longest(&strings, text, end, true, &string) == 0, "an earlier end was passed over");
        const size_t length = longest(&strings, text, at, true, &string);
        check(found == (length > 0), "a string was found where none ends, or the other way round");
        if (found) check(stops.states[now].found == string, "another string is the longest");
        else check(stops.states[now].depth == longest(&strings, text, at, false, &string), "another end begins a string");
        const uint32_t depth = stops.states[now].depth, owner = stops.states[now].string;
        check(strings.count == 0 || is_end(&strings, owner, depth, text, at), "a state has another string");
    }
    bbpe_stop_strings_free(&stops);
}

int main(int argc, char **argv) {
    const long rounds = argc > 1 ? atol(argv[1]) : 1000;
    for (long round = 0; round < rounds; round++) try_round();
    printf("%ld rounds of stop strings\n", rounds);
    return 0;
}
