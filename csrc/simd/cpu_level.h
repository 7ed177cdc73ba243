/* Which instructions this processor has: one answer for all files that are named after an instruction set. */
#ifndef BBPE_SIMD_CPU_LEVEL_H
#define BBPE_SIMD_CPU_LEVEL_H

#include "base/common.h"

#if defined(__x86_64__)
#define BBPE_HAS_X86 1
#elif defined(__aarch64__)
#define BBPE_HAS_NEON 1
#endif

/* AVX2 is that of Haswell and Zen, AVX-512 that of Ice Lake and Zen 4. */
typedef enum { BBPE_CPU_BASE, BBPE_CPU_AVX2, BBPE_CPU_AVX512 } bbpe_cpu_level;

BBPE_INLINE bbpe_cpu_level bbpe_cpu_level_get(void) {
#ifdef BBPE_HAS_X86
#define HAS(feature) __builtin_cpu_supports(feature)
    if (!(HAS("avx2") && HAS("bmi") && HAS("bmi2") && HAS("lzcnt") && HAS("popcnt"))) return BBPE_CPU_BASE;
    if (HAS("avx512f") && HAS("avx512dq") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512vl") && HAS("avx512vbmi")
        && HAS("avx512vbmi2"))
        return BBPE_CPU_AVX512;
    return BBPE_CPU_AVX2;
#undef HAS
#else
    return BBPE_CPU_BASE;
#endif
}

#endif
