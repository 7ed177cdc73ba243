/* Each byte 32 times. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include "simd/avx2.h"

#define FOUR(x) x, x, x, x
#define ROW(x) {FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x)}
#define ROWS_4(x) ROW(x), ROW((x) + 1), ROW((x) + 2), ROW((x) + 3)
#define ROWS_16(x) ROWS_4(x), ROWS_4((x) + 4), ROWS_4((x) + 8), ROWS_4((x) + 12)
#define ROWS_64(x) ROWS_16(x), ROWS_16((x) + 16), ROWS_16((x) + 32), ROWS_16((x) + 48)
_Alignas(32) const uint8_t bbpe_vector_bytes[256][32] = {ROWS_64(0), ROWS_64(64), ROWS_64(128), ROWS_64(192)};
BBPE_TARGET_END
#endif
