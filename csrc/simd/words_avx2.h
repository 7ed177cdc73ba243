/* Four words of 64 bits by AVX2, or eight halves of 32: one vector.
 *
 * Includer: has the instructions of avx2, bmi, bmi2, lzcnt and popcnt. */
#ifndef BBPE_SIMD_WORDS_AVX2_H
#define BBPE_SIMD_WORDS_AVX2_H

#include "base/common.h"

typedef __m256i bbpe_words;
typedef __m256i bbpe_halves;

BBPE_INLINE bbpe_words words_each(uint64_t x) {
    return _mm256_set1_epi64x((long long)x);
}

/* [low high low high] */
BBPE_INLINE bbpe_words words_pair(uint64_t low, uint64_t high) {
    return _mm256_setr_epi64x((long long)low, (long long)high, (long long)low, (long long)high);
}

BBPE_INLINE bbpe_words words_each_byte(uint8_t x) {
    return _mm256_set1_epi8((char)x);
}

BBPE_INLINE bbpe_words words_load(const void *p) {
    return _mm256_loadu_si256(p);
}

BBPE_INLINE void words_store(void *p, bbpe_words x) {
    _mm256_storeu_si256(p, x);
}

/* 16 bytes from each. */
BBPE_INLINE bbpe_words words_load_two(const void *first, const void *second) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(first)), _mm_loadu_si128(second), 1);
}

/* Four numbers of 32 bits, and four bytes, each in a word. */
BBPE_INLINE bbpe_words words_of_halves(const uint32_t *p) {
    return _mm256_cvtepu32_epi64(_mm_loadu_si128((const void *)p));
}

BBPE_INLINE bbpe_words words_of_bytes(uint32_t four) {
    return _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)four));
}

BBPE_INLINE bbpe_words words_and(bbpe_words a, bbpe_words b) {
    return _mm256_and_si256(a, b);
}

BBPE_INLINE bbpe_words words_or(bbpe_words a, bbpe_words b) {
    return _mm256_or_si256(a, b);
}

BBPE_INLINE bbpe_words words_but(bbpe_words a, bbpe_words b) {
    return _mm256_andnot_si256(b, a);
}

BBPE_INLINE bbpe_words words_xor(bbpe_words a, bbpe_words b) {
    return _mm256_xor_si256(a, b);
}

BBPE_INLINE bbpe_words words_add(bbpe_words a, bbpe_words b) {
    return _mm256_add_epi64(a, b);
}

BBPE_INLINE bbpe_words words_sub(bbpe_words a, bbpe_words b) {
    return _mm256_sub_epi64(a, b);
}

/* The product of the low halves. */
BBPE_INLINE bbpe_words words_multiply(bbpe_words a, bbpe_words b) {
    return _mm256_mul_epu32(a, b);
}

/* Truth values: all ones or zeros.  Numbers below 2^63 are compared, and those below 2^32 of `words_max`. */
BBPE_INLINE bbpe_words words_equal(bbpe_words a, bbpe_words b) {
    return _mm256_cmpeq_epi64(a, b);
}

BBPE_INLINE bbpe_words words_more(bbpe_words a, bbpe_words b) {
    return _mm256_cmpgt_epi64(a, b);
}

BBPE_INLINE bbpe_words words_max(bbpe_words a, bbpe_words b) {
    return _mm256_max_epu32(a, b);
}

/* By bytes, of numbers below 128. */
BBPE_INLINE bbpe_words words_more_bytes(bbpe_words a, bbpe_words b) {
    return _mm256_cmpgt_epi8(a, b);
}

/* `b` where the truth value is true, elsewhere `a`. */
BBPE_INLINE bbpe_words words_merge(bbpe_words a, bbpe_words truth, bbpe_words b) {
    return _mm256_blendv_epi8(a, b, truth);
}

/* Shifts by 0 to 63. */
BBPE_INLINE bbpe_words words_left(bbpe_words x, unsigned bits) {
    return BBPE_IS_CONSTANT(bits) ? _mm256_slli_epi64(x, (int)bits) : _mm256_sll_epi64(x, _mm_cvtsi32_si128((int)bits));
}

BBPE_INLINE bbpe_words words_right(bbpe_words x, unsigned bits) {
    return BBPE_IS_CONSTANT(bits) ? _mm256_srli_epi64(x, (int)bits) : _mm256_srl_epi64(x, _mm_cvtsi32_si128((int)bits));
}

BBPE_INLINE bbpe_words words_right_each(bbpe_words x, bbpe_words bits) {
    return _mm256_srlv_epi64(x, bits);
}

/* The highest bits. */
BBPE_INLINE unsigned words_signs(bbpe_words x) {
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(x));
}

/* The words that are set in a mask of four bits, moved to the front. */
BBPE_INLINE bbpe_words words_pack(bbpe_words x, unsigned mask) {
    static const uint64_t halves[16] = {
        0x0000000000000000, 0x0000000000000100, 0x0000000000000302, 0x0000000003020100,
        0x0000000000000504, 0x0000000005040100, 0x0000000005040302, 0x0000050403020100,
        0x0000000000000706, 0x0000000007060100, 0x0000000007060302, 0x0000070603020100,
        0x0000000007060504, 0x0000070605040100, 0x0000070605040302, 0x0706050403020100,
    };
    return _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)halves[mask])));
}

/* The first byte of each two words, everywhere in these. */
BBPE_INLINE bbpe_words words_spread(bbpe_words x) {
    return _mm256_shuffle_epi8(x, _mm256_setzero_si256());
}

/* Of [a b c d]: [a a b b] and [c c d d]. */
BBPE_INLINE bbpe_words words_first_twice(bbpe_words x) {
    return _mm256_permute4x64_epi64(x, 0x50);
}

BBPE_INLINE bbpe_words words_last_twice(bbpe_words x) {
    return _mm256_permute4x64_epi64(x, 0xFA);
}

/* Of [a b c d] and [e f g h]: a, c, e, g and b, d, f, h, in an order that is right after words_in_order. */
BBPE_INLINE bbpe_words words_evens(bbpe_words x, bbpe_words y) {
    return _mm256_unpacklo_epi64(x, y);
}

BBPE_INLINE bbpe_words words_odds(bbpe_words x, bbpe_words y) {
    return _mm256_unpackhi_epi64(x, y);
}

BBPE_INLINE bbpe_words words_in_order(bbpe_words x) {
    return _mm256_permute4x64_epi64(x, 0xD8);
}

/* Store the low halves. */
BBPE_INLINE void words_store_low(uint32_t *p, bbpe_words x) {
    const __m256i low = _mm256_permutevar8x32_epi32(x, _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0));
    _mm_storeu_si128((void *)p, _mm256_castsi256_si128(low));
}

/* Those with these numbers: a gather takes as long where it is fast, and much longer where it is not. */
BBPE_INLINE bbpe_words words_at(const uint64_t *words, bbpe_words at) {
    const __m128i low = _mm256_castsi256_si128(at), high = _mm256_extracti128_si256(at, 1);
    return _mm256_set_epi64x(
        (long long)words[_mm_extract_epi64(high, 1)], (long long)words[_mm_cvtsi128_si64(high)],
        (long long)words[_mm_extract_epi64(low, 1)], (long long)words[_mm_cvtsi128_si64(low)]);
}

/* -- eight halves -------------------------------------------------------------------------------------------------- */

BBPE_INLINE bbpe_halves halves_each(uint32_t x) {
    return _mm256_set1_epi32((int)x);
}

BBPE_INLINE bbpe_halves halves_load(const uint32_t *p) {
    return _mm256_loadu_si256((const void *)p);
}

BBPE_INLINE void halves_store(uint32_t *p, bbpe_halves x) {
    _mm256_storeu_si256((void *)p, x);
}

/* 0 to 7. */
BBPE_INLINE bbpe_halves halves_numbers(void) {
    return _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
}

BBPE_INLINE bbpe_halves halves_or(bbpe_halves a, bbpe_halves b) {
    return _mm256_or_si256(a, b);
}

BBPE_INLINE bbpe_halves halves_add(bbpe_halves a, bbpe_halves b) {
    return _mm256_add_epi32(a, b);
}

/* With sign. */
BBPE_INLINE bbpe_halves halves_more(bbpe_halves a, bbpe_halves b) {
    return _mm256_cmpgt_epi32(a, b);
}

BBPE_INLINE bbpe_halves halves_min(bbpe_halves a, bbpe_halves b) {
    return _mm256_min_epu32(a, b);
}

/* The least of all eight. */
BBPE_INLINE uint32_t halves_least(bbpe_halves x) {
    __m128i four = _mm_min_epu32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    four = _mm_min_epu32(four, _mm_shuffle_epi32(four, 0x4E));
    return (uint32_t)_mm_cvtsi128_si32(_mm_min_epu32(four, _mm_shuffle_epi32(four, 0xB1)));
}

/* -- bits of 32 ---------------------------------------------------------------------------------------------------- */

/* The lowest bits, so many; the number of the lowest bit, 32 of none, and of the highest. */
#define bits_below _bzhi_u32
#define bits_lowest _tzcnt_u32
#define bits_highest(x) (31 - _lzcnt_u32(x))

#endif
