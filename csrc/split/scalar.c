/* The scalar loops: token.h and nothing else. */
#include "split/token.h"

BBPE_INLINE size_t scalar_fill(const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit,
                               bool *has_3byte, const bbpe_scheme scheme) {
    const size_t first = start;
    size_t count = 0;
    while (start < n && count < limit) ends[count++] = start = bbpe_split_token(text, start, n, scheme);
    *has_3byte |= bbpe_utf8_has_3byte(text + first, start - first);
    return count;
}

#define BBPE_FILL_BODY scalar_fill
#define BBPE_FILL_SELECT bbpe_split_scalar
#include "split/fill.h"
