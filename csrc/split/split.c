/* The scheme table, and the choice of an instruction set. */
#include "split/split.h"

#ifdef BBPE_HAS_X86
#include "simd/target.h"
#endif

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
                         size_t limit, bool *wide) {
    (void)scheme, (void)limit;
    *wide |= bbpe_utf8_has_wide(text + start, n - start);
    ends[0] = n;
    return start < n;
}

static bool joins_all(const bbpe_scheme *scheme) {
    if (scheme->joins == NULL) return false;
    for (size_t i = 0; i < 0x10000 / 64; i++)
        if (~scheme->joins[i]) return false;
    return true;
}

#ifdef BBPE_HAS_X86
bool bbpe_split_has_avx512(void) {
    return bbpe_target_has_avx2() && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
           && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
}
#endif

bbpe_split_fill bbpe_split_select(const bbpe_scheme *scheme, bbpe_isa isa) {
    const size_t row = find_row(scheme);
    if (isa == BBPE_ISA_AUTO && joins_all(scheme)) return fill_whole;
#ifdef BBPE_HAS_X86
    if (bbpe_split_has_avx512() && (isa == BBPE_ISA_AUTO || isa == BBPE_ISA_AVX512)) return bbpe_split_avx512(row);
    if (bbpe_target_has_avx2() && (isa == BBPE_ISA_AUTO || isa == BBPE_ISA_AVX2)) return bbpe_split_avx2(row);
#endif
#ifdef BBPE_HAS_NEON
    if (isa == BBPE_ISA_AUTO || isa == BBPE_ISA_NEON) return bbpe_split_neon(row);
#endif
    return isa == BBPE_ISA_AUTO || isa == BBPE_ISA_SCALAR ? bbpe_split_scalar(row) : NULL;
}

const char *bbpe_split_unicode_version(void) {
    return BBPE_UNICODE_VERSION;
}
