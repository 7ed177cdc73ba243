/* One piece a step; and which loops this processor runs. */
#include "encode/lookup_batch.h"

/* The two cases each a loop of their own: with both in one, 540 instead of 630 MB/s. */
static BBPE_NOINLINE void fill_parts(bbpe_lookup_batch *self, const bbpe_hot_cache *hot, const bbpe_pretokens *block) {
    bbpe_lookup_batch_put(self, hot, block, 0, block->count, true);
}

static void fill(bbpe_lookup_batch *self, const bbpe_hot_cache *hot, const bbpe_pretokens *block, bool has_parts) {
    if (has_parts) fill_parts(self, hot, block);
    else bbpe_lookup_batch_put(self, hot, block, 0, block->count, false);
}

static uint32_t *emit(const bbpe_lookup_batch *self, size_t count, const bbpe_encoder *encoder, bbpe_encode_state *state,
                      const uint8_t *text, uint32_t *ids) {
#pragma GCC unroll 2
    for (size_t i = 0; i < count; i++) {
        const bbpe_cache_entry *entry = self->primary[i];
        const bbpe_cache_key key = self->keys[i];
        if (BBPE_LIKELY(entry->key.lo == key.lo && entry->key.hi == key.hi && bbpe_cache_is_few(entry)))
            ids += bbpe_cache_copy_ids(state->hot.layout, entry, ids);
        else
            ids = bbpe_encode_miss(encoder, state, self, i, text, ids);
    }
    return ids;
}

const struct bbpe_lookup_batch_loops bbpe_lookup_batch_scalar = {fill, emit};

const struct bbpe_lookup_batch_loops *bbpe_lookup_batch_select(void) {
#ifdef BBPE_HAS_X86
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX512) return &bbpe_lookup_batch_avx512;
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX2) return &bbpe_lookup_batch_avx2;
#elif defined(BBPE_HAS_NEON)
    return &bbpe_lookup_batch_neon;
#endif
    return &bbpe_lookup_batch_scalar;
}
