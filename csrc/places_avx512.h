/* The places of the bits of a mask.
 *
 * Includer: has the instructions of split_avx512.c. */
#ifndef BBPE_PLACES_AVX512_H
#define BBPE_PLACES_AVX512_H

#include "common.h"

/* Write start + i for each bit i, and return how many there are: eight at a time, and 24 hold the bits of most blocks, so
 * that the branch is foreseeable.  Up to 24 places are overwritten whatever their number. */
BBPE_INLINE size_t places_write(uint64_t bits, size_t start, size_t *places) {
    const __m512i iota = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43,
                                         42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22,
                                         21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i packed = _mm512_maskz_compress_epi8(bits, iota), base = _mm512_set1_epi64((long long)start);
    const __m128i first = _mm512_castsi512_si128(packed), second = _mm512_extracti32x4_epi32(packed, 1);
    const size_t count = (size_t)__builtin_popcountll(bits);
    _mm512_storeu_si512(places, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(first)));
    _mm512_storeu_si512(places + 8, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(_mm_srli_si128(first, 8))));
    _mm512_storeu_si512(places + 16, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(second)));
    if (BBPE_LIKELY(count <= 24)) return count;
    const __m128i rest[] = {_mm_srli_si128(second, 8), _mm512_extracti32x4_epi32(packed, 2),
                            _mm_srli_si128(_mm512_extracti32x4_epi32(packed, 2), 8),
                            _mm512_extracti32x4_epi32(packed, 3),
                            _mm_srli_si128(_mm512_extracti32x4_epi32(packed, 3), 8)};
    for (size_t k = 0; 24 + 8 * k < count; k++)
        _mm512_storeu_si512(places + 24 + 8 * k, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(rest[k])));
    return count;
}

#endif
