/* By NEON: the same steps as with AVX2, eight units a vector. */
#include "simd/cpu_level.h"
#ifdef BBPE_HAS_NEON
#include <arm_neon.h>

#include "base/common.h"

enum { REFUSED_BITS = 4 };
typedef uint8x16_t transcode_lanes;

/* As bytes, so that a text of any type may be read. */
BBPE_INLINE uint16x8_t load_16(const uint8_t *p) {
    return vreinterpretq_u16_u8(vld1q_u8(p));
}

BBPE_INLINE uint32x4_t load_32(const uint8_t *p) {
    return vreinterpretq_u32_u8(vld1q_u8(p));
}

/* The low byte of each of sixteen units, and the low half of each of eight. */
BBPE_INLINE uint8x16_t low_bytes(uint16x8_t a, uint16x8_t b) {
    return vuzp1q_u8(vreinterpretq_u8_u16(a), vreinterpretq_u8_u16(b));
}

BBPE_INLINE uint16x8_t low_halves(uint32x4_t a, uint32x4_t b) {
    return vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
}

/* 32 bytes of ASCII from as many units, or false. */
BBPE_INLINE bool ascii_block(const void *text, unsigned kind, size_t i, uint8_t *out) {
    const uint8_t *p = (const uint8_t *)text + i * kind;
    uint8x16_t low, high;
    if (kind == 1) {
        low = vld1q_u8(p);
        high = vld1q_u8(p + 16);
        if (vmaxvq_u8(vorrq_u8(low, high)) >= 0x80) return false;
    } else if (kind == 2) {
        const uint16x8_t a = load_16(p), b = load_16(p + 16), c = load_16(p + 32), d = load_16(p + 48);
        if (vmaxvq_u16(vorrq_u16(vorrq_u16(a, b), vorrq_u16(c, d))) >= 0x80) return false;
        low = low_bytes(a, b);
        high = low_bytes(c, d);
    } else {
        const uint32x4_t a = load_32(p), b = load_32(p + 16), c = load_32(p + 32), d = load_32(p + 48);
        const uint32x4_t e = load_32(p + 64), f = load_32(p + 80), g = load_32(p + 96), h = load_32(p + 112);
        const uint32x4_t first = vorrq_u32(vorrq_u32(a, b), vorrq_u32(c, d));
        const uint32x4_t second = vorrq_u32(vorrq_u32(e, f), vorrq_u32(g, h));
        if (vmaxvq_u32(vorrq_u32(first, second)) >= 0x80) return false;
        low = low_bytes(low_halves(a, b), low_halves(c, d));
        high = low_bytes(low_halves(e, f), low_halves(g, h));
    }
    vst1q_u8(out, low);
    vst1q_u8(out + 16, high);
    return true;
}

/* Eight units as 16 bits each; `*odd` is all ones for each that is a surrogate or does not fit. */
BBPE_INLINE uint16x8_t load_units(const uint8_t *p, unsigned kind, uint16x8_t *odd) {
    *odd = vdupq_n_u16(0);
    if (kind == 1) return vmovl_u8(vld1_u8(p));
    const uint16x8_t top = vdupq_n_u16(0xF800), surrogate = vdupq_n_u16(0xD800);
    if (kind == 2) {
        const uint16x8_t v = load_16(p);
        *odd = vceqq_u16(vandq_u16(v, top), surrogate);
        return v;
    }
    const uint32x4_t a = load_32(p), b = load_32(p + 16), most = vdupq_n_u32(0xFFFF);
    const uint16x8_t v = low_halves(a, b), large = low_halves(vcgtq_u32(a, most), vcgtq_u32(b, most));
    *odd = vorrq_u16(large, vceqq_u16(vandq_u16(v, top), surrogate));
    return v;
}

/* Eight units: `pair` is four a vector, and `*is_one` and `*is_short` those of one byte and of less than three. */
BBPE_INLINE void spread_eight(uint16x8_t v, transcode_lanes pair[2], uint16x8_t *is_one, uint16x8_t *is_short) {
    const uint16x8_t low6 = vdupq_n_u16(0x3F), shift6 = vshrq_n_u16(v, 6), last = vandq_u16(v, low6);
    const uint16x8_t ascii = vcltq_u16(v, vdupq_n_u16(0x80)), small = vcltq_u16(v, vdupq_n_u16(0x800));
    /* [110xxxxx 10xxxxxx] */
    const uint16x8_t two = vorrq_u16(vorrq_u16(shift6, vshlq_n_u16(last, 8)), vdupq_n_u16(0x80C0));
    /* [1110xxxx 10xxxxxx] */
    const uint16x8_t middle = vshlq_n_u16(vandq_u16(shift6, low6), 8);
    const uint16x8_t three = vorrq_u16(vorrq_u16(vshrq_n_u16(v, 12), middle), vdupq_n_u16(0x80E0));
    /* [10xxxxxx 0] */
    const uint16x8_t third = vorrq_u16(last, vdupq_n_u16(0x80));
    const uint16x8_t first_two = vbslq_u16(ascii, v, vbslq_u16(small, two, three));
    pair[0] = vreinterpretq_u8_u16(vzip1q_u16(first_two, third));
    pair[1] = vreinterpretq_u8_u16(vzip2q_u16(first_two, third));
    *is_one = ascii;
    *is_short = small;
}

BBPE_INLINE void spread_units(const void *text, unsigned kind, size_t i, transcode_lanes four[4], uint64_t *refused,
                              uint32_t *rows) {
    static const uint8_t one_weights[16] = {1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8};
    const uint8_t *p = (const uint8_t *)text + i * kind;
    uint16x8_t odd[2], is_one[2], is_short[2];
    spread_eight(load_units(p, kind, odd), four, is_one, is_short);
    spread_eight(load_units(p + 8 * kind, kind, odd + 1), four + 2, is_one + 1, is_short + 1);
    /* four bits of sixteen units each */
    const uint8x16_t odd_bytes = low_bytes(odd[0], odd[1]);
    const uint8x8_t fours = vshrn_n_u16(vreinterpretq_u16_u8(odd_bytes), 4);
    *refused = kind == 1 ? 0 : vget_lane_u64(vreinterpret_u64_u8(fours), 0);
    /* a bit of each, then the sums of each four */
    const uint8x16_t one_weight = vld1q_u8(one_weights), short_weight = vshlq_n_u8(one_weight, 4);
    const uint8x16_t ones = vandq_u8(low_bytes(is_one[0], is_one[1]), one_weight);
    const uint8x16_t bits = vorrq_u8(ones, vandq_u8(low_bytes(is_short[0], is_short[1]), short_weight));
    const uint8x16_t pairs = vpaddq_u8(bits, bits);
    *rows = vgetq_lane_u32(vreinterpretq_u32_u8(vpaddq_u8(pairs, pairs)), 0);
}

BBPE_INLINE void store_packed(transcode_lanes lanes, const uint8_t bytes[16], uint8_t *out) {
    vst1q_u8(out, vqtbl1q_u8(lanes, vld1q_u8(bytes)));
}

#include "text/transcode_blocks.h"
#define BBPE_TRANSCODE_SELECT bbpe_transcode_neon
#include "text/transcode_loop.h"
#endif
