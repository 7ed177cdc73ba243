/* Instructions that not every processor has, for the functions of one file.
 *
 * BBPE_TARGET_BEGIN("avx2,...") stands behind the includes of the system's and before all others, BBPE_TARGET_END at the
 * end of the file.  Only what looks at the processor first may call such a file, as split/split.c does.
 *
 * Includer: is for x86-64, by GCC or clang. */
#ifndef BBPE_SIMD_TARGET_H
#define BBPE_SIMD_TARGET_H

#include <immintrin.h> /* here, as its functions bring targets of their own */

#include "base/common.h"

#define BBPE_TARGET_PRAGMA(words) _Pragma(#words)
#if defined(__clang__)
#define BBPE_TARGET_BEGIN(features) \
    BBPE_TARGET_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define BBPE_TARGET_END BBPE_TARGET_PRAGMA(clang attribute pop)
#else
#define BBPE_TARGET_BEGIN(features) BBPE_TARGET_PRAGMA(GCC target(features))
#define BBPE_TARGET_END
#endif

/* Whether this processor has what all files for AVX2 ask for. */
BBPE_INLINE bool bbpe_target_has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
           && __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("popcnt");
}

#endif
