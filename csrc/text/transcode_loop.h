/* One character at a time, which is the truth, and the loop that takes blocks where an instruction set knows how.
 *
 * Includer: defines the name of the function, BBPE_TRANSCODE_SELECT, and
 *
 *     size_t BBPE_TRANSCODE_BLOCK(const void *text, unsigned kind, size_t i, size_t left, uint8_t *out, size_t capacity,
 *                                 size_t *written)
 *
 * which takes the first of the `left` units at text[i], writes their UTF-8 to out[0..capacity) and returns how many it
 * took: 0 when it leaves the first one to the code here, as it does with every surrogate. */
#include "base/utf8.h"
#include "text/transcode.h"

#define BBPE_TRANSCODE_REPLACEMENT 0xFFFDu

BBPE_INLINE uint32_t transcode_unit(const void *text, unsigned kind, size_t i) {
    if (kind == 1) return ((const uint8_t *)text)[i];
    if (kind == 2) return ((const uint16_t *)text)[i];
    return ((const uint32_t *)text)[i];
}

/* The character at text[i], i < n, that needs `*units` units. */
BBPE_INLINE uint32_t transcode_character(const void *text, unsigned kind, size_t i, size_t n, size_t *units) {
    const uint32_t c = transcode_unit(text, kind, i);
    *units = 1;
    if (kind == 1 || BBPE_LIKELY((c & ~0x7FFu) != 0xD800)) return c;
    if (c >= 0xDC00 || i + 1 == n) return BBPE_TRANSCODE_REPLACEMENT;
    const uint32_t low = transcode_unit(text, kind, i + 1);
    if ((low & ~0x3FFu) != 0xDC00) return BBPE_TRANSCODE_REPLACEMENT;
    *units = 2;
    return 0x10000 + ((c & 0x3FF) << 10 | (low & 0x3FF));
}

BBPE_INLINE size_t transcode_loop(const void *text, unsigned kind, size_t start, size_t n, size_t *next, uint8_t *out,
                                  size_t capacity) {
    size_t i = start, used = 0;
    BBPE_ASSERT(start <= n && capacity >= 16);
    while (i < n) {
        size_t size, taken = BBPE_TRANSCODE_BLOCK(text, kind, i, n - i, out + used, capacity - used, &size);
        if (BBPE_UNLIKELY(taken == 0)) {
            const uint32_t c = transcode_character(text, kind, i, n, &taken);
            if (bbpe_utf8_size(c) > capacity - used) break;
            size = bbpe_utf8_write(out + used, c);
        }
        i += taken;
        used += size;
    }
    *next = i;
    return used;
}

size_t BBPE_TRANSCODE_SELECT(const void *text, unsigned kind, size_t start, size_t n, size_t *next, uint8_t *out,
                             size_t capacity) {
    if (kind == 1) return transcode_loop(text, 1, start, n, next, out, capacity);
    if (kind == 2) return transcode_loop(text, 2, start, n, next, out, capacity);
    return transcode_loop(text, 4, start, n, next, out, capacity);
}
