#include "text/base64.h"

enum { NO = 0x80 }; /* above every value of six bits */

/* Values of characters 0x00-0x7F. */
static const uint8_t values[128] = {
    NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
    NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, 62, NO, NO, NO, 63, 52, 53, 54, 55, 56, 57, 58, 59,
    60, 61, NO, NO, NO, NO, NO, NO, NO, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
    21, 22, 23, 24, 25, NO, NO, NO, NO, NO, NO, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42,
    43, 44, 45, 46, 47, 48, 49, 50, 51, NO, NO, NO, NO, NO,
};

BBPE_INLINE uint32_t value(uint8_t character) {
    return character < 0x80 ? values[character] : NO;
}

size_t bbpe_base64_decode(const uint8_t *text, size_t n, uint8_t *out) {
    if (n == 0 || n % 4 != 0) return BBPE_BASE64_NONE;
    const size_t padding = text[n - 1] != '=' ? 0 : text[n - 2] != '=' ? 1 : 2, whole = n - (padding ? 4 : 0);
    uint32_t seen = 0;
    uint8_t *end = out;
    for (size_t i = 0; i < whole; i += 4, end += 3) {
        const uint32_t a = value(text[i]), b = value(text[i + 1]), c = value(text[i + 2]), d = value(text[i + 3]);
        seen |= a | b | c | d;
        end[0] = (uint8_t)(a << 2 | b >> 4);
        end[1] = (uint8_t)(b << 4 | c >> 2);
        end[2] = (uint8_t)(c << 6 | d);
    }
    if (padding) {
        const uint32_t a = value(text[whole]), b = value(text[whole + 1]);
        const uint32_t c = padding == 1 ? value(text[whole + 2]) : 0;
        if ((padding == 1 ? c & 3 : b & 15) != 0) return BBPE_BASE64_NONE; /* bits that no byte takes */
        seen |= a | b | c;
        *end++ = (uint8_t)(a << 2 | b >> 4);
        if (padding == 1) *end++ = (uint8_t)(b << 4 | c >> 2);
    }
    return seen & NO ? BBPE_BASE64_NONE : (size_t)(end - out);
}
