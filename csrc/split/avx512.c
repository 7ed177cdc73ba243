/* By AVX-512. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")
#include "simd/avx512.h"

#include "split/masks.h"

#define BBPE_FILL_BODY masks_fill
#define BBPE_FILL_SELECT bbpe_split_avx512
#include "split/fill.h"
BBPE_TARGET_END
#endif
