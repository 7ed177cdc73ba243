/* AVX-512 primitives: a block is one vector of 64 bytes, and comparing gives the mask. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include "target.h"
BBPE_TARGET_BEGIN("avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")
#include <immintrin.h>

#include "places_avx512.h"

typedef __m512i bbpe_vector;

BBPE_INLINE bbpe_vector vector_load(const uint8_t *p) {
    return _mm512_loadu_si512((const void *)p);
}

typedef __mmask64 bbpe_lanes;

BBPE_INLINE bbpe_lanes vector_eq(bbpe_vector v, uint8_t byte) {
    return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)byte));
}

BBPE_INLINE bbpe_lanes vector_in(bbpe_vector v, uint8_t first, uint8_t last) {
    if (first == 0x80 && last == 0xFF) return _mm512_movepi8_mask(v);
    if (last == 0xFF) return _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)first));
    if (first == last) return vector_eq(v, first);
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8((char)first)),
                                  _mm512_set1_epi8((char)(last - first)));
}

BBPE_INLINE bbpe_lanes lanes_and(bbpe_lanes a, bbpe_lanes b) {
    return a & b;
}

BBPE_INLINE bbpe_lanes lanes_or(bbpe_lanes a, bbpe_lanes b) {
    return a | b;
}

BBPE_INLINE bbpe_lanes lanes_but(bbpe_lanes a, bbpe_lanes b) {
    return a & ~b;
}

BBPE_INLINE uint64_t lanes_bits(bbpe_lanes a) {
    uint64_t bits = a;
    /* out of the mask registers, whose shifts and logic take four cycles where these take one */
    __asm__("" : "+r"(bits));
    return bits;
}

BBPE_INLINE bbpe_vector vector_table(const uint8_t table[128], bbpe_vector v) {
    return _mm512_permutex2var_epi8(vector_load(table), v, vector_load(table + 64));
}

BBPE_INLINE bbpe_lanes vector_has(bbpe_vector v, uint8_t bit) {
    return _mm512_test_epi8_mask(v, _mm512_set1_epi8((char)bit));
}

#define vector_lookup vector_table

BBPE_INLINE bbpe_vector vector_merge(bbpe_vector a, bbpe_lanes lanes, bbpe_vector b) {
    return _mm512_mask_mov_epi8(a, lanes, b);
}

BBPE_INLINE bbpe_vector vector_of_page(bbpe_vector a, bbpe_lanes lanes, const uint8_t page[64], bbpe_vector v) {
    return _mm512_mask_permutexvar_epi8(a, lanes, v, vector_load(page));
}

#define vector_page vector_of_page

#define masks_write places_write
#include "split_masks.h"

#define BBPE_FILL_BODY masks_fill
#define BBPE_FILL_SELECT bbpe_split_avx512
#include "split_fill.h"
BBPE_TARGET_END
#else
typedef int bbpe_split_avx512_is_for_x86;
#endif
