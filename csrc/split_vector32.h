/* A block as two AVX2 vectors of 32 bytes.  Includer: has chosen a target with AVX2. */
#ifndef BBPE_SPLIT_VECTOR32_H
#define BBPE_SPLIT_VECTOR32_H

#include <immintrin.h>

#include "common.h"

typedef struct {
    __m256i low, high;
} bbpe_vector32;

BBPE_INLINE bbpe_vector32 vector32_load(const uint8_t *p) {
    return (bbpe_vector32){_mm256_loadu_si256((const void *)p), _mm256_loadu_si256((const void *)(p + 32))};
}

BBPE_INLINE bbpe_vector32 vector32_eq(bbpe_vector32 v, uint8_t byte) {
    const __m256i same = _mm256_set1_epi8((char)byte);
    return (bbpe_vector32){_mm256_cmpeq_epi8(v.low, same), _mm256_cmpeq_epi8(v.high, same)};
}

BBPE_INLINE bbpe_vector32 vector32_in(bbpe_vector32 v, uint8_t first, uint8_t last) {
    if (first == 0x80 && last == 0xFF) return v; /* the sign is all that lanes32_bits looks at */
    const __m256i base = _mm256_set1_epi8((char)first), span = _mm256_set1_epi8((char)(last - first));
    const __m256i low = _mm256_sub_epi8(v.low, base), high = _mm256_sub_epi8(v.high, base);
    return (bbpe_vector32){_mm256_cmpeq_epi8(_mm256_min_epu8(low, span), low),
                        _mm256_cmpeq_epi8(_mm256_min_epu8(high, span), high)};
}

BBPE_INLINE bbpe_vector32 lanes32_and(bbpe_vector32 a, bbpe_vector32 b) {
    return (bbpe_vector32){_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
}

BBPE_INLINE bbpe_vector32 lanes32_or(bbpe_vector32 a, bbpe_vector32 b) {
    return (bbpe_vector32){_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
}

BBPE_INLINE bbpe_vector32 lanes32_but(bbpe_vector32 a, bbpe_vector32 b) {
    return (bbpe_vector32){_mm256_andnot_si256(b.low, a.low), _mm256_andnot_si256(b.high, a.high)};
}

BBPE_INLINE uint64_t lanes32_bits(bbpe_vector32 a) {
    return (uint32_t)_mm256_movemask_epi8(a.low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(a.high) << 32;
}

#endif
