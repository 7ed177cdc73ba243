/* By NEON: four keys a step; and the ids of an entry unpacked at once. */
#include "simd/cpu_level.h"
#ifdef BBPE_HAS_NEON
#include "simd/words_neon.h"

#include "encode/lookup_batch_words.h"

/* Copy packed ids; writes eight. */
BBPE_INLINE size_t copy_packed(const bbpe_cache_layout *layout, const bbpe_cache_entry *entry, uint32_t *ids) {
    const size_t count = bbpe_cache_count(entry); /* read before anything is written */
    const uint8x16_t packed = vreinterpretq_u8_u32(vld1q_u32(entry->ids));
    const bbpe_cache_unpacking *by = layout->unpackings + 1;
    for (size_t half = 0; half < 2; half++) {
        const uint32x4_t words = vreinterpretq_u32_u8(vqtbl1q_u8(packed, vld1q_u8(by->places + 16 * half)));
        const int32x4_t right = vnegq_s32(vreinterpretq_s32_u32(vld1q_u32(by->shifts + 4 * half)));
        vst1q_u32(ids + 4 * half, vandq_u32(vshlq_u32(words, right), vld1q_u32(by->masks + 4 * half)));
    }
    return count;
}

/* Copy ids that are not packed; writes four. */
BBPE_INLINE size_t copy_plain(const bbpe_cache_entry *entry, uint32_t *ids) {
    const size_t count = bbpe_cache_count(entry);
    vst1q_u32(ids, vld1q_u32(entry->ids));
    return count;
}

static uint32_t *emit(const bbpe_lookup_batch *self, size_t count, const bbpe_encoder *encoder, bbpe_encode_state *state,
                      const uint8_t *text, uint32_t *ids) {
    const bbpe_cache_layout *const layout = state->hot.layout;
#pragma GCC unroll 2
    for (size_t i = 0; i < count; i++) {
        const bbpe_cache_entry *entry = self->primary[i];
        const bbpe_cache_key key = self->keys[i];
        /* one branch for the key and the number of ids */
        if (BBPE_LIKELY(bbpe_cache_entry_has(entry, key) & bbpe_cache_is_plain(entry)))
            ids += copy_plain(entry, ids);
        else if (bbpe_cache_is_few(entry) && bbpe_cache_entry_has(entry, key))
            ids += copy_packed(layout, entry, ids);
        else
            ids = bbpe_encode_miss(encoder, state, self, i, text, ids);
    }
    return ids;
}

const struct bbpe_lookup_batch_loops bbpe_lookup_batch_neon = {fill, emit};
#endif
