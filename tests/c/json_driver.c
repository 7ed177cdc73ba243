/* Texts of keys and merges, and lines with texts, whole and with random changes, read in memory that ends where they end: json_driver ROUNDS. */
#include <stdio.h>
#include <stdlib.h>

#include "memory/memory.h"
#include "models/vocab/vocab.h"
#include "random_below.h"
#include "text/text.h"

static const char *const samples[] = {
    "{\"version\": \"1.0\", \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"\\u0062\": 1, \"ab\": 2, \"\xC4\xA0\": 3},"
    " \"merges\": [\"a b\", [\"a\", \"b\"], \"\\u0061 b\"]}, \"x\": [1, {\"y\": \"}\\\"\"}]}",
    "{\"a\":0,\"b\":10,\"\\ud83d\\ude00\":7,\"\\\\\\/\\n\":300,\"\xF0\x9F\x98\x80z\":4}",
    "[\"a b\",[\"ab\",\"a\"] , [ \"\\ud83d\\ude00\" , \"b\" ]]",
    "a b\nab a\r\nb b\n",
    "{\"a\": \"plain text that is longer than a vector, \\u00e9\\n\\ud83d\\ude00\xE6\xBC\xA2\xE5\xAD\x97 and more of it until its end\"}\n"
    "\r\n{\"b\": [1, {\"c\": -0.5e3}], \"a\": null}\n{\"a\": \"x\", \"a\": \"\\ud800\"}",
};
enum { SAMPLES = sizeof samples / sizeof *samples, LONGEST = 512 };
static const char signs[] = "{}[]\",:\\ \n0123456789eE.-+abu\x80\xC4\xED\xF0\x00\x1F";

static void check(bool is_right, const char *what) {
    if (is_right) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* Write a sample with some changes; returns its length. */
static size_t draw(uint8_t *text) {
    const char *sample = samples[next(SAMPLES)];
    size_t n = strlen(sample);
    memcpy(text, sample, n);
    for (uint64_t changes = next(4); changes > 0 && n > 0; changes--) {
        const size_t at = next(n);
        switch (next(4)) {
        case 0: text[at] = (uint8_t)signs[next(sizeof signs - 1)]; break;
        case 1: n = at; break;
        case 2: memmove(text + at, text + at + 1, --n - at); break;
        default:
            if (n == LONGEST) break;
            memmove(text + at + 1, text + at, n++ - at);
            text[at] = (uint8_t)signs[next(sizeof signs - 1)];
        }
    }
    return n;
}

/* Read merges of known keys, and use them. */
static void read_merges(const uint8_t *text, size_t n, bbpe_vocab *keys, bool is_lines) {
    static const uint8_t prefix[] = "a";
    const bbpe_merge_keys names = {keys, prefix, next(2)};
    bbpe_merge_list list = {0};
    bool is_usual;
    check((is_lines ? bbpe_merges_read_lines : bbpe_merges_read_json)(text, n, names, &list, &is_usual) == BBPE_OK, "merges");
    if (is_usual) {
        uint8_t *used = bbpe_memory_zeroed(keys->id_count, 1);
        check(used != NULL, "no memory");
        bbpe_merge_list_mark_used(&list, used, keys->id_count);
        for (size_t i = 0; i < list.count; i++) check(used[list.merges[i].made], "a result is used");
        bbpe_memory_free(used);
    }
    bbpe_merge_list_free(&list);
}

/* Turn keys into tokens, those of the alphabet and all. */
static void turn(const bbpe_vocab *keys) {
    uint8_t *left_out = bbpe_memory_zeroed(keys->id_count, 1);
    check(left_out != NULL, "no memory");
    for (int way = 0; way < 3; way++) {
        bbpe_vocab tokens;
        bool is_usual;
        check(bbpe_vocab_init(&tokens, 5) == BBPE_OK, "no memory");
        check((way == 0 ? bbpe_keys_to_bytes(keys, left_out, &tokens, &is_usual)
                        : bbpe_keys_to_texts(keys, left_out, way == 2, &tokens, &is_usual)) == BBPE_OK, "keys");
        check(!is_usual || tokens.tokens.count == keys->tokens.count, "each key is a token");
        bbpe_vocab_free(&tokens);
    }
    bbpe_memory_free(left_out);
}

static void read_keys(const uint8_t *text, size_t n) {
    bbpe_vocab keys;
    bool is_usual;
    check(bbpe_vocab_init(&keys, 3) == BBPE_OK, "no memory");
    check(bbpe_keys_read(text, n, &keys, &is_usual) == BBPE_OK, "keys");
    /* ids that are far apart are for others */
    if (is_usual && keys.id_count < 1000) turn(&keys);
    bbpe_vocab_free(&keys);
}

/* The keys that merges are looked up among. */
static void read_all(const uint8_t *text, size_t n) {
    static const char known[] = "{\"a\":0,\"b\":1,\"ab\":2,\"aba\":3,\"bb\":4,\"\\ud83d\\ude00\":5,\"\\ud83d\\ude00b\":6}";
    bbpe_json_member members[] = {{.outer = "model", .inner = "vocab"}, {.outer = "model", .inner = "merges"}};
    bbpe_vocab keys;
    bool is_usual;
    check(bbpe_vocab_init(&keys, 3) == BBPE_OK, "no memory");
    check(bbpe_keys_read((const uint8_t *)known, sizeof known - 1, &keys, &is_usual) == BBPE_OK && is_usual, "known keys");
    read_keys(text, n);
    read_merges(text, n, &keys, false);
    read_merges(text, n, &keys, true);
    if (bbpe_json_find(text, n, members, 2)) {
        for (int i = 0; i < 2; i++) check(members[i].start <= members[i].end && members[i].end <= n, "a member is in the text");
        read_keys(text + members[0].start, members[0].end - members[0].start);
        read_merges(text + members[1].start, members[1].end - members[1].start, &keys, false);
    }
    bbpe_vocab_free(&keys);
}

/* Read lines with every instruction set, to the same texts, in memory that is as small as it may be. */
static void read_lines(const uint8_t *text, size_t n) {
    uint8_t *texts[2] = {bbpe_memory_new(n, 1), bbpe_memory_new(n, 1)};
    const size_t most = BBPE_JSON_LINES_TEXTS(n);
    int64_t *numbers = bbpe_memory_new(2 * most, sizeof *numbers);
    size_t used = 0, ended = 0, count = 0;
    const char *name;
    check(texts[0] != NULL && texts[1] != NULL && numbers != NULL, "no memory");
    for (size_t i = 0; bbpe_json_lines_variant(i, &name) != NULL; i++) {
        bbpe_json_lines lines = {.field = (const uint8_t *)"a", .field_length = 1, .texts = texts[i > 0], .ends = numbers,
                                 .records = numbers + most};
        const size_t at = bbpe_json_lines_variant(i, &name)(&lines, text, 0, n);
        check(at <= n && lines.used <= n && lines.count <= most, "lines fit");
        if (i == 0) used = lines.used, ended = at, count = lines.count;
        check(lines.used == used && at == ended && lines.count == count, "lines of all instruction sets");
        check(used == 0 || memcmp(texts[0], texts[i > 0], used) == 0, "texts of all instruction sets");
    }
    bbpe_memory_free(texts[0]);
    bbpe_memory_free(texts[1]);
    bbpe_memory_free(numbers);
}

int main(int count, char **values) {
    const long rounds = count > 1 ? strtol(values[1], NULL, 10) : 1000;
    for (long round = 0; round < rounds; round++) {
        uint8_t text[LONGEST + 1];
        const size_t n = draw(text);
        uint8_t *exact = bbpe_memory_new(n, 1);
        check(exact != NULL, "no memory");
        if (n) memcpy(exact, text, n);
        read_all(exact, n);
        read_lines(exact, n);
        bbpe_memory_free(exact);
    }
    return 0;
}
