/* Features that each compiler spells its own way: inlining, branch hints, prefetching, the bits of a word. */
#ifndef BBPE_BASE_BITS_H
#define BBPE_BASE_BITS_H

#include <stdint.h>

#define BBPE_PRAGMA(words) _Pragma(#words)

#if defined(__GNUC__) || defined(__clang__)
#define BBPE_INLINE static inline __attribute__((always_inline, unused))
#define BBPE_NOINLINE __attribute__((noinline))
/* of a table that other files read: its address is known without a load, which is 2 % of encoding English */
#define BBPE_HIDDEN __attribute__((visibility("hidden")))
#define BBPE_LIKELY(x) __builtin_expect(!!(x), 1)
#define BBPE_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define BBPE_PREFETCH(p) __builtin_prefetch(p)
#define BBPE_ALIGNED(p, bytes) __builtin_assume_aligned(p, bytes)
#define BBPE_IS_CONSTANT(x) __builtin_constant_p(x)

/* The number of the lowest bit, of the highest bit, and how many bits are set; x != 0 for the first two. */
BBPE_INLINE unsigned bbpe_bits_lowest(uint64_t x) {
    return (unsigned)__builtin_ctzll(x);
}

BBPE_INLINE unsigned bbpe_bits_highest(uint64_t x) {
    return 63 - (unsigned)__builtin_clzll(x);
}

BBPE_INLINE unsigned bbpe_bits_count(uint64_t x) {
    return (unsigned)__builtin_popcountll(x);
}

/* A word with its bytes in the other order. */
BBPE_INLINE uint64_t bbpe_bits_swapped(uint64_t x) {
    return __builtin_bswap64(x);
}
#else
#error "bits.h does not know this compiler"
#endif

/* An option that GCC alone has, for the rest of a file. */
#if defined(__clang__)
#define BBPE_GCC_OPTIMIZE(options)
#else
#define BBPE_GCC_OPTIMIZE(options) BBPE_PRAGMA(GCC optimize(options))
#endif

#endif
