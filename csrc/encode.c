/* Blocks of pretokens, and the states that calls borrow. */
#include "encode.h"

#include "memory.h"

#if defined(__GNUC__) && !defined(__clang__)
/* a vector made of two words just stored waits for both to reach the cache: half of all time went there */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

enum { AHEAD = 12 }; /* pretokens before a miss is met that its place in the shared table is prefetched */
enum { BLOCK = 128 }; /* pretokens at a time: their keys and ends stay in the L1 cache; 512 lost 10 % on English */

/* Key of a long pretoken on the stage: where it begins, and how long it is below this bit, which no length reaches. */
#define STAGED_LONG ((uint64_t)1 << 63)

typedef struct {
    bbpe_cache_key key;
    const bbpe_cache_entry *entry;
} staged;

bbpe_status bbpe_encoder_init(bbpe_encoder *self, const bbpe_bpe *model, const bbpe_scheme *scheme,
                              bbpe_split_fill fill) {
    memset(self, 0, sizeof *self);
    self->model = model;
    self->fill = fill;
    if (scheme != NULL) self->scheme = *scheme;
    self->has_wholes = model->whole_pretokens && model->unmade_count > 0;
    self->has_characters = model->id_count <= (size_t)1 << 20;
    return bbpe_cut_points_init(&self->cuts, &model->tokens, BBPE_BPE_MADE);
}

void bbpe_encoder_free(bbpe_encoder *self) {
    if (self->match != NULL) bbpe_bpe_match_free(self->match);
    bbpe_memory_free(self->match);
    bbpe_cut_points_free(&self->cuts);
    memset(self, 0, sizeof *self);
}

void bbpe_encode_state_init(bbpe_encode_state *self) {
    memset(self, 0, sizeof *self);
    self->hot = (bbpe_hot_cache){self->first_entries, BBPE_ENCODE_FIRST_ENTRIES - 1, self->first_slots,
                                 BBPE_ENCODE_FIRST_SLOTS - 1};
}

void bbpe_encode_state_grow(bbpe_encode_state *self, size_t entries, size_t slots, bbpe_shared_cache *shared) {
    bbpe_hot_cache hot;
    if (self->is_grown || bbpe_hot_cache_init(&hot, entries, slots) != BBPE_OK) return;
    self->hot = hot;
    self->is_grown = true;
    if (shared != NULL) bbpe_shared_cache_hold(shared);
    self->shared = shared;
}

void bbpe_encode_state_free(bbpe_encode_state *self) {
    if (self->is_grown) bbpe_hot_cache_free(&self->hot);
    if (self->shared != NULL) bbpe_shared_cache_drop(self->shared);
    bbpe_bpe_work_free(&self->work);
    bbpe_memory_free(self->window);
    bbpe_memory_free(self->ids);
    memset(self, 0, sizeof *self);
}

bbpe_status bbpe_encode_state_reserve(bbpe_encode_state *self, size_t count) {
    if (count > SIZE_MAX - BBPE_ENCODE_SLACK) return BBPE_TOO_LARGE;
    uint32_t *ids = bbpe_memory_reserve(self->ids, &self->ids_capacity, count + BBPE_ENCODE_SLACK, sizeof *ids);
    if (ids == NULL) return BBPE_NO_MEMORY;
    self->ids = ids;
    return BBPE_OK;
}

BBPE_INLINE bool is_hit(const staged *unit) {
    return !((unit->entry->key.lo ^ unit->key.lo) | (unit->entry->key.hi ^ unit->key.hi));
}

/* What the hot table does not have is looked for far away. */
static BBPE_NOINLINE void prefetch_shared(const bbpe_encode_state *state, bbpe_cache_key key) {
    if (state->shared == NULL || (key.hi & STAGED_LONG)) return;
    const bbpe_cache_long_key widened = bbpe_cache_widened(key);
    BBPE_PREFETCH(state->shared->slots + (bbpe_cache_long_hash(&widened) & state->shared->mask));
}

/* Write the ids of what is staged. */
BBPE_INLINE uint32_t *emit(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text,
                           const staged *stage, size_t count, uint32_t *ids) {
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count && BBPE_UNLIKELY(!is_hit(stage + i + AHEAD))) prefetch_shared(state, stage[i + AHEAD].key);
        const bbpe_cache_key key = stage[i].key;
        const bbpe_cache_entry *entry = stage[i].entry;
        if (BBPE_LIKELY(is_hit(stage + i)))
            ids += bbpe_cache_put(entry->ids, ids);
        else if (key.hi & STAGED_LONG)
            ids = bbpe_encode_long(self, state, text + key.lo, (size_t)(key.hi & ~STAGED_LONG), ids);
        else
            ids = bbpe_encode_missed(self, state, key, ids);
    }
    return ids;
}

/* Whether one of the 16 bytes is 0xE0 or more, the first of a character of three or four. */
BBPE_INLINE bool has_wide(bbpe_cache_key key) {
    const uint64_t lo = key.lo & key.lo << 1 & key.lo << 2, hi = key.hi & key.hi << 1 & key.hi << 2;
    return (lo | hi) & 0x8080808080808080u;
}

/* Sixteen bytes of a text of n, or what there is. */
BBPE_INLINE bbpe_cache_key load_key(const uint8_t *text, size_t start, size_t n) {
    uint8_t end[16] = {0};
    uint64_t lo, hi;
    if (BBPE_UNLIKELY(start + 16 > n)) {
        memcpy(end, text + start, n - start);
        text = end;
        start = 0;
    }
    memcpy(&lo, text + start, 8);
    memcpy(&hi, text + start + 8, 8);
    return (bbpe_cache_key){lo, hi};
}

/* All of the block's pretokens: keys first and their entries prefetched, then ids.  The text has n bytes. */
static uint32_t *encode_block(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                              size_t start, const size_t *ends, size_t count, uint32_t *ids) {
    staged stage[BLOCK];
    size_t filled = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t length = ends[i] - start;
        const unsigned kept = length < 16 ? (unsigned)length : 16, more = kept > 8 ? kept - 8 : 0;
        bbpe_cache_key key = load_key(text, start, n);
        key.lo &= UINT64_MAX >> (8 * (8 - (kept - more)));
        key.hi &= more ? UINT64_MAX >> (8 * (8 - more)) : 0;
        if (BBPE_UNLIKELY(has_wide(key))) {
            ids = emit(self, state, text, stage, filled, ids);
            filled = 0;
            ids = bbpe_encode_pretoken(self, state, text + start, length, ids);
        } else if (BBPE_LIKELY(length <= BBPE_CACHE_SHORT)) {
            key.hi |= (uint64_t)length << 56;
            const bbpe_cache_entry *entry = state->hot.entries + (bbpe_cache_hash(key) & state->hot.mask);
            BBPE_PREFETCH(entry);
            stage[filled].key.lo = key.lo;
            stage[filled].key.hi = key.hi;
            stage[filled++].entry = entry;
        } else {
            stage[filled].key.lo = start;
            stage[filled].key.hi = STAGED_LONG | length;
            stage[filled++].entry = state->hot.entries;
        }
        start = ends[i];
    }
    return emit(self, state, text, stage, filled, ids);
}

bbpe_status bbpe_encode_utf8(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                             uint32_t *ids, size_t *count) {
    size_t ends[BLOCK], start = 0;
    uint32_t *out = ids;
    state->seen += n;
    while (start < n && state->status == BBPE_OK) {
        const size_t found = self->fill(&self->scheme, text, start, n, ends, BLOCK);
        out = encode_block(self, state, text, n, start, ends, found, out);
        start = ends[found - 1];
    }
    *count = (size_t)(out - ids);
    return state->status;
}

bbpe_status bbpe_encode_given(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text,
                              const int64_t *given, size_t pretokens, uint32_t *ids, size_t *count) {
    size_t ends[BLOCK], start = 0;
    const size_t n = pretokens ? (size_t)given[pretokens - 1] : 0;
    uint32_t *out = ids;
    state->status = BBPE_OK;
    state->seen += n;
    for (size_t i = 0; i < pretokens && state->status == BBPE_OK;) {
        size_t found = 0, begin = start;
        for (; i < pretokens && found < BLOCK; i++)
            if ((size_t)given[i] != start) start = ends[found++] = (size_t)given[i];
        out = encode_block(self, state, text, n, begin, ends, found, out);
    }
    *count = (size_t)(out - ids);
    return state->status;
}

bbpe_status bbpe_encode_range(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, uint32_t *ids, size_t *count) {
    state->status = BBPE_OK;
    *count = 0;
    if (text.unit_size == 0)
        return bbpe_encode_utf8(self, state, (const uint8_t *)text.units + start, end - start, ids, count);
    return bbpe_encode_units(self, state, text, start, end, ids, count);
}
