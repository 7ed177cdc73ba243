/* One unit: the tables in turn, then merging. */
#include "encode/lookup_batch.h"

#include "memory/memory.h"

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

size_t bbpe_encode_fresh(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                         bool is_part, uint32_t *ids) {
    if (self->model.bpe == NULL) return encode_other(self, state, bytes, n, ids);
    const size_t count = merge_fresh(self, state, bytes, n, is_part, ids);
    return bbpe_bpe_put_outputs(self->model.bpe, ids, count);
}

/* A unit of many bytes or ids that no hot table has: the shared one, then the model.  Both then remember it. */
static size_t encode_shared(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_cache_long_key *key,
                            uint64_t hash, const uint8_t *bytes, size_t n, bool is_part, uint32_t *ids) {
    if (state->shared != NULL) {
        const size_t found = bbpe_shared_cache_find(state->shared, key, hash, ids);
        if (found) return found;
    }
    const size_t count = bbpe_encode_fresh(self, state, bytes, n, is_part, ids);
    if (state->shared != NULL && count > 0 && count <= BBPE_CACHE_LONG_IDS)
        bbpe_shared_cache_add(state->shared, key, hash, ids, count);
    return count;
}

/* Note that a new unit has entered the hot table, and look at the last ones now and then: whether tokens that have not come
 * are worth having. */
void bbpe_encode_note_new(const bbpe_encoder *self, bbpe_encode_state *state, size_t count) {
    const bbpe_bpe *model = self->model.bpe;
    state->tokens += count == 1;
    if (++state->kept % BBPE_ENCODE_SAMPLE != 0) return;
    if (model != NULL && model->output_starts == NULL && state->tokens >= BBPE_ENCODE_WORTH) bbpe_encode_seed(model, state);
    state->tokens = 0;
}

/* A short unit that the hot table does not have, and its place there. */
static uint32_t *encode_new(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_cache_entry *place,
                            bbpe_cache_key key, uint32_t *ids) {
    if (self->merge_lanes != NULL) return bbpe_pending_add(self, state, place, key, ids);
    const bbpe_cache_unit unit = bbpe_cache_unit_of(key);
    /* asking other threads first costs two of them 85 ms of CPU on 8 MB of English, merging it anew 62 */
    const size_t count = bbpe_encode_fresh(self, state, unit.bytes, unit.n, unit.is_part, ids);
    if (BBPE_UNLIKELY(state->status != BBPE_OK)) return ids; /* it has none, for want of memory */
    bbpe_hot_cache_add(&state->hot, key, ids, count);
    bbpe_encode_note_new(self, state, count);
    return ids + count;
}

/* A short unit by its key, or the end of a text. */
static uint32_t *encode_short(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_cache_key key, uint32_t *ids) {
    if (BBPE_UNLIKELY(bbpe_cache_key_length(key) == 0)) return bbpe_pending_end_text(self, state, ids);
    bbpe_cache_entry *found = bbpe_hot_cache_place(&state->hot, key, bbpe_cache_hash(key));
    if (found == NULL || found->key.hi == 0) return encode_new(self, state, found, key, ids);
    ids = bbpe_cache_is_few(found) ? ids + bbpe_cache_put(found, ids) : bbpe_encode_many(self, state, found, ids);
    /* now and then, so that what is frequent stays at home: every other time, English 9.9 instead of 9.5 ms */
    if ((++state->strays & 7) == 0 && bbpe_cache_entry_has(found, key)) bbpe_hot_cache_lead_home(&state->hot, found);
    return ids;
}

/* A pretoken of many bytes that the hot table does not have: what the shared one has, or it waits; NULL when it is too long
 * for that. */
static uint32_t *encode_waiting(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_cache_long_key *key,
                                uint64_t hash, const uint8_t *bytes, size_t n, uint32_t *ids) {
    if (self->merge_lanes == NULL || n > BBPE_LANES_BYTES) return NULL;
    const size_t found = state->shared != NULL ? bbpe_shared_cache_find(state->shared, key, hash, ids) : 0;
    if (found == 0) return bbpe_pending_add_long(self, state, bytes, n, ids);
    bbpe_hot_cache_add_long(&state->hot, key, hash, ids, found);
    return ids + found;
}

/* A pretoken, or a unit that is treated as one, of 16 to 47 bytes: looked up whole first. */
static uint32_t *encode_long(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                             uint64_t hash, uint32_t *ids) {
    const bbpe_cache_long_key key = bbpe_cache_long_key_of(bytes, n, 0);
    const bbpe_cache_slot *slot = bbpe_hot_cache_find_long(&state->hot, &key, hash);
    if (slot != NULL) return ids + bbpe_hot_cache_put_long(&state->hot, slot, ids);
    uint32_t *end = encode_waiting(self, state, &key, hash, bytes, n, ids);
    if (end != NULL) return end;
    const uint64_t waiting = state->pending.waited;
    end = bbpe_encode_pretoken(self, state, bytes, n, ids);
    /* its ids are not known while a unit of it waits; if it was not cut, it is there by now */
    const bool is_known = state->status == BBPE_OK && state->pending.waited == waiting && end > ids;
    bbpe_encode_late(self, state); /* it may have late units, and its ids are read */
    if (is_known && bbpe_hot_cache_find_long(&state->hot, &key, hash) == NULL)
        bbpe_hot_cache_add_long(&state->hot, &key, hash, ids, (size_t)(end - ids));
    return end;
}

BBPE_NOINLINE uint32_t *bbpe_encode_staged(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_stage *stage,
                                           size_t i, const uint8_t *text, uint32_t *ids) {
    const bbpe_cache_key key = stage->keys[i];
    const bbpe_cache_entry *home = stage->homes[i];
    if (home == &bbpe_stage_nowhere) {
        const uint8_t *bytes = text + (key.lo << 1 >> 7); /* without the flag */
        const size_t n = key.lo & 63;
        const bool is_part = key.lo >> 63;
        if (BBPE_UNLIKELY(n > BBPE_CACHE_LONG))
            return is_part ? bbpe_encode_unit(self, state, bytes, key.hi, true, ids)
                           : bbpe_encode_pretoken(self, state, bytes, key.hi, ids);
        return is_part ? bbpe_encode_unit(self, state, bytes, n, true, ids) : encode_long(self, state, bytes, n, key.hi, ids);
    }
    if (bbpe_cache_entry_has(home, key)) return bbpe_encode_many(self, state, home, ids);
    return encode_short(self, state, key, ids);
}

/* The ids of one of the late units, its count of them and no more, as those behind it are there. */
static void put_late(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_late_unit *late) {
    const bbpe_cache_long_key widened = bbpe_cache_widened(late->key);
    const bbpe_cache_slot *slot = bbpe_hot_cache_find_long(&state->hot, &widened, late->hash);
    if (BBPE_LIKELY(slot != NULL)) {
        bbpe_hot_cache_put_long(&state->hot, slot, late->ids);
        return;
    }
    uint32_t ids[BBPE_CACHE_LONG_IDS + BBPE_ENCODE_SLACK];
    const bbpe_cache_unit unit = bbpe_cache_unit_of(late->key);
    const size_t count = encode_shared(self, state, &widened, late->hash, unit.bytes, unit.n, unit.is_part, ids);
    if (count != late->count) return; /* for want of memory, and the call fails */
    bbpe_hot_cache_add_long(&state->hot, &widened, late->hash, ids, count);
    memcpy(late->ids, ids, count * sizeof *ids);
}

void bbpe_encode_late(const bbpe_encoder *self, bbpe_encode_state *state) {
    for (size_t i = 0; i < state->late.count; i++) put_late(self, state, state->late.units + i);
    state->late.count = 0;
}

/* A unit whose ids are in a slot: it is asked for, and its ids follow when some more such units have come, as waiting for
 * each one takes 50 ns. */
static uint32_t *encode_later(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_cache_entry *entry,
                              uint32_t *ids) {
    const bbpe_cache_long_key widened = bbpe_cache_widened(entry->key);
    const bbpe_late_unit late = {entry->key, bbpe_cache_long_hash(&widened), ids, entry->ids[0]};
    bbpe_hot_cache_prefetch_long(&state->hot, late.hash);
    state->late.units[state->late.count++] = late;
    if (state->late.count == BBPE_LATE_UNITS) bbpe_encode_late(self, state);
    return ids + late.count;
}

BBPE_NOINLINE uint32_t *bbpe_encode_many(const bbpe_encoder *self, bbpe_encode_state *state,
                                         const bbpe_cache_entry *entry, uint32_t *ids) {
    const unsigned marked = bbpe_cache_count(entry);
    if (marked == BBPE_CACHE_PENDING && bbpe_pending_has(&state->pending, entry))
        return bbpe_pending_repeat(self, state, entry, ids);
    if (marked == BBPE_CACHE_BOTH || marked == BBPE_CACHE_PENDING) {
        const size_t count = marked == BBPE_CACHE_BOTH ? bbpe_hot_cache_put_both(&state->hot, entry, ids) : 0;
        if (count > 0) return ids + count;
        return encode_new(self, state, state->hot.entries + (entry - state->hot.entries), entry->key, ids);
    }
    if (marked != BBPE_CACHE_MANY) return ids + bbpe_cache_put_packed(entry, ids);
    return encode_later(self, state, entry, ids);
}

static uint32_t *encode_long_unit(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                                  bool is_part, uint32_t *ids) {
    if (n > BBPE_CACHE_LONG) return ids + bbpe_encode_fresh(self, state, bytes, n, is_part, ids);
    const bbpe_cache_long_key key =
        bbpe_cache_long_key_of(bytes, n, is_part && self->has_wholes ? BBPE_CACHE_PART : 0);
    const uint64_t hash = bbpe_cache_long_hash(&key);
    const bbpe_cache_slot *slot = bbpe_hot_cache_find_long(&state->hot, &key, hash);
    if (slot != NULL) return ids + bbpe_hot_cache_put_long(&state->hot, slot, ids);
    const size_t count = encode_shared(self, state, &key, hash, bytes, n, is_part, ids);
    if (count > 0) bbpe_hot_cache_add_long(&state->hot, &key, hash, ids, count);
    return ids + count;
}

uint32_t *bbpe_encode_pretoken(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                               uint32_t *ids) {
    size_t end = n;
    for (size_t at = 0; at < n; at = end) {
        if (self->has_cuts) end = bbpe_cut_unit(&self->cuts, bytes, at, n);
        ids = bbpe_encode_unit(self, state, bytes + at, end - at, end - at < n, ids);
    }
    return ids;
}

uint32_t *bbpe_encode_unit(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                           bool is_part, uint32_t *ids) {
    if (n > BBPE_CACHE_SHORT) return encode_long_unit(self, state, bytes, n, is_part, ids);
    return encode_short(self, state, bbpe_cache_key_of(bytes, n, is_part && self->has_wholes ? BBPE_CACHE_PART : 0), ids);
}
