/* One unit: the tables in turn, then merging. */
#include "encode.h"

#include "memory.h"

/* Ids by the model alone. */
static size_t encode_fresh(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                           bool is_part, uint32_t *ids) {
    size_t count = 1;
    if (((self->has_wholes && !is_part) || n > BBPE_CACHE_LONG) && bbpe_bpe_find(self->model, bytes, n, is_part, ids))
        return 1;
    const bool is_matched = self->match.is_exact && n > BBPE_CACHE_LONG;
    if (!is_matched && n <= BBPE_BPE_SHORT) return bbpe_bpe_merge_short(self->model, bytes, n, 1, ids);
    const bbpe_status status =
        is_matched ? bbpe_bpe_match_encode(&self->match, self->model, &state->work, bytes, n, ids, &count)
                   : bbpe_bpe_merge_long(self->model, &state->work, bytes, n, 1, ids, &count);
    if (BBPE_LIKELY(status == BBPE_OK)) return count;
    state->status = status;
    return 0;
}

/* A unit that no hot table has: the shared one, then the model.  Both then remember it. */
static size_t encode_shared(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_cache_long_key *key,
                            uint64_t hash, const uint8_t *bytes, size_t n, bool is_part, uint32_t *ids) {
    if (state->shared != NULL) {
        const size_t found = bbpe_shared_cache_find(state->shared, key, hash, ids);
        if (found) return found;
    }
    const size_t count = encode_fresh(self, state, bytes, n, is_part, ids);
    if (state->shared != NULL && count > 0 && count <= BBPE_CACHE_LONG_IDS)
        bbpe_shared_cache_add(state->shared, key, hash, ids, count);
    return count;
}

static uint32_t *put_slot(const bbpe_cache_slot *slot, uint32_t *ids) {
    const size_t count = slot->counts & 0xFF;
    for (size_t i = 0; i < count; i++) ids[i] = slot->ids[i];
    return ids + count;
}

BBPE_NOINLINE uint32_t *bbpe_encode_missed(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_cache_key key,
                                           uint32_t *ids) {
    const uint64_t hash = bbpe_cache_hash(key);
    const bbpe_cache_entry *bucket = bbpe_hot_cache_bucket(&state->hot, hash);
    const bbpe_cache_entry *known = bbpe_hot_cache_find(bucket, key.lo, key.hi);
    if (known == NULL) known = bbpe_hot_cache_find(bbpe_hot_cache_next(&state->hot, bucket), key.lo, key.hi);
    const bbpe_cache_long_key widened = bbpe_cache_widened(key);
    const uint64_t long_hash = bbpe_cache_long_hash(&widened);
    if (known != NULL) {
        if (bbpe_cache_is_few(known)) return ids + bbpe_cache_put(known->ids, ids);
        if (known->ids[3] >> BBPE_CACHE_ID_BITS != BBPE_CACHE_MANY) return ids + bbpe_cache_put_packed(known, ids);
        const bbpe_cache_slot *slot = bbpe_hot_cache_find_long(&state->hot, &widened, long_hash);
        if (slot != NULL) return put_slot(slot, ids);
    }
    uint8_t bytes[16];
    memcpy(bytes, &key.lo, 8);
    memcpy(bytes + 8, &key.hi, 8);
    const size_t n = bytes[15] & ~(unsigned)BBPE_CACHE_PART;
    uint32_t made[BBPE_CACHE_LONG_IDS];
    const size_t count =
        encode_shared(self, state, &widened, long_hash, bytes, n, bytes[15] & BBPE_CACHE_PART, made);
    if (count > 0 && known == NULL) bbpe_hot_cache_add(&state->hot, key, hash, made, count);
    if (count > BBPE_CACHE_SHORT_IDS || (count > BBPE_CACHE_FEW_IDS && self->model->id_count >> BBPE_CACHE_PACKED_BITS))
        bbpe_hot_cache_add_long(&state->hot, &widened, long_hash, made, count);
    for (size_t i = 0; i < count; i++) ids[i] = made[i];
    return ids + count;
}

static uint32_t *encode_long_unit(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                                  bool is_part, uint32_t *ids) {
    if (n > BBPE_CACHE_LONG) return ids + encode_fresh(self, state, bytes, n, is_part, ids);
    const bbpe_cache_long_key key =
        bbpe_cache_long_key_of(bytes, n, is_part && self->has_wholes ? BBPE_CACHE_PART : 0);
    const uint64_t hash = bbpe_cache_long_hash(&key);
    const bbpe_cache_slot *slot = bbpe_hot_cache_find_long(&state->hot, &key, hash);
    if (slot != NULL) return put_slot(slot, ids);
    const size_t count = encode_shared(self, state, &key, hash, bytes, n, is_part, ids);
    if (count > 0 && count <= BBPE_CACHE_LONG_IDS) bbpe_hot_cache_add_long(&state->hot, &key, hash, ids, count);
    return ids + count;
}

uint32_t *bbpe_encode_unit(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                           bool is_part, uint32_t *ids) {
    if (n > BBPE_CACHE_SHORT) return encode_long_unit(self, state, bytes, n, is_part, ids);
    bbpe_cache_key key = {0, 0};
    memcpy(&key, bytes, n);
    key.hi |= (uint64_t)(n | (is_part && self->has_wholes ? BBPE_CACHE_PART : 0)) << 56;
    const bbpe_cache_entry *entry =
        bbpe_hot_cache_find(bbpe_hot_cache_bucket(&state->hot, bbpe_cache_hash(key)), key.lo, key.hi);
    if (BBPE_LIKELY(entry != NULL && bbpe_cache_is_few(entry))) return ids + bbpe_cache_put(entry->ids, ids);
    return bbpe_encode_missed(self, state, key, ids);
}

uint32_t *bbpe_encode_long(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                           uint32_t *ids) {
    if (n > BBPE_CACHE_LONG) return bbpe_encode_pretoken(self, state, bytes, n, ids);
    const bbpe_cache_long_key key = bbpe_cache_long_key_of(bytes, n, 0);
    const uint64_t hash = bbpe_cache_long_hash(&key);
    const bbpe_cache_slot *slot = bbpe_hot_cache_find_long(&state->hot, &key, hash);
    if (slot != NULL) return put_slot(slot, ids);
    uint32_t *end = bbpe_encode_pretoken(self, state, bytes, n, ids);
    const size_t count = (size_t)(end - ids);
    /* if it was not cut, it is there by now */
    if (count > 0 && count <= BBPE_CACHE_LONG_IDS && bbpe_hot_cache_find_long(&state->hot, &key, hash) == NULL)
        bbpe_hot_cache_add_long(&state->hot, &key, hash, ids, count);
    return end;
}
