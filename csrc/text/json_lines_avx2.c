/* By AVX2. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include "simd/avx2.h"
#include "text/json_lines_blocks.h"
#define BBPE_JSON_LINES_SELECT bbpe_json_lines_avx2
#include "text/json_lines_loop.h"
BBPE_TARGET_END
#else
typedef int bbpe_json_lines_avx2_is_for_x86;
#endif
