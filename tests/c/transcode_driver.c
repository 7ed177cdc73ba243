/* Texts of one, two and four bytes a unit as UTF-8, by every instruction set of this machine, against one character at a time:
 * exits with 1 when they differ.
 *
 *     transcode_driver ROUNDS    random texts: runs of ASCII, of units of up to two, three and four bytes, surrogates, any mixture
 *
 * A text and the room for its UTF-8 stand in memory of their size, so that an access one byte too far is caught. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "memory/memory.h"
#include "random_below.h"
#include "text/text.h"

enum { LONGEST = 700, LEAST_CAPACITY = 16 };

static uint64_t texts, bytes_seen, failed;

typedef struct {
    uint32_t units[LONGEST]; /* whatever their kind */
    size_t n;
    uint8_t utf8[4 * LONGEST]; /* the truth, */
    size_t starts[LONGEST + 1]; /* and where in it each unit is, the second one of a pair where the pair ends */
} sample;

/* A unit below 0x80, 0x800, 0x10000 or 0x110000, a surrogate, or one beside a border. */
static uint32_t draw_unit(uint64_t form, unsigned kind) {
    static const uint32_t borders[] = {0, 0x7F, 0x80, 0xFF, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF};
    const uint32_t most = kind == 1 ? 0xFF : kind == 2 ? 0xFFFF : 0x10FFFF;
    uint32_t unit;
    switch (form) {
        case 0: unit = (uint32_t)next(0x80); break;
        case 1: unit = (uint32_t)next(0x800); break;
        case 2: unit = 0x4E00 + (uint32_t)next(0x5000); break;
        case 3: unit = 0xD800 + (uint32_t)next(0x800); break;
        case 4: unit = borders[next(sizeof borders / sizeof *borders)]; break;
        default: unit = (uint32_t)next(0x110000);
    }
    return unit <= most ? unit : unit & most;
}

static void write_truth(sample *self) {
    size_t used = 0;
    for (size_t i = 0; i < self->n; i++) {
        uint32_t c = self->units[i];
        self->starts[i] = used;
        if (c >= 0xD800 && c < 0xE000) {
            const uint32_t low = c < 0xDC00 && i + 1 < self->n ? self->units[i + 1] : 0;
            const bool is_pair = low >= 0xDC00 && low < 0xE000;
            c = is_pair ? 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00) : 0xFFFD;
            if (is_pair) self->starts[++i] = used + 4;
        }
        used += bbpe_utf8_write(self->utf8 + used, c);
    }
    self->starts[self->n] = used;
}

static void draw(sample *self, unsigned kind) {
    self->n = 1 + next(next(3) ? 100 : LONGEST);
    for (size_t i = 0; i < self->n;) {
        const uint64_t form = next(6), odd = next(2) ? 0 : 2 + next(40);
        for (size_t run = 1 + next(next(2) ? 90 : 6); run > 0 && i < self->n; run--)
            self->units[i++] = draw_unit(odd && next(odd) == 0 ? next(6) : form, kind);
    }
    write_truth(self);
}

static void fail(const char *name, const char *what, unsigned kind, size_t at) {
    if (failed++ < 5) fprintf(stderr, "%s: %s, %u bytes a unit, unit %zu\n", name, what, kind, at);
}

static void check(const sample *self, bbpe_transcode transcode, const char *name, const void *text, unsigned kind) {
    for (size_t start = 0; start < self->n;) {
        const size_t capacity = LEAST_CAPACITY + next(next(2) ? 200 : 4 * LONGEST), from = self->starts[start];
        uint8_t *out = bbpe_memory_new(capacity, 1);
        size_t after = 0;
        if (out == NULL) exit(2);
        const size_t used = transcode(text, kind, start, self->n, &after, out, capacity);
        if (after <= start || after > self->n || used > capacity || self->starts[after] - from != used) {
            fail(name, "another end", kind, start);
            after = self->n;
        } else {
            if (memcmp(out, self->utf8 + from, used) != 0) fail(name, "other bytes", kind, start);
            if (after < self->n && self->starts[after + 1] - from <= capacity) fail(name, "room is left", kind, after);
        }
        bbpe_memory_free(out);
        bytes_seen += used;
        start = after;
    }
}

static void check_kind(unsigned kind) {
    static sample drawn;
    const char *name;
    draw(&drawn, kind);
    uint8_t *text = bbpe_memory_new(drawn.n, kind);
    if (text == NULL) exit(2);
    for (size_t i = 0; i < drawn.n; i++) memcpy(text + i * kind, drawn.units + i, kind); /* little-endian */
    for (size_t i = 0; bbpe_transcode_variant(i, &name) != NULL; i++)
        check(&drawn, bbpe_transcode_variant(i, &name), name, text, kind);
    bbpe_memory_free(text);
    texts++;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fputs("usage: transcode_driver ROUNDS\n", stderr);
        return 2;
    }
    for (long rounds = atol(argv[1]); rounds > 0 && failed == 0; rounds--)
        for (unsigned kind = 1; kind <= 4; kind *= 2) check_kind(kind);
    const char *name, *best = "";
    for (size_t i = 0; bbpe_transcode_variant(i, &name) != NULL; i++) best = name;
    printf("up to %s: %llu texts, %llu bytes, %llu differ\n", best, (unsigned long long)texts, (unsigned long long)bytes_seen,
           (unsigned long long)failed);
    return failed != 0;
}
