/* The scalar loop: token.h and nothing else, for all rows of the scheme table.  A loop for each row would be 120 kB. */
#include "split/split.h"
#include "split/token.h"

BBPE_NOINLINE size_t bbpe_split_step(const bbpe_scheme *self, const uint8_t *text, size_t start, size_t n) {
    return bbpe_split_token(text, start, n, *self);
}

size_t bbpe_split_scalar(const bbpe_scheme *self, const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit,
                         bool *has_3byte) {
    const size_t first = start;
    size_t count = 0;
    BBPE_ASSERT(limit >= 64 && start <= n);
    while (start < n && count < limit) ends[count++] = start = bbpe_split_step(self, text, start, n);
    *has_3byte |= bbpe_utf8_has_3byte(text + first, start - first);
    return count;
}
