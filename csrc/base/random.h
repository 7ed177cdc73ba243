/* Random numbers that only the seed determines, on every machine: splitmix64 (Steele, Lea, Flood: Fast splittable
 * pseudorandom number generators, 2014). */
#ifndef BBPE_BASE_RANDOM_H
#define BBPE_BASE_RANDOM_H

#include "base/common.h"

BBPE_INLINE uint64_t bbpe_random_next(uint64_t *seed) {
    uint64_t z = *seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

#endif
