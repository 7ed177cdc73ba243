/* SentencePiece's normaliser on tables that are broken at random, and on texts that are no UTF-8: run by
 * `make sanitize-unigram`, which stops at what is read or written elsewhere.  Where nothing is marked and no rule holds,
 * a text stays as it is. */
#include <stdio.h>
#include <string.h>

#include "pipeline/pipeline.h"
#include "memory/memory.h"

enum { UNITS = 1024, TABLE = 4 + 4 * UNITS + 64, TEXT = 96 };

static uint64_t state = 1;

static uint32_t below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static void put_unit(uint8_t *table, size_t i, uint32_t unit) {
    for (size_t k = 0; k < 4; k++) table[4 + 4 * i + k] = (uint8_t)(unit >> (8 * k));
}

/* Keys of two bytes: their nodes have blocks of their own, by the first byte's lowest bit. */
static size_t make_table(uint8_t *table) {
    memset(table, 0, TABLE);
    for (size_t k = 0; k < 4; k++) table[k] = (uint8_t)(4 * UNITS >> (8 * k));
    put_unit(table, 0, 256u << 10);
    for (uint32_t first = 'a'; first <= 'h'; first++) {
        const uint32_t base = 512 + 256 * (first & 1), place = 256 ^ first, second = 'a' + below(4);
        put_unit(table, place, (place ^ base) << 10 | first);
        put_unit(table, base ^ second, 1u << 8 | second | (below(2) ? base ^ second : 7u) << 10);
    }
    for (size_t i = 4 + 4 * UNITS; i < TABLE; i++) table[i] = (uint8_t)(below(5) ? ' ' + below(90) : 0);
    for (uint32_t i = below(40); i > 0; i--) table[below(TABLE)] = (uint8_t)below(256);
    return below(4) ? TABLE : below(TABLE);
}

static size_t make_text(uint8_t *text) {
    static const char *const parts[] = {"a", "b", " ", "  ", "\xE2\x96\x81", "c", "\xE3\x81", "\xF0\x9F\x98\x80",
                                        "\xC3\xA9", "\xFF", "h", "\xCC\x81", "\xE4\xB8\xAD"};
    size_t n = 0;
    while (n + 4 < TEXT && below(20)) {
        const char *part = parts[below(sizeof parts / sizeof *parts)];
        memcpy(text + n, part, strlen(part));
        n += strlen(part);
    }
    return n;
}

static int run(const uint8_t *made, size_t n, bool is_plain) {
    uint8_t *table = bbpe_memory_new(n, 1), text[TEXT];
    bbpe_charsmap map;
    bbpe_charsmap_output output = {.with_places = below(2)};
    int failures = 0;
    memcpy(table, made, n);
    const unsigned rules = is_plain ? 0 : below(2) ? BBPE_CHARSMAP_UNMARKS | below(8) | (below(2) ? BBPE_CHARSMAP_APPENDS : 0) : 0;
    bbpe_status status = bbpe_charsmap_init(&map, table, below(8) ? n : 0, rules);
    if (status != BBPE_OK) {
        bbpe_memory_free(table);
        return status != BBPE_TOO_LARGE;
    }
    if (!is_plain) {
        bool is_broken;
        if (below(2)) failures += bbpe_charsmap_mark_keys(&map, &is_broken) != BBPE_OK;
        for (uint32_t c = 'a'; c <= 'h'; c++) bbpe_charsmap_mark(&map, c);
        if (below(2)) bbpe_charsmap_mark(&map, 0x301);
        if (below(4) == 0) bbpe_charsmap_mark(&map, 0x1F600);
        if (below(3) == 0) failures += bbpe_charsmap_keep(&map, (const uint8_t *)"ab", 2) != BBPE_OK;
    }
    failures += bbpe_charsmap_finalize(&map) != BBPE_OK;
    for (int i = 0; i < 20; i++) {
        const size_t length = make_text(text), start = output.used;
        uint8_t *exact = bbpe_memory_new(length, 1);
        memcpy(exact, text, length);
        failures += bbpe_charsmap_apply(&map, exact, length, &output) != BBPE_OK;
        if (is_plain && (output.used - start != length || (length > 0 && memcmp(output.bytes + start, exact, length))))
            failures++;
        bbpe_memory_free(exact);
    }
    bbpe_charsmap_output_free(&output);
    bbpe_charsmap_free(&map);
    bbpe_memory_free(table);
    return failures;
}

int main(int count, char **arguments) {
    const long rounds = count > 1 ? strtol(arguments[1], NULL, 10) : 1000;
    uint8_t table[TABLE];
    int failures = 0;
    for (long i = 0; i < rounds; i++) {
        const size_t n = make_table(table);
        failures += run(table, n, below(8) == 0);
    }
    printf("%ld tables, %d failures\n", rounds, failures);
    return failures != 0;
}
