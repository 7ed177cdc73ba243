/* The choice of an instruction set. */
#include "text/transcode.h"

size_t bbpe_transcode_utf8(const void *text, unsigned kind, size_t start, size_t n, size_t *next, uint8_t *out,
                           size_t capacity) {
#ifdef BBPE_HAS_X86
    const bbpe_cpu_level level = bbpe_cpu_level_get();
    if (BBPE_LIKELY(level == BBPE_CPU_AVX512)) return bbpe_transcode_avx512(text, kind, start, n, next, out, capacity);
    if (BBPE_LIKELY(level == BBPE_CPU_AVX2)) return bbpe_transcode_avx2(text, kind, start, n, next, out, capacity);
#elif defined(BBPE_HAS_NEON)
    return bbpe_transcode_neon(text, kind, start, n, next, out, capacity);
#endif
    return bbpe_transcode_scalar(text, kind, start, n, next, out, capacity);
}

bbpe_transcode bbpe_transcode_variant(size_t index, const char **name) {
    *name = "scalar";
    if (index == 0) return bbpe_transcode_scalar;
#ifdef BBPE_HAS_X86
    *name = "avx2";
    if (index == 1 && bbpe_cpu_level_get() >= BBPE_CPU_AVX2) return bbpe_transcode_avx2;
    *name = "avx512";
    if (index == 2 && bbpe_cpu_level_get() >= BBPE_CPU_AVX512) return bbpe_transcode_avx512;
#elif defined(BBPE_HAS_NEON)
    *name = "neon";
    if (index == 1) return bbpe_transcode_neon;
#endif
    return NULL;
}
