/* By NEON. */
#include "simd/cpu_level.h"
#ifdef BBPE_HAS_NEON
#include "simd/neon.h"
#include "text/json_lines_blocks.h"
#define BBPE_JSON_LINES_SELECT bbpe_json_lines_neon
#include "text/json_lines_loop.h"
#else
typedef int bbpe_json_lines_neon_is_for_arm;
#endif
