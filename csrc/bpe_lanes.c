#include "bpe_lanes.h"

bbpe_lanes_merge bbpe_lanes_select(void) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("popcnt"))
        return bbpe_lanes_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
        && __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("popcnt"))
        return bbpe_lanes_avx2;
#endif
    return NULL;
}
