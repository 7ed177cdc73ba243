/* Occurrences of a string or matches of a function become a string.
 *
 * A string is found in linear time (Knuth, Morris, Pratt: Fast pattern matching in strings, 1977). */
#include "pipeline/normalizer_pass.h"

enum { NEAR = 24 };

bbpe_status bbpe_normalizer_step_prepare(bbpe_normalizer_step *step) {
    const uint8_t *pattern = step->pattern;
    size_t border = 0;
    BBPE_ASSERT(step->pattern_length > 0);
    step->borders = bbpe_memory_zeroed(step->pattern_length, sizeof *step->borders);
    if (step->borders == NULL) return BBPE_NO_MEMORY;
    for (size_t i = 1; i + 1 < step->pattern_length; i++) {
        while (border && pattern[i] != pattern[border]) border = step->borders[border];
        if (pattern[i] == pattern[border]) border++;
        step->borders[i + 1] = border;
    }
    return BBPE_OK;
}

/* Where a byte is next in text[at, n), or n: eight bytes at a time at first, as most are near. */
static size_t find_byte(const uint8_t *text, size_t n, size_t at, uint8_t byte) {
    const uint64_t ones = UINT64_MAX / 255;
    for (size_t end = n - at < NEAR ? at : at + NEAR; at < end; at += 8) {
        uint64_t word;
        memcpy(&word, text + at, 8);
        word ^= ones * byte;
        word = (word - ones) & ~word & ones << 7; /* the lowest bit is that of the first zero byte */
        if (word) return at + bbpe_bits_lowest(word) / 8;
    }
    const uint8_t *found = at < n ? memchr(text + at, byte, n - at) : NULL;
    return found == NULL ? n : (size_t)(found - text);
}

static bool find_pattern(const bbpe_normalizer_step *step, const uint8_t *text, size_t n, size_t from, size_t *start, size_t *end) {
    const uint8_t *pattern = step->pattern;
    const size_t length = step->pattern_length;
    size_t matched = 0; /* so much of the pattern ends before text[i] */
    for (size_t i = from; i < n;) {
        if (matched == 0) {
            i = find_byte(text, n, i, pattern[0]) + 1;
            if (i > n) return false;
            matched = 1;
        } else if (text[i] == pattern[matched]) {
            i++;
            matched++;
        } else {
            matched = step->borders[matched];
            continue;
        }
        if (matched == length) {
            *start = i - length;
            *end = i;
            return true;
        }
    }
    return false;
}

/* The next match; none is empty where another ends. */
static bbpe_status find_match(const bbpe_normalizer_step *step, bbpe_pass *pass, size_t from, size_t *start, size_t *end,
                              bool *found) {
    bbpe_span span = {BBPE_AUTOMATON_NONE, 0};
    const bool refuses_empty = pass->is_changed && step->automaton->may_be_empty;
    const bbpe_status status = bbpe_automaton_find(step->automaton, &pass->scratch->automaton, pass->text, pass->n, from,
                                                   refuses_empty, &span);
    *found = span.start != BBPE_AUTOMATON_NONE;
    *start = span.start;
    *end = span.end;
    return status;
}

bbpe_status bbpe_pass_replace(const bbpe_normalizer_step *step, bbpe_pass *pass) {
    size_t start = 0, end = 0;
    bool found = true;
    bbpe_automaton_scratch_clear(&pass->scratch->automaton);
    for (size_t from = 0; from <= pass->n && pass->n > 0; from = end) {
        bbpe_status status = BBPE_OK;
        if (step->automaton == NULL) found = find_pattern(step, pass->text, pass->n, from, &start, &end);
        else status = find_match(step, pass, from, &start, &end, &found);
        if (status != BBPE_OK || !found) return status;
        status = bbpe_pass_cut(pass, start, end, step->content_length);
        if (status != BBPE_OK) return status;
        bbpe_pass_put(pass, step->content, step->content_length, end ? bbpe_search_before(pass->text, end) : 0);
    }
    return BBPE_OK;
}
