#include "text/offsets.h"

#include "base/utf8.h"

/* A character: where it begins in UTF-8, how long it is there, where in the text it ends, and in units. */
typedef struct {
    int64_t byte, bytes, unit, units;
    size_t next;
} character;

BBPE_INLINE uint32_t unit_at(const void *text, unsigned unit_size, size_t i) {
    if (unit_size == 1) return ((const uint8_t *)text)[i];
    return unit_size == 2 ? ((const uint16_t *)text)[i] : ((const uint32_t *)text)[i];
}

/* The sizes of the character that begins at `self->next`. */
BBPE_INLINE void measure(character *self, const void *text, unsigned unit_size, size_t n, bbpe_offsets_unit unit) {
    const size_t i = self->next;
    uint32_t c;
    if (unit_size == 0) {
        c = bbpe_utf8_decode(text, i, n, &self->next);
        self->bytes = (int64_t)(self->next - i);
        self->units = 1 + (unit == BBPE_OFFSETS_UTF16 && self->bytes == 4);
        return;
    }
    c = unit_at(text, unit_size, i);
    self->next = i + 1;
    self->units = 1;
    self->bytes = 1 + (c >= 0x80) + (c >= 0x800);
    if (unit_size == 4 && c >= 0x10000) {
        self->bytes = 4;
        self->units += unit == BBPE_OFFSETS_UTF16;
    } else if (unit_size > 1 && (c & 0xFFFFFC00) == 0xD800 && i + 1 < n
               && (unit_at(text, unit_size, i + 1) & 0xFFFFFC00) == 0xDC00) {
        self->next = i + 2;
        self->bytes = 4;
        self->units = 2;
    }
}

/* Go on to the character that a byte is in or ends, or to the last one. */
BBPE_INLINE void go_on(character *self, int64_t byte, const void *text, unsigned unit_size, size_t n, bbpe_offsets_unit unit) {
    while (self->byte + self->bytes < byte && self->next < n) {
        self->byte += self->bytes;
        self->unit += self->units;
        measure(self, text, unit_size, n, unit);
    }
}

/* Inlined once for every kind of text. */
BBPE_INLINE void map(const void *text, unsigned unit_size, size_t n, bbpe_offsets_unit unit, int64_t *spans,
                     size_t count) {
    character first = {0, 0, 0, 0, 0}, last = first; /* of a span; `last` only goes on, and spans may end before it */
    for (size_t i = 0; i < count; i++) {
        const int64_t start = spans[2 * i], end = spans[2 * i + 1];
        if (last.byte <= start) first = last;
        /* the next span may begin in the character before an empty one */
        go_on(&first, start + (end > start), text, unit_size, n, unit);
        /* after the last character when the span is there */
        spans[2 * i] = first.byte + first.bytes <= start ? first.unit + first.units : first.unit;
        spans[2 * i + 1] = spans[2 * i];
        if (end <= start) continue;
        if (first.byte >= last.byte) last = first;
        character inner = first;
        character *const to = end > last.byte ? &last : &inner;
        go_on(to, end, text, unit_size, n, unit);
        spans[2 * i + 1] = to->unit + to->units;
    }
}

void bbpe_offsets_map(const void *text, unsigned unit_size, size_t n, bbpe_offsets_unit unit, int64_t *spans,
                      size_t count) {
    if (unit_size == 0) map(text, 0, n, unit, spans, count);
    else if (unit_size == 1) map(text, 1, n, unit, spans, count);
    else if (unit_size == 2) map(text, 2, n, unit, spans, count);
    else map(text, 4, n, unit, spans, count);
}

enum {
    WORD = 8,     /* bytes that are counted at once */
    VECTOR = 64,  /* units among which surrogates are looked for at once */
};

/* Which of the first bytes of a word, WORD at most, are within a character: one bit each. */
BBPE_INLINE uint64_t tails_of(const uint8_t *text, size_t bytes) {
    const uint64_t ones = 0x0101010101010101u;
    uint64_t word;
    memcpy(&word, text, WORD);
    return word >> 7 & ~(word >> 6) & ones & ~(UINT64_MAX << 4 * bytes << 4 * bytes);
}

BBPE_INLINE size_t sum_of(uint64_t bytes) {
    return (size_t)(bytes * 0x0101010101010101u >> 56);
}

/* How many characters begin in text[start, end), of n bytes.  Most tokens have two words of bytes at most, and lengths that no
 * branch predictor knows. */
BBPE_INLINE size_t count_heads(const uint8_t *text, size_t n, size_t start, size_t end) {
    size_t count = 0;
    for (; end - start > 2 * WORD; start += WORD) count += WORD - sum_of(tails_of(text + start, WORD));
    const size_t left = end - start, first = left < WORD ? left : WORD;
    if (n - start >= 2 * WORD)
        return count + left - sum_of(tails_of(text + start, first) + tails_of(text + start + WORD, left - first));
    for (; start < end; start++) count += !bbpe_utf8_is_tail(text[start]);
    return count;
}

/* How many characters begin before a byte. */
BBPE_INLINE int64_t chars_before(const uint8_t *text, size_t n, bbpe_offsets_place *place, int64_t byte) {
    const size_t to = (size_t)byte, from = place->byte;
    if (to == from) return (int64_t)place->chars;
    place->chars = to >= from ? place->chars + count_heads(text, n, from, to) : place->chars - count_heads(text, n, to, from);
    place->byte = to;
    return (int64_t)place->chars;
}

void bbpe_offsets_move(bbpe_offsets_place *self, const uint8_t *text, size_t n, size_t byte) {
    (void)chars_before(text, n, self, (int64_t)byte);
}

void bbpe_offsets_count(const uint8_t *text, size_t n, bbpe_offsets_place *place, int64_t *start, int64_t *end) {
    bbpe_offsets_place at = *place;
    const bool is_within = (size_t)*start < n && bbpe_utf8_is_tail(text[*start]), is_empty = *end <= *start;
    *start = chars_before(text, n, &at, *start) - is_within;
    *end = is_empty ? *start : chars_before(text, n, &at, *end);
    *place = at;
}

void bbpe_offsets_count_overlapping(const uint8_t *text, size_t n, bbpe_offsets_place *place, bbpe_offsets_place *begun,
                                    int64_t *spans, size_t count) {
    bbpe_offsets_place at = *place;
    for (size_t i = 0; i < count; i++) {
        const int64_t start = spans[2 * i], end = spans[2 * i + 1];
        const bool is_within = (size_t)start < n && bbpe_utf8_is_tail(text[start]);
        const bool overlaps = (size_t)start < at.byte;
        bbpe_offsets_place first = overlaps ? *begun : at;
        spans[2 * i] = chars_before(text, n, &first, start) - is_within;
        if (overlaps) *begun = first;
        if (!overlaps) at = first;
        spans[2 * i + 1] = spans[2 * i];
        if (end <= start) continue;
        bbpe_offsets_place *const to = (size_t)end >= at.byte ? &at : &first;
        spans[2 * i + 1] = chars_before(text, n, to, end);
    }
    *place = at;
}

bool bbpe_offsets_is_simple(const void *text, unsigned unit_size, size_t n) {
    size_t at = 0;
    if (unit_size < 2) return true;
    for (; n - at >= VECTOR; at += VECTOR) {
        unsigned any = 0; /* compilers make vectors of these */
        if (unit_size == 2)
            for (size_t i = 0; i < VECTOR; i++) any |= (((const uint16_t *)text)[at + i] & 0xF800) == 0xD800;
        else
            for (size_t i = 0; i < VECTOR; i++) any |= (((const uint32_t *)text)[at + i] >> 11) == 0x1B;
        if (any) return false;
    }
    for (; at < n; at++)
        if (unit_at(text, unit_size, at) >> 11 == 0x1B) return false;
    return true;
}
