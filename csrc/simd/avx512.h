/* 64 bytes by AVX-512: one vector, and comparing gives the mask.
 *
 * Includer: has the instructions of avx512f, bw, vbmi, vbmi2, avx2, bmi, bmi2, lzcnt and popcnt. */
#ifndef BBPE_SIMD_AVX512_H
#define BBPE_SIMD_AVX512_H

#include "base/common.h"

typedef __m512i bbpe_vector;

BBPE_INLINE bbpe_vector vector_load(const uint8_t *p) {
    return _mm512_loadu_si512((const void *)p);
}

typedef __mmask64 bbpe_byte_mask;

BBPE_INLINE bbpe_byte_mask vector_eq(bbpe_vector v, uint8_t byte) {
    return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)byte));
}

BBPE_INLINE bbpe_byte_mask vector_in(bbpe_vector v, uint8_t first, uint8_t last) {
    if (first == 0x80 && last == 0xFF) return _mm512_movepi8_mask(v);
    if (first == 0x80) return _mm512_cmple_epi8_mask(v, _mm512_set1_epi8((char)last)); /* with sign */
    if (last == 0xFF) return _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)first));
    if (first == last) return vector_eq(v, first);
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8((char)first)),
                                  _mm512_set1_epi8((char)(last - first)));
}

BBPE_INLINE bbpe_byte_mask mask_and(bbpe_byte_mask a, bbpe_byte_mask b) {
    return a & b;
}

BBPE_INLINE bbpe_byte_mask mask_or(bbpe_byte_mask a, bbpe_byte_mask b) {
    return a | b;
}

BBPE_INLINE bbpe_byte_mask mask_but(bbpe_byte_mask a, bbpe_byte_mask b) {
    return a & ~b;
}

BBPE_INLINE uint64_t mask_bits(bbpe_byte_mask a) {
    uint64_t bits = a;
    /* out of the mask registers, whose shifts and logic take four cycles where these take one */
    __asm__("" : "+r"(bits));
    return bits;
}

BBPE_INLINE bbpe_vector vector_table(const uint8_t table[128], bbpe_vector v) {
    return _mm512_permutex2var_epi8(vector_load(table), v, vector_load(table + 64));
}

BBPE_INLINE bbpe_byte_mask vector_has(bbpe_vector v, uint8_t bit) {
    return _mm512_test_epi8_mask(v, _mm512_set1_epi8((char)bit));
}

#define vector_lookup vector_table

BBPE_INLINE bbpe_vector vector_merge(bbpe_vector a, bbpe_byte_mask lanes, bbpe_vector b) {
    return _mm512_mask_mov_epi8(a, lanes, b);
}

BBPE_INLINE bbpe_vector vector_of_page(bbpe_vector a, bbpe_byte_mask lanes, const uint8_t page[64], bbpe_vector v) {
    return _mm512_mask_permutexvar_epi8(a, lanes, v, vector_load(page));
}

#define vector_page vector_of_page

BBPE_INLINE bbpe_vector vector_and(bbpe_vector a, bbpe_vector b) {
    return _mm512_and_si512(a, b);
}

BBPE_INLINE bbpe_vector vector_look_up(const uint8_t page[64], bbpe_vector v) {
    return _mm512_permutexvar_epi8(v, vector_load(page));
}

/* The numbers of the bits, one a byte, and zeros after them. */
BBPE_INLINE bbpe_vector positions_of(uint64_t bits) {
    const __m512i iota = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43,
                                         42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22,
                                         21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_maskz_compress_epi8(bits, iota);
}

/* Write start + i for each bit i, and return how many there are: eight at a time, and 24 hold the bits of most blocks, so
 * that the branch is predictable.  Up to 24 positions are overwritten whatever their number. */
BBPE_INLINE size_t positions_of_vector(uint64_t bits, size_t start, size_t *positions) {
    const __m512i packed = positions_of(bits), base = _mm512_set1_epi64((long long)start);
    const __m128i first = _mm512_castsi512_si128(packed), second = _mm512_extracti32x4_epi32(packed, 1);
    const size_t count = bbpe_bits_count(bits);
    _mm512_storeu_si512(positions, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(first)));
    _mm512_storeu_si512(positions + 8, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(_mm_srli_si128(first, 8))));
    _mm512_storeu_si512(positions + 16, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(second)));
    if (BBPE_LIKELY(count <= 24)) return count;
    const __m128i rest[] = {_mm_srli_si128(second, 8), _mm512_extracti32x4_epi32(packed, 2),
                            _mm_srli_si128(_mm512_extracti32x4_epi32(packed, 2), 8),
                            _mm512_extracti32x4_epi32(packed, 3),
                            _mm_srli_si128(_mm512_extracti32x4_epi32(packed, 3), 8)};
    for (size_t k = 0; 24 + 8 * k < count; k++)
        _mm512_storeu_si512(positions + 24 + 8 * k, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(rest[k])));
    return count;
}

#define vector_positions positions_of_vector

#endif
