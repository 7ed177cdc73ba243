/* One character at a time, never past the end.
 *
 * Invalid UTF-8 is text too: a byte that does not begin a well-formed character (a stray continuation
 * byte, an overlong form, a surrogate, a cut-off sequence) is one character of its own, as Python's
 * "surrogateescape" reads it.  So splitting is defined on every byte string. */
#ifndef BBPE_BASE_UTF8_H
#define BBPE_BASE_UTF8_H

#include "base/common.h"

/* An invalid byte decodes to this, outside Unicode, so that it cannot be mistaken for a character. */
#define BBPE_UTF8_INVALID 0x110000u

BBPE_INLINE bool bbpe_utf8_is_tail(uint8_t byte) {
    return (byte & 0xC0) == 0x80;
}

/* Whether these bytes, the first one lowest, have the form of a character of three; it may be overlong or a surrogate. */
BBPE_INLINE bool bbpe_utf8_begins_3byte(uint64_t bytes) {
    return (bytes & 0xC0C0F0) == 0x8080E0;
}

/* Whether a text has characters of three bytes or more, or bytes that begin such ones. */
BBPE_INLINE bool bbpe_utf8_has_3byte(const uint8_t *text, size_t n) {
    uint8_t most = 0;
    for (size_t i = 0; i < n; i++) most = text[i] > most ? text[i] : most; /* vectors, where the compiler makes them */
    return most >= 0xE0;
}

/* The code point at text[i], i < n; `*next` is where the following character begins. */
BBPE_INLINE uint32_t bbpe_utf8_decode(const uint8_t *text, size_t i, size_t n, size_t *next) {
    const uint8_t *s = text + i;
    const size_t left = n - i;
    const uint32_t lead = s[0];
    uint32_t c;
    *next = i + 1;
    if (lead < 0x80) return lead;
    if (lead < 0xC2 || lead > 0xF4 || left < 2 || !bbpe_utf8_is_tail(s[1])) return BBPE_UTF8_INVALID;
    if (lead < 0xE0) {
        *next = i + 2;
        return (lead & 0x1F) << 6 | (s[1] & 0x3Fu);
    }
    if (left < 3 || !bbpe_utf8_is_tail(s[2])) return BBPE_UTF8_INVALID;
    if (lead < 0xF0) {
        c = (lead & 0x0F) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
        if (c < 0x800 || (c >= 0xD800 && c < 0xE000)) return BBPE_UTF8_INVALID;
        *next = i + 3;
        return c;
    }
    if (left < 4 || !bbpe_utf8_is_tail(s[3])) return BBPE_UTF8_INVALID;
    c = (lead & 0x07) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
    if (c < 0x10000 || c > 0x10FFFF) return BBPE_UTF8_INVALID;
    *next = i + 4;
    return c;
}

/* Where the character begins that text[at] is in, at < n. */
BBPE_INLINE size_t bbpe_utf8_start(const uint8_t *text, size_t at, size_t n) {
    size_t start = at, next;
    if (!bbpe_utf8_is_tail(text[at])) return at;
    while (start > 0 && at - start < 3 && bbpe_utf8_is_tail(text[start])) start--;
    return bbpe_utf8_decode(text, start, n, &next) != BBPE_UTF8_INVALID && next > at ? start : at;
}

/* The number of bytes of a code point. */
BBPE_INLINE size_t bbpe_utf8_size(uint32_t c) {
    return 1 + (size_t)(c >= 0x80) + (c >= 0x800) + (c >= 0x10000);
}

/* Write the bytes of a code point, for which there is room; returns how many. */
BBPE_INLINE size_t bbpe_utf8_write(uint8_t *out, uint32_t c) {
    const size_t size = bbpe_utf8_size(c);
    const uint8_t tail = (uint8_t)(0x80 | (c & 0x3F)), before = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    if (size == 1) {
        out[0] = (uint8_t)c;
    } else if (size == 2) {
        out[0] = (uint8_t)(0xC0 | c >> 6);
        out[1] = tail;
    } else if (size == 3) {
        out[0] = (uint8_t)(0xE0 | c >> 12);
        out[1] = before;
        out[2] = tail;
    } else {
        out[0] = (uint8_t)(0xF0 | c >> 18);
        out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
        out[2] = before;
        out[3] = tail;
    }
    return size;
}

#endif
