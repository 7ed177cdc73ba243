/* Hashes of 64-bit keys, of pairs of these and of byte strings.  All spread their entropy over all 64 bits,
 * so a table may take its slot from the low ones.  Tables probe linearly and stay at most half full; those of
 * what strangers write have a salt that these do not know, as a search would else take as long as all strings have one hash. */
#ifndef BBPE_BASE_HASH_H
#define BBPE_BASE_HASH_H

#include "base/common.h"

/* One multiplication by 2^64 / golden ratio (Fibonacci hashing): the upper bits are good, if the lower bits of keys differ. */
BBPE_INLINE uint64_t bbpe_hash_fibonacci(uint64_t x) {
    return x * 0x9E3779B97F4A7C15u;
}

BBPE_INLINE uint64_t bbpe_hash_u64(uint64_t x) {
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    return x;
}

/* Two words that are hashed together are changed by these first. */
#define BBPE_HASH_SALT_LO 0xA0761D6478BD642Fu
#define BBPE_HASH_SALT_HI 0xE7037ED1A0B428DBu

/* Two words at once, which hold the salt already: one multiplication, folded. */
BBPE_INLINE uint64_t bbpe_hash_salted(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    return bbpe_hash_u64(a ^ bbpe_hash_u64(b));
#endif
}

BBPE_INLINE uint64_t bbpe_hash_two(uint64_t a, uint64_t b) {
    return bbpe_hash_salted(a ^ BBPE_HASH_SALT_LO, b ^ BBPE_HASH_SALT_HI);
}

BBPE_INLINE uint64_t bbpe_hash_bytes(const uint8_t *bytes, size_t n, uint64_t salt) {
    uint64_t h = bbpe_hash_fibonacci(1) ^ (uint64_t)n ^ salt, word;
    for (; n >= 8; bytes += 8, n -= 8) {
        memcpy(&word, bytes, 8);
        h = bbpe_hash_u64(h ^ word);
    }
    word = 0;
    if (n) memcpy(&word, bytes, n);
    return bbpe_hash_u64(h ^ word);
}

#endif
