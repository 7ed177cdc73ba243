/* By NEON. */
#include "simd/cpu_level.h"
#ifdef BBPE_HAS_NEON
#include "simd/neon.h"

#include "split/masks.h"

#define BBPE_FILL_BODY masks_fill
#define BBPE_FILL_SELECT bbpe_split_neon
#include "split/fill.h"
#endif
