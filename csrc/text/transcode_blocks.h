/* 32 units of ASCII, or sixteen of up to three bytes, whatever their mixture, without a branch.
 *
 * Includer: defines transcode_lanes, a vector of four lanes of 32 bits; and
 *
 *     bool ascii_block(text, kind, i, out)                          writes 32 bytes of ASCII from as many units, or false
 *     void spread_units(text, kind, i, four, &refused, &rows)       sixteen units, four a vector and one a lane, each as one
 *                                                                   to three bytes; a byte of `rows` for each four, as
 *                                                                   `packing` is indexed; REFUSED_BITS bits of `refused`
 *                                                                   for each that is a surrogate or does not fit
 *     void store_packed(lanes, bytes, out)                          writes those of 16 bytes that `bytes` are the numbers
 *                                                                   of, 0 for 0x80 */
#ifndef BBPE_TEXT_TRANSCODE_BLOCKS_H
#define BBPE_TEXT_TRANSCODE_BLOCKS_H

#include "base/common.h"

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

/* The bits of `rows` that the first so many units have. */
BBPE_INLINE uint32_t rows_of(uint32_t rows, size_t units) {
    const unsigned whole = (unsigned)(units / 4 * 8), rest = ((1u << units % 4) - 1) * 0x11;
    return rows & (uint32_t)(((uint64_t)1 << whole) - 1 + ((uint64_t)rest << whole));
}

/* Sixteen units with capacity for BLOCK_BYTES bytes, of which the first `most` count. */
BBPE_INLINE size_t any_block(const void *text, unsigned kind, size_t i, size_t most, uint8_t *out, size_t *written) {
    transcode_lanes four[4];
    uint64_t refused;
    uint32_t rows;
    size_t taken = most;
    spread_units(text, kind, i, four, &refused, &rows);
    store_packed(four[0], packing[rows & 0xFF], out);
    store_packed(four[1], packing[rows >> 8 & 0xFF], out + 12 - bbpe_bits_count(rows & 0xFF));
    store_packed(four[2], packing[rows >> 16 & 0xFF], out + 24 - bbpe_bits_count(rows & 0xFFFF));
    store_packed(four[3], packing[rows >> 24], out + 36 - bbpe_bits_count(rows & 0xFFFFFF));
    if (BBPE_UNLIKELY(refused) && bbpe_bits_lowest(refused) / REFUSED_BITS < taken)
        taken = bbpe_bits_lowest(refused) / REFUSED_BITS;
    if (taken < UNITS) rows = rows_of(rows, taken);
    *written = 3 * taken - bbpe_bits_count(rows);
    return taken;
}

/* The last units of a text, fewer than sixteen. */
BBPE_INLINE size_t last_block(const void *text, unsigned kind, size_t i, size_t left, uint8_t *out, size_t *written) {
    uint8_t copy[4 * UNITS] = {0};
    memcpy(copy, (const uint8_t *)text + i * kind, left * kind);
    return any_block(copy, kind, 0, left, out, written);
}

BBPE_INLINE size_t vector_block(const void *text, unsigned kind, size_t i, size_t left, uint8_t *out, size_t capacity,
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

#define BBPE_TRANSCODE_BLOCK vector_block

#endif
