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

bbpe_cpu_level bbpe_cpu_level_get(void);
/* Answer with no more than this from now on: what is chosen later does what it does on another processor. */
void bbpe_cpu_level_lower(bbpe_cpu_level most);

/* "base", "avx2", "avx512" or "neon". */
const char *bbpe_cpu_level_name(void);

#endif
