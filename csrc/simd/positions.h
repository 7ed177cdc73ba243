/* The positions of the bits of a mask.
 *
 * Includer: may define vector_positions, which does the same as positions_write by vectors; or vector_position, the place of the
 * lowest bit, which may be any if there is none. */
#ifndef BBPE_SIMD_POSITIONS_H
#define BBPE_SIMD_POSITIONS_H

#include "base/common.h"

#ifdef vector_positions
#define positions_write vector_positions
#else
#ifndef vector_position
#define vector_position(bits) bbpe_bits_lowest((bits) | (uint64_t)1 << 63)
#endif

/* Write start + i for each bit i, and return how many there are: eight at a time, as the branches are then predictable. */
BBPE_INLINE size_t positions_write(uint64_t bits, size_t start, size_t *positions) {
    const unsigned count = bbpe_bits_count(bits);
    for (unsigned k = 0; k < count; k += 8)
        for (unsigned j = 0; j < 8; j++) {
            *positions++ = start + vector_position(bits);
            bits &= bits - 1;
        }
    return count;
}
#endif

#endif
