/* Normalizers and the search that they use on random texts, valid and not: run by `make sanitize-unigram`, which stops at what
 * is read or written elsewhere.
 *
 *     normalizer_driver ROUNDS
 *
 * A search by vectors and by bytes finds what a look at each character finds.  With and without offsets the result is the
 * same, offsets never decrease, and each is where a character begins.  A normal form stays as it is. */
#include <stdio.h>
#include <string.h>

#include "memory/memory.h"
#include "pipeline/pipeline.h"
#include "random_below.h"

enum { TEXT = 600, SETS = BBPE_CHARACTERS_NMT + 1, KINDS = 9 };

static uint32_t random_below(uint32_t limit) {
    return (uint32_t)next(limit);
}

static const char *const parts[] = {
    "a", "B", " ", "  ", "\n", "\xC3\xA9", "\xC3\x85", "\xCC\x81", "\xCC\xA7", "\xCD\x85", "\xE2\x96\x81", "\xE4\xB8\xAD", "\xEA\xB0\x80",
    "\xE1\x84\x80", "\xE1\x85\xA1", "\xE1\x86\xA8", "\xF0\x9F\x98\x80", "\xF0\x9D\x85\x9E", "\xE0\xA4\xA8", "\xE0\xA4\xBC", "\xE0\xB9\x88",
    "\xE0\xA5\x8D", "\xE0\xB8\xB8", "\xE0\xB8\x81\xE0\xB9\x88\xE0\xB8\x81\xE0\xB8\x81\xE0\xB8\x81\xE0\xB8\x81\xE0\xB8\x81",
    "\xFF", "\x80", "\xE2\x96", "\xF0\x9F", "\xED\xA0\x80", "\xC0\x80", "\xEF\xB7\xBA", "\xC4\xB0", "plain text of English, ",
    "\xE4\xB8\xAD\xE6\x96\x87\xE5\xAD\x97\xE7\xAC\xA6",
};

static size_t make_text(uint8_t *text) {
    size_t n = 0;
    const uint32_t least = random_below(TEXT);
    while (n + 32 < least) {
        const char *part = parts[random_below(sizeof parts / sizeof *parts)];
        memcpy(text + n, part, strlen(part));
        n += strlen(part);
        if (random_below(3)) continue;
        n += bbpe_utf8_write(text + n, random_below(8) ? random_below(0x3400) : random_below(0x110000));
    }
    return n;
}

/* Whether a search may leave out a character of a set: a mark that normal forms only sort, after one that is not in the set. */
static bool may_be_left_out(const bbpe_search *search, const bbpe_search_match *at, size_t before) {
    bbpe_search_match last;
    const unsigned others = search->set->flags & ~(unsigned)BBPE_CHARACTER_ORDERED;
    if (others == search->set->flags || at->row->flags & others) return false;
    return at->start == before || !bbpe_search_is_at(search, before, &last);
}

/* A search finds what is there. */
static int check_search(const uint8_t *text, size_t n) {
    const bbpe_search_blocks ways[] = {bbpe_search_scalar, bbpe_search_select()};
    int failures = 0;
    for (unsigned set = 0; set < SETS; set++)
        for (unsigned way = 0; way < 2; way++) {
            bbpe_search search = bbpe_search_of((bbpe_characters)set, ways[way], text, n);
            bbpe_search_match found, at;
            bool is_found = bbpe_search_next(&search, 0, &found);
            for (size_t i = 0, before = 0; i < n; before = i, i = at.end) {
                const bool is_ascii = text[i] < 0x80 && !(search.set->has_controls && (text[i] < 0x20 || text[i] == 0x7F));
                if (!bbpe_search_is_at(&search, i, &at) || is_ascii) continue;
                if (way > 0 && (!is_found || found.start != i) && may_be_left_out(&search, &at, before)) continue;
                if (!is_found || found.start != i || found.end != at.end || found.code != at.code) failures++;
                is_found = bbpe_search_next(&search, at.end, &found);
            }
            failures += is_found;
        }
    return failures;
}

static bbpe_normalizer_step make_step(const bbpe_charsmap *map) {
    bbpe_normalizer_step step = {.kind = BBPE_NORMALIZER_FORM};
    const uint8_t *strings[] = {(const uint8_t *)"aa", (const uint8_t *)" ", (const uint8_t *)"\xE2\x96\x81", (const uint8_t *)"aB a"};
    const uint8_t *const content = strings[random_below(4)];
    switch (random_below(KINDS)) {
    case 0: step.set = (bbpe_characters)random_below(BBPE_CHARACTERS_NFKD + 1); return step;
    case 1: step.kind = BBPE_NORMALIZER_STRIP; step.left = random_below(2); step.right = random_below(2); return step;
    case 2: step.kind = BBPE_NORMALIZER_PREPEND; break;
    case 3: step.kind = BBPE_NORMALIZER_REPLACE; break;
    case 4: step.kind = BBPE_NORMALIZER_SQUEEZE; break;
    case 5: step.kind = BBPE_NORMALIZER_BYTES; return step;
    case 6: step.kind = BBPE_NORMALIZER_CHARSMAP; break;
    case 7: step.kind = BBPE_NORMALIZER_PRECOMPILED; break;
    default:
        step.kind = BBPE_NORMALIZER_MAP;
        step.set = (bbpe_characters)(BBPE_CHARACTERS_LOWERED + random_below(SETS - BBPE_CHARACTERS_LOWERED));
        return step;
    }
    step.left = random_below(2);
    step.right = random_below(2);
    step.charsmap = map;
    step.content = content;
    step.content_length = strlen((const char *)content);
    step.pattern = strings[random_below(4)];
    step.pattern_length = strlen((const char *)step.pattern);
    return step;
}

static int check_offsets(const bbpe_normalizer *normalizer, bbpe_normalizer_scratch *scratch, const uint8_t *text, size_t n) {
    const uint8_t *out, *aligned;
    size_t out_n, aligned_n, after;
    int failures = bbpe_normalizer_apply(normalizer, scratch, text, n, false, &out, &out_n) != BBPE_OK;
    uint8_t *copy = bbpe_memory_new(out_n, 1);
    if (out_n) memcpy(copy, out, out_n);
    failures += bbpe_normalizer_apply(normalizer, scratch, text, n, true, &aligned, &aligned_n) != BBPE_OK;
    failures += aligned_n != out_n || (out_n && memcmp(aligned, copy, out_n));
    bbpe_memory_free(copy);
    size_t *sources = bbpe_memory_new(aligned_n, sizeof *sources);
    bbpe_normalizer_find_sources(scratch, text, n, aligned_n, sources);
    for (size_t i = 0; i < aligned_n; i++) {
        const size_t source = sources[i];
        if (source >= n || (i && source < sources[i - 1])) failures++;
        else if (bbpe_utf8_is_tail(text[source]) && bbpe_utf8_decode(text, source, n, &after) != BBPE_UTF8_INVALID) failures++;
    }
    bbpe_memory_free(sources);
    return failures;
}

static int check_normal_forms(bbpe_normalizer_scratch *scratch, const uint8_t *text, size_t n) {
    int failures = 0;
    for (unsigned set = BBPE_CHARACTERS_NFC; set <= BBPE_CHARACTERS_NFKD; set++) {
        bbpe_normalizer normalizer;
        const uint8_t *once, *twice;
        size_t once_n, twice_n;
        bbpe_normalizer_init(&normalizer);
        failures += bbpe_normalizer_add(&normalizer, (bbpe_normalizer_step){.set = (bbpe_characters)set}) != BBPE_OK;
        failures += bbpe_normalizer_apply(&normalizer, scratch, text, n, false, &once, &once_n) != BBPE_OK;
        uint8_t *copy = bbpe_memory_new(once_n, 1);
        if (once_n) memcpy(copy, once, once_n);
        normalizer.search = bbpe_search_scalar;
        failures += bbpe_normalizer_apply(&normalizer, scratch, text, n, false, &twice, &twice_n) != BBPE_OK;
        failures += twice_n != once_n || (once_n && memcmp(twice, copy, once_n));
        normalizer.search = bbpe_search_select();
        failures += bbpe_normalizer_apply(&normalizer, scratch, copy, once_n, false, &twice, &twice_n) != BBPE_OK;
        failures += twice != copy || twice_n != once_n;
        bbpe_memory_free(copy);
        bbpe_normalizer_free(&normalizer);
    }
    return failures;
}

int main(int count, char **arguments) {
    const long rounds = count > 1 ? strtol(arguments[1], NULL, 10) : 1000;
    bbpe_normalizer_scratch scratch = {0};
    bbpe_charsmap map;
    int failures = bbpe_charsmap_init(&map, NULL, 0, 0) != BBPE_OK || bbpe_charsmap_finalize(&map) != BBPE_OK;
    for (uint32_t c = 0; c < 0x3400; c += 7) bbpe_charsmap_mark(&map, c);
    for (long i = 0; i < rounds; i++) {
        uint8_t made[TEXT];
        const size_t n = make_text(made);
        uint8_t *text = bbpe_memory_new(n, 1); /* of its size, so that a byte too many is found */
        if (n) memcpy(text, made, n);
        bbpe_normalizer normalizer;
        bbpe_normalizer_init(&normalizer);
        for (uint32_t steps = random_below(5); steps > 0; steps--)
            failures += bbpe_normalizer_add(&normalizer, make_step(&map)) != BBPE_OK;
        failures += check_search(text, n);
        failures += check_offsets(&normalizer, &scratch, text, n);
        failures += check_normal_forms(&scratch, text, n);
        bbpe_normalizer_free(&normalizer);
        bbpe_memory_free(text);
    }
    bbpe_charsmap_free(&map);
    bbpe_normalizer_scratch_free(&scratch);
    printf("%ld texts, %d failures\n", rounds, failures);
    return failures != 0;
}
