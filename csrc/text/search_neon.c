/* By NEON. */
#include "simd/cpu_level.h"
#ifdef BBPE_HAS_NEON
#include "simd/neon.h"
#include "text/search_blocks.h"

uint64_t bbpe_search_neon(const bbpe_character_set *set, const uint8_t *text, size_t *at, size_t end) {
    return search_blocks(set, text, at, end);
}
#else
typedef int bbpe_search_neon_is_for_arm;
#endif
