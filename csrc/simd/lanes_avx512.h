/* The lanes of a mask as a number, for processors with AVX-512.
 *
 * Where registers are scarce, GCC 12.2 writes the two bytes of a mask to the stack and reads four: the upper two are left over
 * from earlier calls, and under the sanitizers characters were lost.  An instruction of our own moves the mask instead, and
 * clears the upper bits.
 *
 * Includer: has the instructions of avx512f. */
#ifndef BBPE_SIMD_LANES_AVX512_H
#define BBPE_SIMD_LANES_AVX512_H

#include "base/common.h"

/* Of sixteen lanes. */
BBPE_INLINE uint32_t lanes_of_16(__mmask16 mask) {
    uint32_t lanes;
    __asm__("kmovw %1, %0" : "=r"(lanes) : "k"(mask));
    return lanes;
}

/* Of eight lanes; what is above them may be anything. */
BBPE_INLINE uint32_t lanes_of_8(__mmask8 mask) {
    uint32_t lanes;
    __asm__("kmovw %1, %0" : "=r"(lanes) : "k"(mask));
    return lanes & 0xFF;
}

#endif
