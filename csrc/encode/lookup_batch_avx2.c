/* Four keys a step; and ids: a key and the number of its ids are compared at once, and those of an entry unpacked at once. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include "simd/words_avx2.h"

#include "encode/lookup_batch_words.h"

/* Write the ids that are packed in 16 bytes, and zeros up to eight. */
BBPE_INLINE void unpack(const bbpe_cache_unpacking *by, __m128i packed, uint32_t *ids) {
    const __m256i places = _mm256_load_si256((const __m256i *)by->places);
    const __m256i shifts = _mm256_load_si256((const __m256i *)by->shifts);
    const __m256i words = _mm256_srlv_epi32(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(packed), places), shifts);
    _mm256_storeu_si256((__m256i *)ids, _mm256_and_si256(words, _mm256_load_si256((const __m256i *)by->masks)));
}

/* bbpe_cache_copy_ids without a branch; writes eight ids. */
BBPE_INLINE size_t copy_few(const bbpe_cache_layout *layout, const bbpe_cache_entry *entry, uint32_t *ids) {
    const size_t count = bbpe_cache_count(entry); /* read before anything is written */
    unpack(layout->unpackings + (count > BBPE_CACHE_PLAIN), _mm_load_si128((const __m128i *)entry->ids), ids);
    return count;
}

/* Copy ids that are not packed; writes four.  To write eight crosses the end of a cache line more often. */
BBPE_INLINE size_t copy_plain(const bbpe_cache_entry *entry, uint32_t *ids) {
    const size_t count = bbpe_cache_count(entry);
    _mm_storeu_si128((__m128i *)ids, _mm_load_si128((const __m128i *)entry->ids));
    return count;
}

_Static_assert(BBPE_ENCODE_SLACK >= 2 * 7 + 8 - 8, "copy_two writes up to 22 ids, of which at least 8 count");
/* bbpe_hot_cache_copy_ids_of_two without a branch on the number of ids. */
BBPE_INLINE size_t copy_two(const bbpe_cache_layout *layout, const bbpe_cache_entry *entry, const bbpe_cache_entry *rest,
                            uint32_t *ids) {
    const bbpe_cache_unpacking *by = layout->unpackings + 1;
    const size_t count = rest->key.hi & 0xFF;
    const __m128i middle = _mm_load_si128((const __m128i *)rest->ids), last = _mm_loadl_epi64((const __m128i *)&rest->key.lo);
    unpack(by, _mm_load_si128((const __m128i *)entry->ids), ids);
    unpack(by, middle, ids + layout->few);
    unpack(by, last, ids + 2 * layout->few);
    return count;
}

/* Whether an entry has the ids of its key together with its neighbour, which has the rest of them. */
BBPE_INLINE bool is_two(const bbpe_cache_entry *entry, const bbpe_cache_entry *rest, bbpe_cache_key key) {
    return bbpe_cache_count(entry) == BBPE_CACHE_TWO && bbpe_cache_is_rest(rest) && bbpe_cache_entry_has(entry, key);
}

/* One branch for the key and the number of ids: English 9.9 instead of 10.3 ms, Chinese 23.1 instead of 24.2 (Zen 4).  With
 * `many`, numbers up to 7 take the first one, otherwise those up to BBPE_CACHE_PLAIN. */
BBPE_INLINE uint32_t *emit(const bbpe_lookup_batch *self, size_t count, const bbpe_encoder *encoder, bbpe_encode_state *state,
                           const uint8_t *text, uint32_t *ids, bool many) {
    /* [key.lo key.hi - the highest bits of the number] */
    const __m256i decisive = _mm256_setr_epi64x(-1, -1, 0, many ? INT64_MIN : INT64_MIN / 2);
    const bbpe_cache_entry *const *primary = self->primary, *const *const last = primary + count;
    const bbpe_cache_key *key = self->keys;
    const bbpe_cache_layout *const layout = state->hot.layout;
#pragma GCC unroll 2
    for (; primary < last; primary++, key++) {
        const bbpe_cache_entry *entry = *primary;
        const __m256i wanted = _mm256_zextsi128_si256(_mm_load_si128((const __m128i *)key));
        const __m256i differ = _mm256_xor_si256(wanted, _mm256_load_si256((const __m256i *)entry));
        if (BBPE_LIKELY(_mm256_testz_si256(differ, decisive)))
            ids += many ? copy_few(layout, entry, ids) : copy_plain(entry, ids);
        else if (!many && bbpe_cache_is_few(entry) && bbpe_cache_entry_has(entry, *key))
            ids += copy_few(layout, entry, ids);
        else if (is_two(entry, bbpe_hot_cache_neighbour(&state->hot, entry), *key))
            ids += copy_two(layout, entry, bbpe_hot_cache_neighbour(&state->hot, entry), ids);
        else
            ids = bbpe_encode_miss(encoder, state, self, (size_t)(primary - self->primary), text, ids);
    }
    return ids;
}

static BBPE_NOINLINE uint32_t *emit_many(const bbpe_lookup_batch *self, size_t count, const bbpe_encoder *encoder,
                                         bbpe_encode_state *state, const uint8_t *text, uint32_t *ids) {
    return emit(self, count, encoder, state, text, ids, true);
}

uint32_t *bbpe_lookup_batch_emit_avx2(const bbpe_lookup_batch *self, size_t count, const bbpe_encoder *encoder,
                                      bbpe_encode_state *state, const uint8_t *text, uint32_t *ids) {
    uint32_t *const end = state->has_many_ids ? emit_many(self, count, encoder, state, text, ids)
                                              : emit(self, count, encoder, state, text, ids, false);
    state->has_many_ids = (size_t)(end - ids) > 2 * count; /* Chinese has 1.7 for one: mostly up to three */
    return end;
}

const struct bbpe_lookup_batch_loops bbpe_lookup_batch_avx2 = {fill, bbpe_lookup_batch_emit_avx2};
BBPE_TARGET_END
#endif
