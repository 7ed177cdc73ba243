/* AVX2: 32 units of ASCII, or sixteen of up to three bytes, whatever their mixture, without a branch. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx2,bmi,popcnt")
#include "base/common.h"

enum { REFUSED_BITS = 2 };
typedef __m128i transcode_lanes;

BBPE_INLINE __m256i load(const void *text, size_t bytes) {
    return _mm256_loadu_si256((const void *)((const uint8_t *)text + bytes));
}

/* Words of four halves in order: packing puts those of either half of two vectors side by side. */
BBPE_INLINE __m256i in_order(__m256i packed) {
    return _mm256_permute4x64_epi64(packed, 0xD8);
}

/* 32 bytes of ASCII from as many units, or false. */
BBPE_INLINE bool ascii_block(const void *text, unsigned kind, size_t i, uint8_t *out) {
    __m256i bytes;
    if (kind == 1) {
        bytes = load(text, i);
        if (_mm256_movemask_epi8(bytes)) return false;
    } else if (kind == 2) {
        const __m256i a = load(text, 2 * i), b = load(text, 2 * i + 32);
        if (!_mm256_testz_si256(_mm256_or_si256(a, b), _mm256_set1_epi16((short)0xFF80))) return false;
        bytes = in_order(_mm256_packus_epi16(a, b));
    } else {
        const __m256i a = load(text, 4 * i), b = load(text, 4 * i + 32);
        const __m256i c = load(text, 4 * i + 64), d = load(text, 4 * i + 96);
        const __m256i all = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
        if (!_mm256_testz_si256(all, _mm256_set1_epi32(~0x7F))) return false;
        bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d)),
                                            _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    }
    _mm256_storeu_si256((void *)out, bytes);
    return true;
}

/* Sixteen units as 16 bits each, and two bits in `*refused` for each that is a surrogate or does not fit. */
BBPE_INLINE __m256i load_units(const void *text, unsigned kind, size_t i, uint32_t *refused) {
    *refused = 0;
    if (kind == 1) return _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)((const uint8_t *)text + i)));
    const __m256i top = _mm256_set1_epi16((short)0xF800), surrogate = _mm256_set1_epi16((short)0xD800);
    if (kind == 2) {
        const __m256i v = load(text, 2 * i);
        *refused = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_and_si256(v, top), surrogate));
        return v;
    }
    const __m256i a = load(text, 4 * i), b = load(text, 4 * i + 32), most = _mm256_set1_epi32(0xFFFF);
    const __m256i v = in_order(_mm256_packus_epi32(a, b));
    const __m256i large = in_order(_mm256_packs_epi32(_mm256_cmpgt_epi32(a, most), _mm256_cmpgt_epi32(b, most)));
    const __m256i odd = _mm256_or_si256(large, _mm256_cmpeq_epi16(_mm256_and_si256(v, top), surrogate));
    *refused = (uint32_t)_mm256_movemask_epi8(odd);
    return v;
}

/* Of each unit the first two bytes and the third, and in a byte of `*rows` for each four how these are packed. */
BBPE_INLINE __m256i bytes_of(__m256i v, __m256i *third, uint32_t *rows) {
    const __m256i low6 = _mm256_set1_epi16(0x3F), zero = _mm256_setzero_si256();
    const __m256i shift6 = _mm256_srli_epi16(v, 6), last = _mm256_and_si256(v, low6);
    const __m256i ascii = _mm256_cmpeq_epi16(_mm256_and_si256(v, _mm256_set1_epi16((short)0xFF80)), zero);
    const __m256i small = _mm256_cmpeq_epi16(_mm256_and_si256(v, _mm256_set1_epi16((short)0xF800)), zero);
    const __m256i two = _mm256_or_si256(_mm256_or_si256(shift6, _mm256_slli_epi16(last, 8)), _mm256_set1_epi16((short)0x80C0));
    const __m256i middle = _mm256_slli_epi16(_mm256_and_si256(shift6, low6), 8);
    const __m256i three = _mm256_or_si256(_mm256_or_si256(_mm256_srli_epi16(v, 12), middle), _mm256_set1_epi16((short)0x80E0));
    *third = _mm256_or_si256(last, _mm256_set1_epi16(0x80));
    *rows = (uint32_t)_mm256_movemask_epi8(_mm256_shuffle_epi32(_mm256_packs_epi16(ascii, small), 0xD8));
    return _mm256_blendv_epi8(_mm256_blendv_epi8(three, two, small), v, ascii);
}

BBPE_INLINE void spread_units(const void *text, unsigned kind, size_t i, transcode_lanes four[4], uint64_t *refused,
                              uint32_t *rows) {
    uint32_t refused_bits;
    __m256i third;
    const __m256i first_two = bytes_of(load_units(text, kind, i, &refused_bits), &third, rows);
    const __m256i low = _mm256_unpacklo_epi16(first_two, third), high = _mm256_unpackhi_epi16(first_two, third);
    four[0] = _mm256_castsi256_si128(low);
    four[1] = _mm256_castsi256_si128(high);
    four[2] = _mm256_extracti128_si256(low, 1);
    four[3] = _mm256_extracti128_si256(high, 1);
    *refused = refused_bits;
}

BBPE_INLINE void store_packed(transcode_lanes lanes, const uint8_t bytes[16], uint8_t *out) {
    _mm_storeu_si128((void *)out, _mm_shuffle_epi8(lanes, _mm_loadu_si128((const void *)bytes)));
}

#include "text/transcode_blocks.h"
#define BBPE_TRANSCODE_SELECT bbpe_transcode_avx2
#include "text/transcode_loop.h"
BBPE_TARGET_END
#endif
