/* The choice of an instruction set. */
#include "text/json_lines.h"

#include "simd/cpu_level.h"

size_t bbpe_json_lines_read(bbpe_json_lines *self, const uint8_t *text, size_t at, size_t n) {
    const char *name;
    bbpe_json_lines_reader best = bbpe_json_lines_variant(1, &name);
    return (best == NULL ? bbpe_json_lines_scalar : best)(self, text, at, n);
}

bbpe_json_lines_reader bbpe_json_lines_variant(size_t index, const char **name) {
    *name = "scalar";
    if (index == 0) return bbpe_json_lines_scalar;
#ifdef BBPE_HAS_X86
    *name = "avx2";
    if (index == 1 && bbpe_cpu_level_get() >= BBPE_CPU_AVX2) return bbpe_json_lines_avx2;
#endif
#ifdef BBPE_HAS_NEON
    *name = "neon";
    if (index == 1) return bbpe_json_lines_neon;
#endif
    return NULL;
}
