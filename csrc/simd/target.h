/* Instructions that not every processor has, for the functions of one file.
 *
 *     #include "simd/target.h"
 *     #ifdef BBPE_HAS_X86
 *     BBPE_TARGET_BEGIN("avx2,...")
 *     (all other includes, and functions)
 *     BBPE_TARGET_END
 *     #endif
 *
 * Only what looks at the processor first may call such a file: bbpe_cpu_level_get. */
#ifndef BBPE_SIMD_TARGET_H
#define BBPE_SIMD_TARGET_H

#include "simd/cpu_level.h"

#ifdef BBPE_HAS_X86
#include <immintrin.h> /* here, as its functions bring targets of their own */
#endif

#if defined(__clang__)
#define BBPE_TARGET_BEGIN(features) \
    BBPE_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define BBPE_TARGET_END BBPE_PRAGMA(clang attribute pop)
#else
#define BBPE_TARGET_BEGIN(features) BBPE_PRAGMA(GCC target(features))
#define BBPE_TARGET_END
#endif

#endif
