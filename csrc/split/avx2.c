/* By AVX2. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include "simd/avx2.h"

#include "split/masks.h"

#define BBPE_FILL_BODY masks_fill
#define BBPE_FILL_SELECT bbpe_split_avx2
#include "split/fill.h"
BBPE_TARGET_END
#endif
