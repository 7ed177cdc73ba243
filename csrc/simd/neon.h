/* 64 bytes by NEON: four vectors of 16. */
#ifndef BBPE_SIMD_NEON_H
#define BBPE_SIMD_NEON_H

#include <arm_neon.h>

#include "base/common.h"

typedef uint8x16x4_t bbpe_vector;

BBPE_INLINE bbpe_vector vector_load(const uint8_t *p) {
    return vld1q_u8_x4(p);
}

typedef bbpe_vector bbpe_byte_mask;

#define BBPE_EACH(expression)                                                                            \
    bbpe_byte_mask r;                                                                                        \
    for (int k = 0; k < 4; k++) r.val[k] = (expression);                                                 \
    return r

BBPE_INLINE bbpe_vector vector_with(bbpe_vector v, uint8_t bits) {
    const uint8x16_t all = vdupq_n_u8(bits);
    BBPE_EACH(vorrq_u8(v.val[k], all));
}

BBPE_INLINE bbpe_byte_mask vector_eq(bbpe_vector v, uint8_t byte) {
    const uint8x16_t same = vdupq_n_u8(byte);
    BBPE_EACH(vceqq_u8(v.val[k], same));
}

BBPE_INLINE bbpe_byte_mask vector_in(bbpe_vector v, uint8_t first, uint8_t last) {
    const uint8x16_t base = vdupq_n_u8(first), span = vdupq_n_u8((uint8_t)(last - first));
    BBPE_EACH(vcleq_u8(vsubq_u8(v.val[k], base), span));
}

BBPE_INLINE bbpe_byte_mask mask_and(bbpe_byte_mask a, bbpe_byte_mask b) {
    BBPE_EACH(vandq_u8(a.val[k], b.val[k]));
}

BBPE_INLINE bbpe_byte_mask mask_or(bbpe_byte_mask a, bbpe_byte_mask b) {
    BBPE_EACH(vorrq_u8(a.val[k], b.val[k]));
}

BBPE_INLINE bbpe_byte_mask mask_but(bbpe_byte_mask a, bbpe_byte_mask b) {
    BBPE_EACH(vbicq_u8(a.val[k], b.val[k]));
}

/* From bytes that are all ones or all zeros: weights, then three rounds of pairwise sums. */
BBPE_INLINE uint64_t mask_bits(bbpe_byte_mask a) {
    static const uint8_t weights[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t weight = vld1q_u8(weights);
    const uint8x16_t low = vpaddq_u8(vandq_u8(a.val[0], weight), vandq_u8(a.val[1], weight));
    const uint8x16_t high = vpaddq_u8(vandq_u8(a.val[2], weight), vandq_u8(a.val[3], weight));
    const uint8x16_t all = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

BBPE_INLINE bbpe_vector vector_and(bbpe_vector a, bbpe_vector b) {
    return mask_and(a, b);
}

/* Which bytes have one of some bits. */
BBPE_INLINE bbpe_byte_mask vector_has(bbpe_vector v, uint8_t bits) {
    const uint8x16_t some = vdupq_n_u8(bits);
    BBPE_EACH(vtstq_u8(v.val[k], some));
}

/* Of 64 bytes those that the low six bits are the numbers of: one lookup each 16 bytes, where AVX2 takes nine instructions. */
BBPE_INLINE bbpe_vector vector_look_up(const uint8_t page[64], bbpe_vector v) {
    const uint8x16x4_t bytes = vld1q_u8_x4(page);
    const uint8x16_t low_six = vdupq_n_u8(0x3F);
    BBPE_EACH(vqtbl4q_u8(bytes, vandq_u8(v.val[k], low_six)));
}

#endif
