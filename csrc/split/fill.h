/* The loops of one instruction set: one specialised for each row of the scheme table, and one that reads
 * the row at run time.
 *
 * Includer: defines BBPE_FILL_BODY(text, start, n, ends, limit, has_3byte, scheme) and the name of the function that
 * chooses, BBPE_FILL_SELECT. */
#include "split/split.h"

/* clang-format off */
#define BBPE_FILL(row, ...)                                                                              \
    static size_t fill_##row(const bbpe_scheme *self, const uint8_t *text, size_t start, size_t n, size_t *ends, \
                             size_t limit, bool *has_3byte) {                                                 \
        static const bbpe_scheme scheme = BBPE_SCHEME(__VA_ARGS__);                                      \
        (void)self;                                                                                      \
        BBPE_ASSERT(limit >= 64 && start <= n);                                                          \
        return BBPE_FILL_BODY(text, start, n, ends, limit, has_3byte, scheme);                                \
    }
/* clang-format on */
BBPE_SCHEMES(BBPE_FILL)

static size_t fill_any(const bbpe_scheme *self, const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit,
                       bool *has_3byte) {
    const bbpe_scheme scheme = *self;
    BBPE_ASSERT(limit >= 64 && start <= n);
    return BBPE_FILL_BODY(text, start, n, ends, limit, has_3byte, scheme);
}

bbpe_split_fill BBPE_FILL_SELECT(size_t row) {
#define BBPE_FILL_ENTRY(name, ...) fill_##name,
    static const bbpe_split_fill fills[] = {BBPE_SCHEMES(BBPE_FILL_ENTRY)};
    return row < sizeof fills / sizeof *fills ? fills[row] : fill_any;
}
