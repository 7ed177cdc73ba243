/* One character at a time, never past the end.
 *
 * Invalid UTF-8 is text too: a byte that does not begin a well-formed character (a stray continuation
 * byte, an overlong form, a surrogate, a cut-off sequence) is one character of its own, as Python's
 * "surrogateescape" reads it.  So splitting is defined on every byte string. */
#ifndef BBPE_BASE_UTF8_H
#define BBPE_BASE_UTF8_H

#include "base/common.h"

/* What an invalid byte decodes to: outside Unicode, so that it cannot be mistaken for a character. */
#define BBPE_UTF8_INVALID 0x110000u

BBPE_INLINE bool bbpe_utf8_is_tail(uint8_t byte) {
    return (byte & 0xC0) == 0x80;
}

/* Whether a text has characters of three bytes or more, or bytes that begin such ones. */
BBPE_INLINE bool bbpe_utf8_has_wide(const uint8_t *text, size_t n) {
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

#endif
