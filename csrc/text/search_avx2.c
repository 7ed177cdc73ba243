/* By AVX2. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include "simd/avx2.h"
#include "text/search_blocks.h"

uint64_t bbpe_search_avx2(const bbpe_character_set *set, const uint8_t *text, size_t *at, size_t end) {
    return search_blocks(set, text, at, end);
}
BBPE_TARGET_END
#else
typedef int bbpe_search_avx2_is_for_x86;
#endif
