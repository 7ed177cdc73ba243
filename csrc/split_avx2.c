/* AVX2. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include "target.h"
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include "split_vector32.h"

#define bbpe_vector bbpe_vector32
#define bbpe_lanes bbpe_vector32
#define vector_load vector32_load
#define vector_eq vector32_eq
#define vector_in vector32_in
#define lanes_and lanes32_and
#define lanes_or lanes32_or
#define lanes_but lanes32_but
#define lanes_bits lanes32_bits
#include "split_masks.h"

#define BBPE_FILL_BODY masks_fill
#define BBPE_FILL_SELECT bbpe_split_avx2
#include "split_fill.h"
BBPE_TARGET_END
#else
typedef int bbpe_split_avx2_is_for_x86;
#endif
