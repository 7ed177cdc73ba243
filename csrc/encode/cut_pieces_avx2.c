/* By AVX2. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include "encode/cut_pieces.h"
#include "simd/avx2.h"

/* A bit for each of four ends in the block after `base`, a lane each: a shift by 64 and more gives none. */
static inline __m256i bits_of(const size_t *ends, __m256i base) {
    const __m256i positions = _mm256_sub_epi64(_mm256_loadu_si256((const void *)ends), base);
    return _mm256_sllv_epi64(_mm256_set1_epi64x(1), positions);
}

static inline uint64_t any_of(__m256i bits) {
    const __m128i both = _mm_or_si128(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
    return (uint64_t)_mm_cvtsi128_si64(both) | (uint64_t)_mm_extract_epi64(both, 1);
}

/* How many of eight ends are in a block. */
static inline size_t inside(__m256i first, __m256i second) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i out = _mm256_packs_epi32(_mm256_cmpeq_epi64(first, zero), _mm256_cmpeq_epi64(second, zero));
    return 8 - (size_t)_mm_popcnt_u32((uint32_t)_mm256_movemask_epi8(out)) / 4;
}

/* Ends of pretokens in the block after `at`, as bits; how many they are goes to `*count`.  Eight at a time, as most blocks
 * have no more, so that the branch is predictable. */
static inline uint64_t ends_of(const bbpe_cutting *self, size_t *count) {
    const __m256i base = _mm256_set1_epi64x((long long)self->at);
    const size_t left = (size_t)(self->last - self->end);
    __m256i all = _mm256_setzero_si256();
    size_t more = 8, k = 0;
    for (; more == 8 && left - k >= 8; k += more) {
        const __m256i first = bits_of(self->end + k, base), second = bits_of(self->end + k + 4, base);
        all = _mm256_or_si256(all, _mm256_or_si256(first, second));
        more = inside(first, second);
    }
    uint64_t bits = any_of(all);
    for (; more == 8 && k < left && self->end[k] - self->at < 64; k++) bits |= (uint64_t)1 << (self->end[k] - self->at);
    *count = k;
    return bits;
}

/* Set `flag` in the ends of pieces that are borders. */
static void mark_parts(size_t *ends, uint64_t pieces, uint64_t borders, size_t flag) {
    for (; pieces; pieces &= pieces - 1, ends++) *ends |= borders >> _tzcnt_u64(pieces) & 1 ? flag : 0;
}

#include "encode/cut_pieces_blocks.h"

size_t bbpe_cut_pieces_avx2(const bbpe_cut_points *cuts, bbpe_cutting *cutting, size_t part, size_t *ends, size_t limit) {
    return cut_blocks(cuts, cutting, part, ends, limit);
}
BBPE_TARGET_END
#endif
