/* By NEON. */
#include "simd/cpu_level.h"
#ifdef BBPE_HAS_NEON
#include "encode/cut_pieces.h"
#include "simd/neon.h"

/* Ends of pretokens in the block after `at`, as bits; how many they are goes to `*count`.  Eight at a time, as with AVX2. */
static inline uint64_t ends_of(const bbpe_cutting *self, size_t *count) {
    const uint64x2_t base = vdupq_n_u64(self->at), one = vdupq_n_u64(1), most = vdupq_n_u64(64);
    const size_t left = (size_t)(self->last - self->end);
    uint64x2_t all = vdupq_n_u64(0);
    size_t more = 8, k = 0;
    for (; more == 8 && left - k >= 8; k += more) {
        uint64x2_t outside = vdupq_n_u64(0); /* how many, in two lanes: a lane of a truth value is 0 or -1 */
        for (size_t j = k; j < k + 8; j += 2) {
            /* as bytes, as size_t is no uint64_t everywhere */
            const uint64x2_t ends = vreinterpretq_u64_u8(vld1q_u8((const uint8_t *)(self->end + j)));
            const uint64x2_t positions = vsubq_u64(ends, base), is_outside = vcgeq_u64(positions, most);
            /* a shift looks at the lowest byte of a position alone, so those outside are dropped */
            all = vorrq_u64(all, vbicq_u64(vshlq_u64(one, vreinterpretq_s64_u64(positions)), is_outside));
            outside = vsubq_u64(outside, is_outside);
        }
        more = 8 - (size_t)vaddvq_u64(outside);
    }
    uint64_t bits = vgetq_lane_u64(all, 0) | vgetq_lane_u64(all, 1);
    for (; more == 8 && k < left && self->end[k] - self->at < 64; k++) bits |= (uint64_t)1 << (self->end[k] - self->at);
    *count = k;
    return bits;
}

/* Set `flag` in the ends of pieces that are borders. */
static void mark_parts(size_t *ends, uint64_t pieces, uint64_t borders, size_t flag) {
    for (; pieces; pieces &= pieces - 1, ends++) *ends |= borders >> bbpe_bits_lowest(pieces) & 1 ? flag : 0;
}

#include "encode/cut_pieces_blocks.h"

size_t bbpe_cut_pieces_neon(const bbpe_cut_points *cuts, bbpe_cutting *cutting, size_t part, size_t *ends, size_t limit) {
    return cut_blocks(cuts, cutting, part, ends, limit);
}
#endif
