/* By NEON. */
#include "simd/cpu_level.h"
#ifdef BBPE_HAS_NEON
#include "simd/words_neon.h"

#include "models/bpe/merge_batch_words.h"

void bbpe_merge_batch_neon(const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count, uint32_t *const *ids,
                     size_t *counts) {
    merge_together(model, pieces, count, ids, counts);
}

size_t bbpe_merge_one_neon(const bbpe_bpe *model, const uint8_t *text, size_t n, uint32_t *ids) {
    return merge_one(model, text, n, ids);
}
#endif
