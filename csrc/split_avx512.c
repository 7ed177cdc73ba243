/* AVX-512 primitives: a block is one vector of 64 bytes, and comparing gives the mask. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#pragma GCC target("avx512f,avx512bw,avx2,bmi,bmi2,lzcnt,popcnt")
#include "split_vector32.h"

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

/* a block starts where the last one ended, so latency counts, and masks come out of these faster: 1.8 instead of
 * 1.6 GB/s on English, gpt2 */
#define ascii_vector bbpe_vector32
#define ascii_lanes bbpe_vector32
#define ascii_load vector32_load
#define ascii_eq vector32_eq
#define ascii_in vector32_in
#define ascii_or lanes32_or
#define ascii_but lanes32_but
#define ascii_bits lanes32_bits
#include "split_masks.h"

#define BBPE_FILL_BODY masks_fill
#define BBPE_FILL_SELECT bbpe_split_avx512
#include "split_fill.h"
#else
typedef int bbpe_split_avx512_is_for_x86;
#endif
