/* One specialised loop per scheme row, made by the X-macro below; see split_token.h for the truth. */
#include "split.h"

#include "split_token.h"

/*          name   contraction  word        number      rest */
#define BBPE_SCHEMES(ROW) \
    ROW(gpt2, 1, BBPE_SET_L, BBPE_SET_N, BBPE_SET_REST)

#define BBPE_FILL(name, ...)                                                                           \
    static size_t fill_##name(const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit) { \
        static const bbpe_scheme scheme = {__VA_ARGS__};                                                 \
        size_t count = 0;                                                                                \
        while (start < n && count < limit) ends[count++] = start = bbpe_split_token(text, start, n, scheme); \
        return count;                                                                                    \
    }
BBPE_SCHEMES(BBPE_FILL)

bbpe_split_fill bbpe_split_find(const char *name) {
#define BBPE_FIND(row, ...) \
    if (strcmp(name, #row) == 0) return fill_##row;
    BBPE_SCHEMES(BBPE_FIND)
    return NULL;
}

const char *bbpe_split_unicode_version(void) {
    return BBPE_UNICODE_VERSION;
}
