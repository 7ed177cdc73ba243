/* By AVX2. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include "simd/words_avx2.h"

#include "models/bpe/merge_batch_words.h"

void bbpe_merge_batch_avx2(const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count, uint32_t *const *ids,
                     size_t *counts) {
    merge_together(model, pieces, count, ids, counts);
}

size_t bbpe_merge_one_avx2(const bbpe_bpe *model, const uint8_t *text, size_t n, uint32_t *ids) {
    return merge_one(model, text, n, ids);
}
BBPE_TARGET_END
#endif
