/* AVX2: 32 units of ASCII, or sixteen of up to three bytes, whatever their mixture, without a branch. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx2,bmi,popcnt")

/* Units at once, bytes that they may write, and how often they are taken before ASCII is looked for again. */
enum { UNITS = 16, BLOCK_BYTES = 64, BLOCKS = 2 };

/* How four lanes of up to three bytes are put side by side, for each way that they may be long: bit k of a row's number says
 * that lane k has no second byte, bit 4 + k that it has no third one. */
#define SIZE_OF(row, lane) (3 - ((row) >> (lane) & 1) - ((row) >> ((lane) + 4) & 1))
#define SIZES_OF(row, lanes)                                                                                        \
    (((lanes) > 0 ? SIZE_OF(row, 0) : 0) + ((lanes) > 1 ? SIZE_OF(row, 1) : 0) + ((lanes) > 2 ? SIZE_OF(row, 2) : 0) \
     + ((lanes) > 3 ? SIZE_OF(row, 3) : 0))
#define BYTE_OF(row, i)                                     \
    ((i) < SIZES_OF(row, 1)   ? (i)                         \
     : (i) < SIZES_OF(row, 2) ? 4 + (i) - SIZES_OF(row, 1)  \
     : (i) < SIZES_OF(row, 3) ? 8 + (i) - SIZES_OF(row, 2)  \
     : (i) < SIZES_OF(row, 4) ? 12 + (i) - SIZES_OF(row, 3) \
                              : 0x80)
#define FOUR(of, x) of(x), of((x) + 1), of((x) + 2), of((x) + 3)
#define ROW(row)                                                                                                 \
    {BYTE_OF(row, 0), BYTE_OF(row, 1), BYTE_OF(row, 2),  BYTE_OF(row, 3),  BYTE_OF(row, 4),  BYTE_OF(row, 5),    \
     BYTE_OF(row, 6), BYTE_OF(row, 7), BYTE_OF(row, 8),  BYTE_OF(row, 9),  BYTE_OF(row, 10), BYTE_OF(row, 11),   \
     0x80,            0x80,            0x80,             0x80}
#define ROWS_4(row) FOUR(ROW, row)
#define ROWS_16(row) ROWS_4(row), ROWS_4((row) + 4), ROWS_4((row) + 8), ROWS_4((row) + 12)
#define ROWS_64(row) ROWS_16(row), ROWS_16((row) + 16), ROWS_16((row) + 32), ROWS_16((row) + 48)
static const uint8_t packing[256][16] = {ROWS_64(0), ROWS_64(64), ROWS_64(128), ROWS_64(192)};

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

BBPE_INLINE void store_four(__m128i lanes, uint32_t row, uint8_t *out) {
    _mm_storeu_si128((void *)out, _mm_shuffle_epi8(lanes, _mm_loadu_si128((const void *)packing[row & 0xFF])));
}

/* The bits of `rows` that the first so many units have. */
BBPE_INLINE uint32_t rows_of(uint32_t rows, size_t units) {
    const unsigned whole = (unsigned)(units / 4 * 8), rest = ((1u << units % 4) - 1) * 0x11;
    return rows & (uint32_t)(((uint64_t)1 << whole) - 1 + ((uint64_t)rest << whole));
}

/* Sixteen units with capacity for BLOCK_BYTES bytes, of which the first `most` count. */
BBPE_INLINE size_t any_block(const void *text, unsigned kind, size_t i, size_t most, uint8_t *out, size_t *written) {
    uint32_t refused, rows;
    __m256i third;
    const __m256i first_two = bytes_of(load_units(text, kind, i, &refused), &third, &rows);
    const __m256i low = _mm256_unpacklo_epi16(first_two, third), high = _mm256_unpackhi_epi16(first_two, third);
    size_t taken = most;
    store_four(_mm256_castsi256_si128(low), rows, out);
    store_four(_mm256_castsi256_si128(high), rows >> 8, out + 12 - _mm_popcnt_u32(rows & 0xFF));
    store_four(_mm256_extracti128_si256(low, 1), rows >> 16, out + 24 - _mm_popcnt_u32(rows & 0xFFFF));
    store_four(_mm256_extracti128_si256(high, 1), rows >> 24, out + 36 - _mm_popcnt_u32(rows & 0xFFFFFF));
    if (BBPE_UNLIKELY(refused) && _tzcnt_u32(refused) / 2 < taken) taken = _tzcnt_u32(refused) / 2;
    if (taken < UNITS) rows = rows_of(rows, taken);
    *written = 3 * taken - (size_t)_mm_popcnt_u32(rows);
    return taken;
}

/* The last units of a text, fewer than sixteen. */
BBPE_INLINE size_t last_block(const void *text, unsigned kind, size_t i, size_t left, uint8_t *out, size_t *written) {
    uint8_t copy[4 * UNITS] = {0};
    memcpy(copy, (const uint8_t *)text + i * kind, left * kind);
    return any_block(copy, kind, 0, left, out, written);
}

BBPE_INLINE size_t avx2_block(const void *text, unsigned kind, size_t i, size_t left, uint8_t *out, size_t capacity,
                              size_t *written) {
    size_t taken = 0, used = 0, size;
    if (left >= 32 && capacity >= 32 && ascii_block(text, kind, i, out)) return *written = 32;
    if (capacity < BLOCKS * BLOCK_BYTES) return 0;
    if (left < UNITS) return last_block(text, kind, i, left, out, written);
    for (size_t k = 0; k < BLOCKS && left - taken >= UNITS; k++) {
        const size_t more = any_block(text, kind, i + taken, UNITS, out + used, &size);
        taken += more;
        used += size;
        if (BBPE_UNLIKELY(more < UNITS)) break;
    }
    *written = used;
    return taken;
}

#define BBPE_TRANSCODE_BLOCK avx2_block
#define BBPE_TRANSCODE_SELECT bbpe_transcode_avx2
#include "text/transcode_loop.h"
BBPE_TARGET_END
#endif
