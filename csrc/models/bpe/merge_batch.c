#include "models/bpe/merge_batch.h"

#include "simd/cpu_level.h"

bbpe_merge_batch bbpe_merge_batch_select(const bbpe_bpe *model) {
    if (model->levels != NULL) return NULL;
#ifdef BBPE_HAS_X86
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX2) return bbpe_merge_batch_avx2;
#elif defined(BBPE_HAS_NEON)
    return bbpe_merge_batch_neon;
#endif
    return NULL;
}

bbpe_merge_one bbpe_merge_one_select(const bbpe_bpe *model) {
    if (model->levels != NULL) return NULL;
#ifdef BBPE_HAS_X86
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX2) return bbpe_merge_one_avx2;
#elif defined(BBPE_HAS_NEON)
    return bbpe_merge_one_neon;
#endif
    return NULL;
}
