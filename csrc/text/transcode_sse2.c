/* SSE2: sixteen units of ASCII, or eight of up to three bytes, whatever their mixture, without a branch. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86

/* Bytes that eight code units may write: 24, the last three of them by a store of four. */
#define BLOCK_ROOM 25

BBPE_INLINE __m128i load(const void *text, size_t bytes) {
    return _mm_loadu_si128((const void *)((const uint8_t *)text + bytes));
}

BBPE_INLINE __m128i either(__m128i condition, __m128i yes, __m128i no) {
    return _mm_or_si128(_mm_and_si128(condition, yes), _mm_andnot_si128(condition, no));
}

/* Sixteen bytes of ASCII from as many units, or false. */
BBPE_INLINE bool ascii_block(const void *text, unsigned kind, size_t i, uint8_t *out) {
    __m128i bytes;
    if (kind == 1) {
        bytes = load(text, i);
        if (_mm_movemask_epi8(bytes)) return false;
    } else if (kind == 2) {
        const __m128i a = load(text, 2 * i), b = load(text, 2 * i + 16);
        const __m128i beyond = _mm_and_si128(_mm_or_si128(a, b), _mm_set1_epi16((short)0xFF80));
        if (_mm_movemask_epi8(_mm_cmpeq_epi16(beyond, _mm_setzero_si128())) != 0xFFFF) return false;
        bytes = _mm_packus_epi16(a, b);
    } else {
        const __m128i a = load(text, 4 * i), b = load(text, 4 * i + 16);
        const __m128i c = load(text, 4 * i + 32), d = load(text, 4 * i + 48);
        const __m128i all = _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d));
        const __m128i beyond = _mm_and_si128(all, _mm_set1_epi32(~0x7F));
        if (_mm_movemask_epi8(_mm_cmpeq_epi32(beyond, _mm_setzero_si128())) != 0xFFFF) return false;
        bytes = _mm_packus_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
    }
    _mm_storeu_si128((void *)out, bytes);
    return true;
}

/* Eight units as 16 bits each, and two bits in `*refused` for each that is a surrogate or does not fit. */
BBPE_INLINE __m128i load_units(const void *text, unsigned kind, size_t i, unsigned *refused) {
    __m128i v;
    *refused = 0;
    if (kind == 1) {
        v = _mm_loadl_epi64((const void *)((const uint8_t *)text + i));
        return _mm_unpacklo_epi8(v, _mm_setzero_si128());
    }
    if (kind == 2) {
        v = load(text, 2 * i);
    } else {
        const __m128i a = load(text, 4 * i), b = load(text, 4 * i + 16);
        const __m128i high = _mm_packs_epi32(_mm_srli_epi32(a, 16), _mm_srli_epi32(b, 16));
        *refused = 0xFFFFu ^ (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi16(high, _mm_setzero_si128()));
        /* the low halves, as signed numbers that the pack leaves alone */
        v = _mm_packs_epi32(_mm_srai_epi32(_mm_slli_epi32(a, 16), 16), _mm_srai_epi32(_mm_slli_epi32(b, 16), 16));
    }
    const __m128i top = _mm_and_si128(v, _mm_set1_epi16((short)0xF800));
    *refused |= (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi16(top, _mm_set1_epi16((short)0xD800)));
    return v;
}

/* Four lanes of up to three bytes; byte k of `before` says how many bytes are before lane k. */
BBPE_INLINE void store_lanes(__m128i lanes, uint32_t before, uint8_t *out) {
    const uint64_t low = (uint64_t)_mm_cvtsi128_si64(lanes);
    const uint64_t high = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(lanes, lanes));
    const uint32_t words[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    memcpy(out + (before & 0xFF), words, 4);
    memcpy(out + (before >> 8 & 0xFF), words + 1, 4);
    memcpy(out + (before >> 16 & 0xFF), words + 2, 4);
    memcpy(out + (before >> 24), words + 3, 4);
}

BBPE_INLINE size_t sse2_block(const void *text, unsigned kind, size_t i, size_t left, uint8_t *out, size_t room,
                              size_t *written) {
    unsigned refused;
    if (left >= 16 && room >= 16 && ascii_block(text, kind, i, out)) return *written = 16;
    if (left < 8 || room < BLOCK_ROOM) return 0;
    const __m128i v = load_units(text, kind, i, &refused);
    if (refused & 1) return 0;
    const __m128i low6 = _mm_set1_epi16(0x3F), zero = _mm_setzero_si128();
    const __m128i shift6 = _mm_srli_epi16(v, 6), last = _mm_and_si128(v, low6);
    const __m128i ascii = _mm_cmpeq_epi16(_mm_and_si128(v, _mm_set1_epi16((short)0xFF80)), zero);
    const __m128i small = _mm_cmpeq_epi16(_mm_and_si128(v, _mm_set1_epi16((short)0xF800)), zero);
    const __m128i two = _mm_or_si128(_mm_or_si128(shift6, _mm_slli_epi16(last, 8)), _mm_set1_epi16((short)0x80C0));
    const __m128i middle = _mm_slli_epi16(_mm_and_si128(shift6, low6), 8);
    const __m128i three = _mm_or_si128(_mm_or_si128(_mm_srli_epi16(v, 12), middle), _mm_set1_epi16((short)0x80E0));
    const __m128i first_two = either(ascii, v, either(small, two, three));
    const __m128i third = _mm_or_si128(last, _mm_set1_epi16(0x80));
    /* sizes of one to three bytes, and their running sums by one multiplication */
    const __m128i sizes = _mm_add_epi16(_mm_set1_epi16(3), _mm_add_epi16(ascii, small));
    const uint64_t sums = (uint64_t)_mm_cvtsi128_si64(_mm_packs_epi16(sizes, sizes)) * 0x0101010101010101u;
    const uint64_t before = sums << 8;
    store_lanes(_mm_unpacklo_epi16(first_two, third), (uint32_t)before, out);
    store_lanes(_mm_unpackhi_epi16(first_two, third), (uint32_t)(before >> 32), out);
    const size_t taken = refused ? bbpe_bits_lowest(refused) / 2 : 8;
    *written = sums >> (8 * (taken - 1)) & 0xFF;
    return taken;
}

#define BBPE_TRANSCODE_BLOCK sse2_block
#define BBPE_TRANSCODE_SELECT bbpe_transcode_sse2
#include "text/transcode_loop.h"
#else
typedef int bbpe_transcode_sse2_is_for_x86;
#endif
