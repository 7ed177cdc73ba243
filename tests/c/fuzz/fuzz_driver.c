/* Mutated inputs, guided by coverage: exits with 1 and saves the input when a target finds something wrong.
 *
 *     fuzz_driver TARGET SECONDS CORPUS FOUND
 *
 * All files in the folder CORPUS are run first.  Then one input after another is changed in a few places, or joined
 * with another; one that comes by a place in the leaves that none has come by, or more often, is kept.  In the end the
 * kept ones are written to the folder FOUND, as `crash` is when something goes wrong.  The leaves are compiled with
 * -fsanitize-coverage=trace-pc, which GCC and Clang have, so no fuzzer need be installed. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <sanitizer/common_interface_defs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "targets.h"
#include "memory/memory.h"

enum { MOST = 4096, LONGEST = 2048, PLACES = 1 << 16, PATH = 1024 };

static struct {
    uint8_t *bytes;
    size_t n;
    bool is_found;
} inputs[MOST];
static struct {
    uint8_t bytes[LONGEST];
    size_t n;
} current;
static uint8_t hits[PLACES], known[PLACES];
static size_t input_count;
static uint64_t random_state;
static const char *found_folder;

void __sanitizer_cov_trace_pc(void);

/* Called at every branch of the leaves, which is a third of the time: it is not checked itself. */
__attribute__((no_sanitize("address"), no_sanitize("undefined"))) void __sanitizer_cov_trace_pc(void) {
    const uintptr_t place = (uintptr_t)__builtin_return_address(0);
    uint8_t *hit = hits + (place ^ place >> 16) % PLACES;
    if (*hit < 255) ++*hit;
}

static void save(const char *name, const uint8_t *bytes, size_t n) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", found_folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, n, file) != n || fclose(file) != 0) fprintf(stderr, "cannot write %s\n", path);
}

static void save_current(void) {
    save("crash", current.bytes, current.n);
    fprintf(stderr, "the input is in %s/crash\n", found_folder);
}

void fuzz_fail(const char *what) {
    fprintf(stderr, "wrong: %s\n", what);
    save_current();
    _Exit(1);
}

static size_t below(size_t limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)((random_state >> 11) % limit);
}

/* Run the current input, in memory of its size; whether it came by somewhere new: once, a few times or often. */
static bool is_new(const fuzz_target *target) {
    bool is = false;
    uint8_t *exact = bbpe_memory_new(current.n, 1);
    if (exact == NULL) exit(2);
    memcpy(exact, current.bytes, current.n);
    memset(hits, 0, sizeof hits);
    target->run(exact, current.n);
    bbpe_memory_free(exact);
    for (size_t i = 0; i < PLACES; i++) {
        if (hits[i] == 0) continue;
        const uint8_t often = hits[i] == 1 ? 1 : hits[i] < 4 ? 2 : hits[i] < 32 ? 4 : 8;
        is = is || !(known[i] & often);
        known[i] |= often;
    }
    return is;
}

static void keep(bool is_found) {
    if (input_count == MOST) return;
    uint8_t *bytes = bbpe_memory_new(current.n, 1);
    if (bytes == NULL) exit(2);
    memcpy(bytes, current.bytes, current.n);
    inputs[input_count].bytes = bytes;
    inputs[input_count].is_found = is_found;
    inputs[input_count++].n = current.n;
}

static void insert(size_t at, const uint8_t *bytes, size_t n) {
    if (current.n + n > LONGEST) return;
    memmove(current.bytes + at + n, current.bytes + at, current.n - at);
    memcpy(current.bytes + at, bytes, n);
    current.n += n;
}

/* One change: a bit, a byte, a stretch left out, doubled, or taken from another input, or something that matters. */
static void change(void) {
    static const char *const PIECES[] = {
        "\xc3\xa9", "\xe4\xb8\xad", "\xf0\x9f\x98\x80", "'s", "  ", "\r\n", " a", "\xe2\x80\x83", "123", "\xff",
        "\xed\xa0\x80", "==", " 18446744073709551616\n", "AAAA 7\n",
    };
    const size_t at = below(current.n + 1), left = current.n - at, some = 1 + below(16), n = some < left ? some : left;
    uint8_t copy[16];
    const char *piece = PIECES[below(sizeof PIECES / sizeof *PIECES)];
    switch (below(7)) {
    case 0:
        if (left) current.bytes[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        if (left) current.bytes[at] = (uint8_t)below(256);
        break;
    case 2:
        memmove(current.bytes + at, current.bytes + at + n, left - n);
        current.n -= n;
        break;
    case 3:
        memcpy(copy, current.bytes + at, n);
        for (size_t times = 1 + below(6); times > 0; times--) insert(at, copy, n);
        break;
    case 4:
        insert(at, (const uint8_t *)piece, strlen(piece));
        break;
    case 5: {
        const size_t other = below(input_count), from = below(inputs[other].n + 1);
        insert(at, inputs[other].bytes + from, below(inputs[other].n - from + 1) / 2);
        break;
    }
    default:
        copy[0] = (uint8_t)below(256);
        insert(at, copy, 1);
    }
}

static void read_corpus(const fuzz_target *target, const char *folder) {
    DIR *open = opendir(folder);
    if (open == NULL) {
        fprintf(stderr, "there is no corpus %s\n", folder);
        exit(2);
    }
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
        char path[PATH];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "rb");
        if (file == NULL) exit(2);
        current.n = fread(current.bytes, 1, LONGEST, file);
        fclose(file);
        (void)is_new(target);
        keep(false);
    }
    closedir(open);
    if (input_count == 0) keep(false);
}

static void make_folder(char *path) {
    for (char *end = path + 1; *end; end++)
        if (*end == '/') {
            *end = 0;
            (void)mkdir(path, 0777);
            *end = '/';
        }
    (void)mkdir(path, 0777);
}

int main(int argc, char **argv) {
    const fuzz_target *target = FUZZ_TARGETS;
    while (argc == 5 && target->name != NULL && strcmp(target->name, argv[1]) != 0) target++;
    if (argc != 5 || target->name == NULL) {
        fputs("usage: fuzz_driver TARGET SECONDS CORPUS FOUND\n", stderr);
        return 2;
    }
    const time_t begin = time(NULL), end = begin + atol(argv[2]);
    random_state = (uint64_t)begin * 0x9E3779B97F4A7C15u | 1;
    found_folder = argv[4];
    make_folder(argv[4]);
    __sanitizer_set_death_callback(save_current);
    read_corpus(target, argv[3]);
    const size_t seeds = input_count;
    uint64_t runs = seeds;
    for (; time(NULL) < end; runs++) {
        const size_t from = below(input_count);
        current.n = inputs[from].n;
        memcpy(current.bytes, inputs[from].bytes, current.n);
        for (size_t changes = 1 + below(5); changes > 0; changes--) change();
        if (is_new(target)) keep(true);
    }
    for (size_t i = 0; i < input_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%04zu", i);
        if (inputs[i].is_found) save(name, inputs[i].bytes, inputs[i].n);
        bbpe_memory_free(inputs[i].bytes);
    }
    printf("%-8s %10llu inputs in %lld s, %zu seeds, %zu kept, nothing wrong\n", target->name, (unsigned long long)runs,
           (long long)(time(NULL) - begin), seeds, input_count - seeds);
    return 0;
}
