/* Four words of 64 bits by NEON, or eight halves of 32: two vectors of 16 bytes.  The operations are those of words_avx2.h. */
#ifndef BBPE_SIMD_WORDS_NEON_H
#define BBPE_SIMD_WORDS_NEON_H

#include <arm_neon.h>

#include "base/common.h"

typedef struct {
    uint64x2_t low, high;
} bbpe_words;

typedef struct {
    uint32x4_t low, high;
} bbpe_halves;

BBPE_INLINE bbpe_words words_each(uint64_t x) {
    return (bbpe_words){vdupq_n_u64(x), vdupq_n_u64(x)};
}

BBPE_INLINE bbpe_words words_pair(uint64_t low, uint64_t high) {
    const uint64x2_t pair = vcombine_u64(vcreate_u64(low), vcreate_u64(high));
    return (bbpe_words){pair, pair};
}

BBPE_INLINE bbpe_words words_each_byte(uint8_t x) {
    const uint64x2_t all = vreinterpretq_u64_u8(vdupq_n_u8(x));
    return (bbpe_words){all, all};
}

/* As bytes, as other types are no uint64_t everywhere. */
BBPE_INLINE bbpe_words words_load(const void *p) {
    const uint8_t *bytes = p;
    return (bbpe_words){vreinterpretq_u64_u8(vld1q_u8(bytes)), vreinterpretq_u64_u8(vld1q_u8(bytes + 16))};
}

BBPE_INLINE void words_store(void *p, bbpe_words x) {
    uint8_t *bytes = p;
    vst1q_u8(bytes, vreinterpretq_u8_u64(x.low));
    vst1q_u8(bytes + 16, vreinterpretq_u8_u64(x.high));
}

BBPE_INLINE bbpe_words words_load_two(const uint8_t *first, const uint8_t *second) {
    return (bbpe_words){vreinterpretq_u64_u8(vld1q_u8(first)), vreinterpretq_u64_u8(vld1q_u8(second))};
}

BBPE_INLINE bbpe_words words_of_halves(const uint32_t *p) {
    const uint32x4_t four = vld1q_u32(p);
    return (bbpe_words){vmovl_u32(vget_low_u32(four)), vmovl_u32(vget_high_u32(four))};
}

BBPE_INLINE bbpe_words words_of_bytes(uint32_t four) {
    const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)));
    const uint32x4_t wider = vmovl_u16(vget_low_u16(wide));
    return (bbpe_words){vmovl_u32(vget_low_u32(wider)), vmovl_u32(vget_high_u32(wider))};
}

BBPE_INLINE bbpe_words words_and(bbpe_words a, bbpe_words b) {
    return (bbpe_words){vandq_u64(a.low, b.low), vandq_u64(a.high, b.high)};
}

BBPE_INLINE bbpe_words words_or(bbpe_words a, bbpe_words b) {
    return (bbpe_words){vorrq_u64(a.low, b.low), vorrq_u64(a.high, b.high)};
}

BBPE_INLINE bbpe_words words_but(bbpe_words a, bbpe_words b) {
    return (bbpe_words){vbicq_u64(a.low, b.low), vbicq_u64(a.high, b.high)};
}

BBPE_INLINE bbpe_words words_xor(bbpe_words a, bbpe_words b) {
    return (bbpe_words){veorq_u64(a.low, b.low), veorq_u64(a.high, b.high)};
}

BBPE_INLINE bbpe_words words_add(bbpe_words a, bbpe_words b) {
    return (bbpe_words){vaddq_u64(a.low, b.low), vaddq_u64(a.high, b.high)};
}

BBPE_INLINE bbpe_words words_sub(bbpe_words a, bbpe_words b) {
    return (bbpe_words){vsubq_u64(a.low, b.low), vsubq_u64(a.high, b.high)};
}

BBPE_INLINE bbpe_words words_multiply(bbpe_words a, bbpe_words b) {
    return (bbpe_words){vmull_u32(vmovn_u64(a.low), vmovn_u64(b.low)), vmull_u32(vmovn_u64(a.high), vmovn_u64(b.high))};
}

BBPE_INLINE bbpe_words words_equal(bbpe_words a, bbpe_words b) {
    return (bbpe_words){vceqq_u64(a.low, b.low), vceqq_u64(a.high, b.high)};
}

BBPE_INLINE bbpe_words words_more(bbpe_words a, bbpe_words b) {
    return (bbpe_words){vcgtq_u64(a.low, b.low), vcgtq_u64(a.high, b.high)};
}

BBPE_INLINE uint64x2_t max_of_two(uint64x2_t a, uint64x2_t b) {
    return vreinterpretq_u64_u32(vmaxq_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)));
}

BBPE_INLINE bbpe_words words_max(bbpe_words a, bbpe_words b) {
    return (bbpe_words){max_of_two(a.low, b.low), max_of_two(a.high, b.high)};
}

BBPE_INLINE uint64x2_t more_bytes_of_two(uint64x2_t a, uint64x2_t b) {
    return vreinterpretq_u64_u8(vcgtq_u8(vreinterpretq_u8_u64(a), vreinterpretq_u8_u64(b)));
}

BBPE_INLINE bbpe_words words_more_bytes(bbpe_words a, bbpe_words b) {
    return (bbpe_words){more_bytes_of_two(a.low, b.low), more_bytes_of_two(a.high, b.high)};
}

BBPE_INLINE bbpe_words words_merge(bbpe_words a, bbpe_words truth, bbpe_words b) {
    return (bbpe_words){vbslq_u64(truth.low, b.low, a.low), vbslq_u64(truth.high, b.high, a.high)};
}

BBPE_INLINE bbpe_words words_left(bbpe_words x, unsigned bits) {
    const int64x2_t by = vdupq_n_s64((int64_t)bits);
    return (bbpe_words){vshlq_u64(x.low, by), vshlq_u64(x.high, by)};
}

BBPE_INLINE bbpe_words words_right(bbpe_words x, unsigned bits) {
    const int64x2_t by = vdupq_n_s64(-(int64_t)bits);
    return (bbpe_words){vshlq_u64(x.low, by), vshlq_u64(x.high, by)};
}

BBPE_INLINE bbpe_words words_right_each(bbpe_words x, bbpe_words bits) {
    const int64x2_t low = vreinterpretq_s64_u64(bits.low), high = vreinterpretq_s64_u64(bits.high);
    return (bbpe_words){vshlq_u64(x.low, vnegq_s64(low)), vshlq_u64(x.high, vnegq_s64(high))};
}

BBPE_INLINE unsigned words_signs(bbpe_words x) {
    static const int32_t places[4] = {0, 1, 2, 3};
    const uint32x4_t high = vuzp2q_u32(vreinterpretq_u32_u64(x.low), vreinterpretq_u32_u64(x.high));
    return vaddvq_u32(vshlq_u32(vshrq_n_u32(high, 31), vld1q_s32(places)));
}

BBPE_INLINE bbpe_words words_pack(bbpe_words x, unsigned mask) {
#define WORD(n) 8 * (n), 8 * (n) + 1, 8 * (n) + 2, 8 * (n) + 3, 8 * (n) + 4, 8 * (n) + 5, 8 * (n) + 6, 8 * (n) + 7
#define ROW(a, b, c, d) {WORD(a), WORD(b), WORD(c), WORD(d)}
    static const uint8_t rows[16][32] = {
        ROW(0, 0, 0, 0), ROW(0, 0, 0, 0), ROW(1, 0, 0, 0), ROW(0, 1, 0, 0), ROW(2, 0, 0, 0), ROW(0, 2, 0, 0),
        ROW(1, 2, 0, 0), ROW(0, 1, 2, 0), ROW(3, 0, 0, 0), ROW(0, 3, 0, 0), ROW(1, 3, 0, 0), ROW(0, 1, 3, 0),
        ROW(2, 3, 0, 0), ROW(0, 2, 3, 0), ROW(1, 2, 3, 0), ROW(0, 1, 2, 3),
    };
#undef ROW
#undef WORD
    const uint8x16x2_t bytes = {{vreinterpretq_u8_u64(x.low), vreinterpretq_u8_u64(x.high)}};
    return (bbpe_words){vreinterpretq_u64_u8(vqtbl2q_u8(bytes, vld1q_u8(rows[mask]))),
                        vreinterpretq_u64_u8(vqtbl2q_u8(bytes, vld1q_u8(rows[mask] + 16)))};
}

BBPE_INLINE bbpe_words words_spread(bbpe_words x) {
    return (bbpe_words){vreinterpretq_u64_u8(vdupq_laneq_u8(vreinterpretq_u8_u64(x.low), 0)),
                        vreinterpretq_u64_u8(vdupq_laneq_u8(vreinterpretq_u8_u64(x.high), 0))};
}

BBPE_INLINE bbpe_words words_first_twice(bbpe_words x) {
    return (bbpe_words){vdupq_laneq_u64(x.low, 0), vdupq_laneq_u64(x.low, 1)};
}

BBPE_INLINE bbpe_words words_last_twice(bbpe_words x) {
    return (bbpe_words){vdupq_laneq_u64(x.high, 0), vdupq_laneq_u64(x.high, 1)};
}

BBPE_INLINE bbpe_words words_evens(bbpe_words x, bbpe_words y) {
    return (bbpe_words){vuzp1q_u64(x.low, x.high), vuzp1q_u64(y.low, y.high)};
}

BBPE_INLINE bbpe_words words_odds(bbpe_words x, bbpe_words y) {
    return (bbpe_words){vuzp2q_u64(x.low, x.high), vuzp2q_u64(y.low, y.high)};
}

BBPE_INLINE bbpe_words words_in_order(bbpe_words x) {
    return x;
}

BBPE_INLINE void words_store_low(uint32_t *p, bbpe_words x) {
    vst1q_u32(p, vuzp1q_u32(vreinterpretq_u32_u64(x.low), vreinterpretq_u32_u64(x.high)));
}

BBPE_INLINE bbpe_words words_at(const uint64_t *words, bbpe_words at) {
    const uint64x2_t low = vcombine_u64(vcreate_u64(words[vgetq_lane_u64(at.low, 0)]),
                                        vcreate_u64(words[vgetq_lane_u64(at.low, 1)]));
    return (bbpe_words){low, vcombine_u64(vcreate_u64(words[vgetq_lane_u64(at.high, 0)]),
                                          vcreate_u64(words[vgetq_lane_u64(at.high, 1)]))};
}

/* -- eight halves -------------------------------------------------------------------------------------------------- */

BBPE_INLINE bbpe_halves halves_each(uint32_t x) {
    return (bbpe_halves){vdupq_n_u32(x), vdupq_n_u32(x)};
}

BBPE_INLINE bbpe_halves halves_load(const uint32_t *p) {
    return (bbpe_halves){vld1q_u32(p), vld1q_u32(p + 4)};
}

BBPE_INLINE void halves_store(uint32_t *p, bbpe_halves x) {
    vst1q_u32(p, x.low);
    vst1q_u32(p + 4, x.high);
}

BBPE_INLINE bbpe_halves halves_numbers(void) {
    static const uint32_t numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    return halves_load(numbers);
}

BBPE_INLINE bbpe_halves halves_or(bbpe_halves a, bbpe_halves b) {
    return (bbpe_halves){vorrq_u32(a.low, b.low), vorrq_u32(a.high, b.high)};
}

BBPE_INLINE bbpe_halves halves_add(bbpe_halves a, bbpe_halves b) {
    return (bbpe_halves){vaddq_u32(a.low, b.low), vaddq_u32(a.high, b.high)};
}

BBPE_INLINE bbpe_halves halves_more(bbpe_halves a, bbpe_halves b) {
    return (bbpe_halves){vcgtq_s32(vreinterpretq_s32_u32(a.low), vreinterpretq_s32_u32(b.low)),
                         vcgtq_s32(vreinterpretq_s32_u32(a.high), vreinterpretq_s32_u32(b.high))};
}

BBPE_INLINE bbpe_halves halves_min(bbpe_halves a, bbpe_halves b) {
    return (bbpe_halves){vminq_u32(a.low, b.low), vminq_u32(a.high, b.high)};
}

BBPE_INLINE uint32_t halves_least(bbpe_halves x) {
    return vminvq_u32(vminq_u32(x.low, x.high));
}

/* -- bits of 32 ---------------------------------------------------------------------------------------------------- */

BBPE_INLINE uint32_t bits_below(uint32_t x, unsigned bits) {
    return (uint32_t)(x & (((uint64_t)1 << bits) - 1));
}

BBPE_INLINE unsigned bits_lowest(uint32_t x) {
    return bbpe_bits_lowest(x | (uint64_t)1 << 32);
}

#define bits_highest bbpe_bits_highest

#endif
