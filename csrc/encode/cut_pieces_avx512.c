/* By AVX-512. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")
#include "encode/cut_pieces.h"
#include "simd/avx512.h"
#include "simd/lanes_avx512.h"

/* Ends of pretokens in the block after `at`, as bits; how many they are goes to `*count`. */
static inline uint64_t ends_of(const bbpe_cutting *self, size_t *count) {
    const __m512i base = _mm512_set1_epi64((long long)self->at), one = _mm512_set1_epi64(1), most = _mm512_set1_epi64(64);
    const size_t left = (size_t)(self->last - self->end);
    uint64_t bits = 0;
    size_t k = 0;
    uint32_t inside;
    do {
        const __mmask8 there = left - k >= 8 ? 0xFF : (__mmask8)((1u << (left - k)) - 1);
        const __m512i positions = _mm512_sub_epi64(_mm512_maskz_loadu_epi64(there, self->end + k), base);
        const __mmask8 mask = _mm512_mask_cmplt_epu64_mask(there, positions, most);
        bits |= (uint64_t)_mm512_reduce_or_epi64(_mm512_maskz_sllv_epi64(mask, one, positions));
        inside = lanes_of_8(mask);
        k += bbpe_bits_count(inside);
    } while (inside == 0xFF && k < left);
    *count = k;
    return bits;
}

/* Set `flag` in the ends of pieces that are borders. */
static void mark_parts(size_t *ends, uint64_t pieces, uint64_t borders, size_t flag) {
    uint64_t marked = _pext_u64(borders, pieces);
    for (; marked; marked >>= 8, ends += 8) {
        const __m512i positions = _mm512_loadu_si512(ends);
        _mm512_storeu_si512(ends, _mm512_mask_or_epi64(positions, (__mmask8)marked, positions, _mm512_set1_epi64((long long)flag)));
    }
}

#include "encode/cut_pieces_blocks.h"

size_t bbpe_cut_pieces_avx512(const bbpe_cut_points *cuts, bbpe_cutting *cutting, size_t part, size_t *ends, size_t limit) {
    return cut_blocks(cuts, cutting, part, ends, limit);
}
BBPE_TARGET_END
#endif
