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

/* Inlined once for every kind of text. */
BBPE_INLINE void map(const void *text, unsigned unit_size, size_t n, bbpe_offsets_unit unit, int64_t *spans,
                     size_t count) {
    character at = {0, 0, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        const int64_t start = spans[2 * i], end = spans[2 * i + 1];
        /* the next span may begin in the character before an empty one */
        const int64_t least = start + (end > start);
        while (at.byte + at.bytes < least && at.next < n) {
            at.byte += at.bytes;
            at.unit += at.units;
            measure(&at, text, unit_size, n, unit);
        }
        /* after the last character when the span is there */
        spans[2 * i] = at.byte + at.bytes <= start ? at.unit + at.units : at.unit;
        while (at.byte + at.bytes < end && at.next < n) {
            at.byte += at.bytes;
            at.unit += at.units;
            measure(&at, text, unit_size, n, unit);
        }
        spans[2 * i + 1] = end > start ? at.unit + at.units : spans[2 * i];
    }
}

void bbpe_offsets_map(const void *text, unsigned unit_size, size_t n, bbpe_offsets_unit unit, int64_t *spans,
                      size_t count) {
    if (unit_size == 0) map(text, 0, n, unit, spans, count);
    else if (unit_size == 1) map(text, 1, n, unit, spans, count);
    else if (unit_size == 2) map(text, 2, n, unit, spans, count);
    else map(text, 4, n, unit, spans, count);
}
