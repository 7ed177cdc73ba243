/* The scheme table, and the choice of an instruction set. */
#include "split/split.h"

const bbpe_scheme *bbpe_split_row(size_t index, const char **name) {
#define BBPE_ROW(row, ...) BBPE_SCHEME(__VA_ARGS__),
#define BBPE_ROW_NAME(row, ...) #row,
    static const bbpe_scheme rows[] = {BBPE_SCHEMES(BBPE_ROW)};
    static const char *const names[] = {BBPE_SCHEMES(BBPE_ROW_NAME)};
    if (index >= sizeof rows / sizeof *rows) return NULL;
    *name = names[index];
    return rows + index;
}

static size_t find_row(const bbpe_scheme *scheme) {
    const char *name;
    size_t index = 0;
    for (const bbpe_scheme *row; (row = bbpe_split_row(index, &name)) != NULL; index++)
        if (memcmp(row, scheme, sizeof *row) == 0) break;
    return index;
}

/* A text that is one pretoken, as tokens join any two bytes: a twentieth of the time of a Unigram model. */
static size_t fill_whole(const bbpe_scheme *scheme, const uint8_t *text, size_t start, size_t n, size_t *ends,
                         size_t limit, bool *has_3byte) {
    (void)scheme, (void)limit;
    *has_3byte |= bbpe_utf8_has_3byte(text + start, n - start);
    ends[0] = n;
    return start < n;
}

static bool joins_all(const bbpe_scheme *scheme) {
    if (scheme->joins == NULL) return false;
    for (size_t i = 0; i < 0x10000 / 64; i++)
        if (~scheme->joins[i]) return false;
    return true;
}

bbpe_split_fill bbpe_split_select(const bbpe_scheme *scheme, bbpe_isa isa) {
    const size_t row = find_row(scheme);
    const bool is_auto = isa == BBPE_ISA_AUTO;
    if (is_auto && joins_all(scheme)) return fill_whole;
#ifdef BBPE_HAS_X86
    const bbpe_cpu_level level = bbpe_cpu_level_get();
    if (level >= BBPE_CPU_AVX512 && (is_auto || isa == BBPE_ISA_AVX512)) return bbpe_split_avx512(row);
    if (level >= BBPE_CPU_AVX2 && (is_auto || isa == BBPE_ISA_AVX2)) return bbpe_split_avx2(row);
#endif
#ifdef BBPE_HAS_NEON
    if (is_auto || isa == BBPE_ISA_NEON) return bbpe_split_neon(row);
#endif
    return is_auto || isa == BBPE_ISA_SCALAR ? bbpe_split_scalar : NULL;
}

const char *bbpe_split_unicode_version(void) {
    return BBPE_UNICODE_VERSION;
}
