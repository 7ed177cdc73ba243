/* By AVX-512: a byte is looked up among 64 by one instruction, where AVX2 takes nine. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")
#include "simd/avx512.h"
#include "text/search_blocks.h"

uint64_t bbpe_search_avx512(const bbpe_character_set *set, const uint8_t *text, size_t *at, size_t end) {
    return search_blocks(set, text, at, end);
}
BBPE_TARGET_END
#else
typedef int bbpe_search_avx512_is_for_x86;
#endif
