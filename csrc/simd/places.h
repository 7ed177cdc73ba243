/* The places of the bits of a mask.
 *
 * Includer: may define vector_places, which does the same as places_write by vectors; or vector_place, the place of the
 * lowest bit, which may be any if there is none. */
#ifndef BBPE_SIMD_PLACES_H
#define BBPE_SIMD_PLACES_H

#include "base/common.h"

#ifdef vector_places
#define places_write vector_places
#else
#ifndef vector_place
#define vector_place(bits) bbpe_bits_lowest((bits) | (uint64_t)1 << 63)
#endif

/* Write start + i for each bit i, and return how many there are: eight at a time, as the branches are then predictable. */
BBPE_INLINE size_t places_write(uint64_t bits, size_t start, size_t *places) {
    const unsigned count = bbpe_bits_count(bits);
    for (unsigned k = 0; k < count; k += 8)
        for (unsigned j = 0; j < 8; j++) {
            *places++ = start + vector_place(bits);
            bits &= bits - 1;
        }
    return count;
}
#endif

#endif
