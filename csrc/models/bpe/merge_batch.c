#include "models/bpe/merge_batch.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include "simd/target.h"
#endif

bbpe_lanes_merge bbpe_lanes_select(void) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("popcnt"))
        return bbpe_lanes_avx512;
    if (bbpe_target_has_avx2()) return bbpe_lanes_avx2;
#endif
    return NULL;
}
