/* One unit: the tables in turn, then merging. */
#include "encode_stage.h"

#include "memory.h"

/* Ids by BPE alone, its own. */
static size_t merge_fresh(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                           bool is_part, uint32_t *ids) {
    const bbpe_bpe *model = self->model.bpe;
    size_t count = 1;
    if (((self->has_wholes && !is_part) || n > BBPE_CACHE_LONG) && bbpe_bpe_find(model, bytes, n, is_part, ids))
        return 1;
    const bool is_matched = self->match.is_exact && n > BBPE_CACHE_LONG;
    if (!is_matched && n <= BBPE_BPE_SHORT) return bbpe_bpe_merge_short(model, bytes, n, 1, ids);
    const bbpe_status status =
        is_matched ? bbpe_bpe_match_encode(&self->match, model, &state->work, bytes, n, ids, &count)
                   : bbpe_bpe_merge_long(model, &state->work, bytes, n, 1, ids, &count);
    if (BBPE_LIKELY(status == BBPE_OK)) return count;
    state->status = status;
    return 0;
}

/* Ids by a model of another kind. */
static BBPE_NOINLINE size_t encode_other(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes,
                                         size_t n, uint32_t *ids) {
    size_t count = 0;
    const bbpe_status status = self->model.encode(self->model.self, &state->scratch, bytes, n, ids, &count);
    if (BBPE_LIKELY(status == BBPE_OK)) return count;
    state->status = status;
    return 0;
}

/* Ids by the model alone, as they are written. */
static size_t encode_fresh(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                           bool is_part, uint32_t *ids) {
    if (self->model.bpe == NULL) return encode_other(self, state, bytes, n, ids);
    const size_t count = merge_fresh(self, state, bytes, n, is_part, ids);
    return self->model.bpe->output_starts == NULL ? count : bbpe_bpe_put_outputs(self->model.bpe, ids, count);
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

/* A short unit as it stood in the text. */
typedef struct {
    uint8_t bytes[16];
    size_t n;
    bool is_part;
} short_unit;

static short_unit unit_of(bbpe_cache_key key) {
    short_unit unit;
    memcpy(unit.bytes, &key.lo, 8);
    memcpy(unit.bytes + 8, &key.hi, 8);
    unit.n = unit.bytes[15] & ~(unsigned)BBPE_CACHE_PART;
    unit.is_part = unit.bytes[15] & BBPE_CACHE_PART;
    return unit;
}

void bbpe_encode_new(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_cache_key key,
                     bbpe_cache_entry *entry) {
    uint32_t ids[BBPE_CACHE_LONG_IDS];
    const short_unit unit = unit_of(key);
    const bbpe_cache_long_key widened = bbpe_cache_widened(key);
    const uint64_t hash = state->shared != NULL ? bbpe_cache_long_hash(&widened) : 0;
    const size_t count = encode_shared(self, state, &widened, hash, unit.bytes, unit.n, unit.is_part, ids);
    *entry = bbpe_cache_entry_of(key, ids, count);
    if (entry->ids[3] >> BBPE_CACHE_ID_BITS == BBPE_CACHE_MANY)
        bbpe_hot_cache_add_long(&state->hot, &widened, bbpe_cache_long_hash(&widened), ids, count);
}

void bbpe_stage_find(bbpe_stage *self, const bbpe_encoder *encoder, bbpe_encode_state *state, size_t away) {
    self->new_count = 0;
    self->stray = NULL;
    for (size_t k = 0; k < away; k++) {
        const size_t i = self->away[k];
        const bbpe_cache_entry *entry = bbpe_hot_cache_find(&state->hot, self->keys[i]);
        if (entry != NULL) {
            self->stray = entry;
        } else {
            bbpe_encode_new(encoder, state, self->keys[i], self->news + self->new_count);
            entry = self->news + self->new_count++;
        }
        self->entries[i] = entry;
    }
}

void bbpe_stage_learn(bbpe_stage *self, bbpe_encode_state *state) {
    if (BBPE_UNLIKELY(state->status != BBPE_OK)) return; /* some of them have no ids, for want of memory */
    for (size_t i = 0; i < self->new_count; i++) bbpe_hot_cache_add(&state->hot, self->news + i);
    if (self->stray != NULL) bbpe_hot_cache_lead_home(&state->hot, self->stray);
}

BBPE_NOINLINE uint32_t *bbpe_encode_many(const bbpe_encoder *self, bbpe_encode_state *state,
                                         const bbpe_cache_entry *entry, uint32_t *ids) {
    if (entry->ids[3] >> BBPE_CACHE_ID_BITS != BBPE_CACHE_MANY) return ids + bbpe_cache_put_packed(entry, ids);
    const bbpe_cache_long_key widened = bbpe_cache_widened(entry->key);
    const uint64_t hash = bbpe_cache_long_hash(&widened);
    const bbpe_cache_slot *slot = bbpe_hot_cache_find_long(&state->hot, &widened, hash);
    if (slot != NULL) return put_slot(slot, ids);
    const short_unit unit = unit_of(entry->key);
    const size_t count = encode_shared(self, state, &widened, hash, unit.bytes, unit.n, unit.is_part, ids);
    if (count > 0) bbpe_hot_cache_add_long(&state->hot, &widened, hash, ids, count);
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
        bbpe_hot_cache_find(&state->hot, key);
    bbpe_cache_entry fresh;
    if (entry == NULL) {
        bbpe_encode_new(self, state, key, &fresh);
        if (state->status == BBPE_OK) bbpe_hot_cache_add(&state->hot, &fresh);
        entry = &fresh;
    }
    return bbpe_cache_is_few(entry) ? ids + bbpe_cache_put(entry->ids, ids) : bbpe_encode_many(self, state, entry, ids);
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
    const bool is_whole = state->status == BBPE_OK && count > 0 && count <= BBPE_CACHE_LONG_IDS;
    if (is_whole && bbpe_hot_cache_find_long(&state->hot, &key, hash) == NULL)
        bbpe_hot_cache_add_long(&state->hot, &key, hash, ids, count);
    return end;
}
