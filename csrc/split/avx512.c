/* By AVX-512. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")
#include "simd/avx512.h"

#include "text/text.h"

/* Look up sixteen numbers in a table of bytes, after which three may be read. */
static inline __m512i bytes_at(__m512i numbers, const uint8_t *table) {
    return _mm512_and_si512(_mm512_i32gather_epi32(numbers, table, 1), _mm512_set1_epi32(0xFF));
}

/* The classes of up to sixteen well-formed characters, in some lanes, by where they begin. */
static inline __m128i classes_at(__m128i positions, __mmask16 lanes, const uint8_t *bytes) {
    /* [b0 b1 b2 b3] */
    const __m512i four =
        _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, _mm512_cvtepu8_epi32(positions), bytes, 1);
    const __m512i lead = _mm512_and_si512(four, _mm512_set1_epi32(0xFF));
    const __mmask16 from_three = _mm512_cmpge_epu32_mask(lead, _mm512_set1_epi32(0xE0));
    const __mmask16 from_four = _mm512_cmpge_epu32_mask(lead, _mm512_set1_epi32(0xF0));
    /* the bits of the code point in each byte */
    __m512i mask = _mm512_mask_mov_epi32(_mm512_set1_epi32(0x3F1F), from_three, _mm512_set1_epi32(0x3F3F0F));
    mask = _mm512_mask_mov_epi32(mask, from_four, _mm512_set1_epi32(0x3F3F3F07));
    __m512i past = _mm512_mask_mov_epi32(_mm512_set1_epi32(12), from_three, _mm512_set1_epi32(6));
    past = _mm512_mask_mov_epi32(past, from_four, _mm512_setzero_si512());
    /* [b0 << 6 | b1, b2 << 6 | b3] */
    const __m512i pairs = _mm512_maddubs_epi16(_mm512_and_si512(four, mask), _mm512_set1_epi16(0x0140));
    const __m512i points = _mm512_srlv_epi32(_mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00011000)), past);
    const __m512i blocks = bytes_at(_mm512_srli_epi32(points, 7), bbpe_uclass_block);
    const __m512i within = _mm512_and_si512(points, _mm512_set1_epi32(BBPE_UCLASS_BLOCK - 1));
    return _mm512_cvtepi32_epi8(bytes_at(_mm512_or_si512(_mm512_slli_epi32(blocks, 7), within), bbpe_uclass_value));
}

_Static_assert(BBPE_UCLASS_BLOCK == 1 << 7, "the shifts above");

/* Put the classes of the well-formed characters that begin at `firsts` into those of the block, in their places. */
static BBPE_NOINLINE bbpe_vector classes_of(bbpe_vector others, uint64_t firsts, const uint8_t *bytes) {
    const __m512i positions = positions_of(firsts);
    const uint32_t lanes = _bzhi_u32(UINT32_MAX, bbpe_bits_count(firsts));
    __m256i classes = _mm256_castsi128_si256(classes_at(_mm512_castsi512_si128(positions), (__mmask16)lanes, bytes));
    if (lanes > UINT16_MAX) {
        const __m128i more = classes_at(_mm512_extracti32x4_epi32(positions, 1), (__mmask16)(lanes >> 16), bytes);
        classes = _mm256_inserti128_si256(classes, more, 1);
    }
    return _mm512_mask_expand_epi8(others, firsts, _mm512_castsi256_si512(classes));
}

#define vector_classes classes_of

#include "split/masks.h"

#define BBPE_FILL_BODY masks_fill
#define BBPE_FILL_SELECT bbpe_split_avx512
#include "split/fill.h"
BBPE_TARGET_END
#endif
