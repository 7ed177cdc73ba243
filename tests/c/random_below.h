/* The same random numbers in every run: xorshift (Marsaglia, 2003, "Xorshift RNGs"). */
#ifndef BBPE_TESTS_RANDOM_BELOW_H
#define BBPE_TESTS_RANDOM_BELOW_H

#include <stdint.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(uint64_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

#endif
