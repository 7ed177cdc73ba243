/* AVX-512 VBMI2: sixty-four units of ASCII, or sixteen of any mixture, up to the end of the text and of the capacity. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")
#include "simd/lanes_avx512.h"

/* The last byte of each lane of four. */
#define LANE_ENDS 0x8888888888888888u

BBPE_INLINE __m512i load(const void *text, size_t bytes) {
    return _mm512_loadu_si512((const void *)((const uint8_t *)text + bytes));
}

/* 64 bytes of ASCII from as many units, or false. */
BBPE_INLINE bool ascii_block(const void *text, unsigned kind, size_t i, uint8_t *out) {
    if (kind == 1) {
        const __m512i a = load(text, i);
        if (_mm512_movepi8_mask(a)) return false;
        _mm512_storeu_si512((void *)out, a);
    } else if (kind == 2) {
        const __m512i a = load(text, 2 * i), b = load(text, 2 * i + 64);
        if (_mm512_test_epi16_mask(_mm512_or_si512(a, b), _mm512_set1_epi16((short)0xFF80))) return false;
        _mm256_storeu_si256((void *)out, _mm512_cvtepi16_epi8(a));
        _mm256_storeu_si256((void *)(out + 32), _mm512_cvtepi16_epi8(b));
    } else {
        const __m512i a = load(text, 4 * i), b = load(text, 4 * i + 64);
        const __m512i c = load(text, 4 * i + 128), d = load(text, 4 * i + 192);
        const __m512i all = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
        if (_mm512_test_epi32_mask(all, _mm512_set1_epi32(~0x7F))) return false;
        _mm_storeu_si128((void *)out, _mm512_cvtepi32_epi8(a));
        _mm_storeu_si128((void *)(out + 16), _mm512_cvtepi32_epi8(b));
        _mm_storeu_si128((void *)(out + 32), _mm512_cvtepi32_epi8(c));
        _mm_storeu_si128((void *)(out + 48), _mm512_cvtepi32_epi8(d));
    }
    return true;
}

/* Sixteen units, or those of `lanes`, in lanes of 32 bits. */
BBPE_INLINE __m512i load_units(const void *text, unsigned kind, size_t i, bool all, __mmask16 lanes) {
    const void *p = (const uint8_t *)text + i * kind;
    if (kind == 1) return _mm512_cvtepu8_epi32(all ? _mm_loadu_si128(p) : _mm_maskz_loadu_epi8(lanes, p));
    if (kind == 2) return _mm512_cvtepu16_epi32(all ? _mm256_loadu_si256(p) : _mm256_maskz_loadu_epi16(lanes, p));
    return all ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi32(lanes, p);
}

/* Each lane's character as UTF-8, at the lane's end; `*keep` has a bit for each byte that belongs to it. */
BBPE_INLINE __m512i spread(__m512i c, uint64_t *keep) {
    /* by the number of leading zeros, 0 meaning 32: the bits that mark the bytes */
    enum { FOUR = (int)0x808080F0, THREE = (int)0x8080E000, TWO = (int)0x80C00000 };
    const __m512i low = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, FOUR, FOUR, FOUR, FOUR, FOUR);
    const __m512i high = _mm512_setr_epi32(THREE, THREE, THREE, THREE, THREE, TWO, TWO, TWO, TWO, 0, 0, 0, 0, 0, 0, 0);
    const __m512i marks = _mm512_permutex2var_epi32(low, _mm512_lzcnt_epi32(c), high);
    /* eight bits from the 18th, 12th, 6th and 0th on of both numbers in 64 bits */
    const __m512i parts = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x20262C3200060C12), c);
    *keep = _mm512_movepi8_mask(marks) | LANE_ENDS;
    /* marks | (parts & ~(marks >> 1)): under a mark of n ones, a zero and then 7 - n bits */
    return _mm512_ternarylogic_epi64(marks, parts, _mm512_srli_epi64(marks, 1), 0xF4);
}

/* The number of lanes of which all bytes of `keep` are among the first `capacity`, fewer than `keep` has. */
BBPE_INLINE size_t lanes_that_fit(uint64_t keep, size_t capacity) {
    const uint64_t first_out = _pdep_u64((uint64_t)1 << capacity, keep);
    return (67 - _lzcnt_u64((first_out - 1) & LANE_ENDS)) / 4;
}

/* Up to sixteen units; `inside`: there are sixteen, and capacity for 64 bytes. */
BBPE_INLINE size_t any_block(const void *text, unsigned kind, size_t i, size_t left, uint8_t *out, size_t capacity,
                             bool inside, size_t *written) {
    size_t taken = inside || left >= 16 ? 16 : left;
    uint64_t keep;
    const __m512i c = load_units(text, kind, i, inside, (__mmask16)_bzhi_u32(0xFFFF, (unsigned)taken));
    const __m512i bytes = spread(c, &keep);
    if (kind >= 2) {
        const __m512i top = _mm512_and_si512(c, _mm512_set1_epi32(~0x7FF));
        const uint32_t surrogates = lanes_of_16(_mm512_cmpeq_epi32_mask(top, _mm512_set1_epi32(0xD800)));
        if (BBPE_UNLIKELY(surrogates)) taken = _tzcnt_u32(surrogates);
    }
    if (!inside || taken < 16) keep = _bzhi_u64(keep, (unsigned)(4 * taken));
    *written = (size_t)_mm_popcnt_u64(keep);
    if (!inside && *written > capacity) {
        taken = lanes_that_fit(keep, capacity);
        keep = _bzhi_u64(keep, (unsigned)(4 * taken));
        *written = (size_t)_mm_popcnt_u64(keep);
    }
    const __m512i packed = _mm512_maskz_compress_epi8(keep, bytes);
    if (inside) _mm512_storeu_si512((void *)out, packed);
    else _mm512_mask_storeu_epi8((void *)out, _bzhi_u64(~(uint64_t)0, (unsigned)*written), packed);
    return taken;
}

BBPE_INLINE size_t avx512_block(const void *text, unsigned kind, size_t i, size_t left, uint8_t *out, size_t capacity,
                                size_t *written) {
    size_t taken = 0, used = 0, size;
    if (left >= 64 && capacity >= 64 && ascii_block(text, kind, i, out)) return *written = 64;
    if (left < 16 || capacity < 64) return any_block(text, kind, i, left, out, capacity, false, written);
    /* a branch in 64 units, as where ASCII ends is hard to foresee */
    const size_t blocks = left >= 64 && capacity >= 256 ? 4 : 1;
    for (size_t k = 0; k < blocks; k++) {
        const size_t more = any_block(text, kind, i + taken, left - taken, out + used, capacity - used, true, &size);
        taken += more;
        used += size;
        if (BBPE_UNLIKELY(more < 16)) break;
    }
    *written = used;
    return taken;
}

#define BBPE_TRANSCODE_BLOCK avx512_block
#define BBPE_TRANSCODE_SELECT bbpe_transcode_avx512
#include "text/transcode_loop.h"
BBPE_TARGET_END
#endif
