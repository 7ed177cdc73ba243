/* One unit at a time. */
#include "encode/lookup_batch.h"

#ifdef BBPE_HAS_X86
#include "simd/target.h"
#endif

const bbpe_cache_entry bbpe_stage_nowhere = {{0, 0}, {0, 0, 0, 0}};

/* The two cases each a loop of their own: with both in one, 540 instead of 630 MB/s. */
static BBPE_NOINLINE void fill_parts(bbpe_stage *self, const bbpe_hot_cache *hot, const bbpe_pretokens *block) {
    bbpe_stage_put(self, hot, block, 0, block->count, true);
}

static void fill(bbpe_stage *self, const bbpe_hot_cache *hot, const bbpe_pretokens *block, bool has_parts) {
    if (has_parts) fill_parts(self, hot, block);
    else bbpe_stage_put(self, hot, block, 0, block->count, false);
}

static uint32_t *emit(const bbpe_stage *self, size_t count, const bbpe_encoder *encoder, bbpe_encode_state *state,
                      const uint8_t *text, uint32_t *ids) {
#pragma GCC unroll 2
    for (size_t i = 0; i < count; i++) {
        const bbpe_cache_entry *entry = self->homes[i];
        const bbpe_cache_key key = self->keys[i];
        if (BBPE_LIKELY(entry->key.lo == key.lo && entry->key.hi == key.hi && bbpe_cache_is_few(entry)))
            ids += bbpe_cache_put(entry, ids);
        else
            ids = bbpe_encode_staged(encoder, state, self, i, text, ids);
    }
    return ids;
}

const struct bbpe_stage_loops bbpe_stage_scalar = {fill, emit};

const struct bbpe_stage_loops *bbpe_stage_select(void) {
#ifdef BBPE_HAS_X86
    if (bbpe_split_has_avx512()) return &bbpe_stage_avx512;
    if (bbpe_target_has_avx2()) return &bbpe_stage_avx2;
#endif
    return &bbpe_stage_scalar;
}
