/* By AVX2. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include "target.h"
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include <immintrin.h>

#include "cut_units.h"
#include "vector_avx2.h"

/* Ends of pretokens in the block behind `at`, as bits; how many they are goes to `*count`.  Four at a time: a shift by 64 and
 * more gives no bit. */
static inline uint64_t ends_of(const bbpe_cutting *self, size_t *count) {
    const __m256i base = _mm256_set1_epi64x((long long)self->at), one = _mm256_set1_epi64x(1);
    const size_t left = (size_t)(self->last - self->end);
    __m256i all = _mm256_setzero_si256();
    unsigned inside = 4;
    size_t k = 0;
    for (; inside == 4 && left - k >= 4; k += inside) {
        const __m256i places = _mm256_sub_epi64(_mm256_loadu_si256((const void *)(self->end + k)), base);
        const __m256i bits = _mm256_sllv_epi64(one, places);
        const unsigned none = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(bits, _mm256_setzero_si256())));
        all = _mm256_or_si256(all, bits);
        inside = 4 - (unsigned)__builtin_popcount(none);
    }
    const __m128i both = _mm_or_si128(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    uint64_t bits = (uint64_t)_mm_cvtsi128_si64(both) | (uint64_t)_mm_extract_epi64(both, 1);
    for (; inside == 4 && k < left && self->end[k] - self->at < 64; k++) bits |= (uint64_t)1 << (self->end[k] - self->at);
    *count = k;
    return bits;
}

/* Set `flag` in the ends of units that are borders. */
static void mark_parts(size_t *ends, uint64_t units, uint64_t borders, size_t flag) {
    for (; units; units &= units - 1, ends++) *ends |= borders >> _tzcnt_u64(units) & 1 ? flag : 0;
}

#include "cut_units_blocks.h"

size_t bbpe_cut_units_avx2(const bbpe_cut_points *cuts, bbpe_cutting *cutting, size_t part, size_t *ends, size_t limit) {
    return cut_blocks(cuts, cutting, part, ends, limit);
}
BBPE_TARGET_END
#else
typedef int bbpe_cut_units_avx2_is_for_x86;
#endif
