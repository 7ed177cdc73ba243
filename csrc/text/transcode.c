/* The choice of an instruction set. */
#include "text/transcode.h"

#ifdef BBPE_TRANSCODE_X86
#include "simd/target.h"

static bool has_avx512(void) {
    return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") &&
           __builtin_cpu_supports("popcnt");
}
#endif

size_t bbpe_transcode_utf8(const void *text, unsigned kind, size_t start, size_t n, size_t *next, uint8_t *out,
                           size_t room) {
#ifdef BBPE_TRANSCODE_X86
    if (BBPE_LIKELY(has_avx512())) return bbpe_transcode_avx512(text, kind, start, n, next, out, room);
    if (BBPE_LIKELY(bbpe_target_has_avx2())) return bbpe_transcode_avx2(text, kind, start, n, next, out, room);
    return bbpe_transcode_sse2(text, kind, start, n, next, out, room);
#else
    return bbpe_transcode_scalar(text, kind, start, n, next, out, room);
#endif
}

bbpe_transcode bbpe_transcode_variant(size_t index, const char **name) {
    *name = "scalar";
    if (index == 0) return bbpe_transcode_scalar;
#ifdef BBPE_TRANSCODE_X86
    *name = "sse2";
    if (index == 1) return bbpe_transcode_sse2;
    *name = "avx2";
    if (index == 2 && bbpe_target_has_avx2()) return bbpe_transcode_avx2;
    *name = "avx512";
    if (index == 3 && has_avx512()) return bbpe_transcode_avx512;
#endif
    return NULL;
}
