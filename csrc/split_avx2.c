/* AVX2 primitives: a block is two vectors of 32 bytes. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include "target.h"
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include <immintrin.h>

#include "common.h"

typedef struct {
    __m256i low, high;
} bbpe_vector;

typedef bbpe_vector bbpe_lanes;

BBPE_INLINE bbpe_vector vector_load(const uint8_t *p) {
    return (bbpe_vector){_mm256_loadu_si256((const void *)p), _mm256_loadu_si256((const void *)(p + 32))};
}

BBPE_INLINE bbpe_lanes vector_eq(bbpe_vector v, uint8_t byte) {
    const __m256i same = _mm256_set1_epi8((char)byte);
    return (bbpe_vector){_mm256_cmpeq_epi8(v.low, same), _mm256_cmpeq_epi8(v.high, same)};
}

BBPE_INLINE bbpe_lanes vector_in(bbpe_vector v, uint8_t first, uint8_t last) {
    if (first == 0x80 && last == 0xFF) return v; /* the sign is all that lanes_bits looks at */
    const __m256i base = _mm256_set1_epi8((char)first), span = _mm256_set1_epi8((char)(last - first));
    const __m256i low = _mm256_sub_epi8(v.low, base), high = _mm256_sub_epi8(v.high, base);
    return (bbpe_vector){_mm256_cmpeq_epi8(_mm256_min_epu8(low, span), low),
                          _mm256_cmpeq_epi8(_mm256_min_epu8(high, span), high)};
}

BBPE_INLINE bbpe_lanes lanes_and(bbpe_vector a, bbpe_vector b) {
    return (bbpe_vector){_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
}

BBPE_INLINE bbpe_lanes lanes_or(bbpe_vector a, bbpe_vector b) {
    return (bbpe_vector){_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
}

BBPE_INLINE bbpe_lanes lanes_but(bbpe_vector a, bbpe_vector b) {
    return (bbpe_vector){_mm256_andnot_si256(b.low, a.low), _mm256_andnot_si256(b.high, a.high)};
}

BBPE_INLINE uint64_t lanes_bits(bbpe_vector a) {
    return (uint32_t)_mm256_movemask_epi8(a.low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(a.high) << 32;
}

#include "split_masks.h"

#define BBPE_FILL_BODY masks_fill
#define BBPE_FILL_SELECT bbpe_split_avx2
#include "split_fill.h"
BBPE_TARGET_END
#else
typedef int bbpe_split_avx2_is_for_x86;
#endif
