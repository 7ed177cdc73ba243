/* By NEON: four keys a step; and ids, five or six packed ones unpacked at once. */
#include "simd/cpu_level.h"
#ifdef BBPE_HAS_NEON
#include "simd/words_neon.h"

#include "encode/lookup_batch_words.h"

/* bbpe_cache_copy_packed_ids in one step, with 16 bytes written at the first id and at the fourth. */
BBPE_INLINE size_t copy_packed(const bbpe_cache_entry *entry, uint32_t *ids) {
    /* [id0 id1 id2 junk], then [id3 id4 id5 junk]: the bytes of each in its word, and the bit where it begins in these */
    static const uint8_t places[2][16] = {{0, 1, 2, 3, 2, 3, 4, 5, 5, 6, 7, 255, 255, 255, 255, 255},
                                          {8, 9, 10, 11, 10, 11, 12, 13, 13, 14, 15, 255, 255, 255, 255, 255}};
    static const int32_t shifts[4] = {0, -4, 0, 0};
    const size_t count = bbpe_cache_count(entry) - BBPE_CACHE_PACKED;
    const uint8x16_t words = vreinterpretq_u8_u32(vld1q_u32(entry->ids));
    const uint32x4_t mask = vdupq_n_u32((1 << BBPE_CACHE_PACKED_BITS) - 1);
    const uint32x4_t first = vreinterpretq_u32_u8(vqtbl1q_u8(words, vld1q_u8(places[0])));
    const uint32x4_t last = vreinterpretq_u32_u8(vqtbl1q_u8(words, vld1q_u8(places[1])));
    vst1q_u32(ids, vandq_u32(vshlq_u32(first, vld1q_s32(shifts)), mask));
    vst1q_u32(ids + 3, vandq_u32(vshlq_u32(last, vld1q_s32(shifts)), mask));
    return count;
}

static uint32_t *emit(const bbpe_lookup_batch *self, size_t count, const bbpe_encoder *encoder, bbpe_encode_state *state,
                      const uint8_t *text, uint32_t *ids) {
#pragma GCC unroll 2
    for (size_t i = 0; i < count; i++) {
        const bbpe_cache_entry *entry = self->primary[i];
        const bbpe_cache_key key = self->keys[i];
        /* one branch for the key and the number of ids */
        if (BBPE_LIKELY(bbpe_cache_entry_has(entry, key) & bbpe_cache_is_few(entry)))
            ids += bbpe_cache_copy_ids(entry, ids);
        else if (bbpe_cache_is_packed(entry) && bbpe_cache_entry_has(entry, key))
            ids += copy_packed(entry, ids);
        else
            ids = bbpe_encode_miss(encoder, state, self, i, text, ids);
    }
    return ids;
}

const struct bbpe_lookup_batch_loops bbpe_lookup_batch_neon = {fill, emit};
#endif
