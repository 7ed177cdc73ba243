/* Blocks of pretokens, and the states that calls borrow. */
#include "encode.h"

#include "memory.h"

#if defined(__GNUC__) && !defined(__clang__)
/* a vector made of two words just stored waits for both to reach the cache: half of all time went there */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

enum { BLOCK = 128 }; /* pretokens at a time: their keys and ends stay in the L1 cache; 512 lost 10 % on English */

/* Key of a long pretoken on the stage: where it begins, and how long it is below this bit, which no length reaches. */
#define STAGED_LONG ((uint64_t)1 << 63)

typedef struct {
    bbpe_cache_key key;
    const bbpe_cache_entry *bucket;
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

/* Write the ids of what is staged. */
BBPE_INLINE uint32_t *emit(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text,
                           const staged *stage, size_t count, uint32_t *ids) {
    for (const staged *unit = stage; unit < stage + count; unit++) {
        const bbpe_cache_entry *entry = bbpe_hot_cache_find(unit->bucket, unit->key.lo, unit->key.hi);
        if (BBPE_LIKELY(entry != NULL && entry->ids[0] < BBPE_CACHE_MANY))
            ids += bbpe_cache_put(entry->ids, ids);
        else if (unit->key.hi & STAGED_LONG)
            ids = bbpe_encode_long(self, state, text + unit->key.lo, (size_t)(unit->key.hi & ~STAGED_LONG), ids);
        else
            ids = bbpe_encode_missed(self, state, unit->key, ids);
    }
    return ids;
}

/* Whether one of the bytes is 0xE0 or more, the first of a character of three or four. */
BBPE_INLINE bool has_wide(uint64_t a, uint64_t b) {
    return ((a & a << 1 & a << 2) | (b & b << 1 & b << 2)) & 0x8080808080808080u;
}

/* The same of a stretch of text of which 16 bytes more may be read. */
static bool has_wide_text(const uint8_t *text, size_t n) {
    uint64_t words[2], wide = 0;
    for (size_t i = 0; i < n; i += 16) {
        memcpy(words, text + i, 16);
        wide |= (words[0] & words[0] << 1 & words[0] << 2) | (words[1] & words[1] << 1 & words[1] << 2);
    }
    return wide & 0x8080808080808080u;
}

#define KEY_ROW(n)                                                                                     \
    {                                                                                                  \
        (n) >= 8 ? UINT64_MAX : ((uint64_t)1 << (8 * ((n) % 8))) - 1,                                  \
            (n) >= 8 ? ((uint64_t)1 << (8 * ((n) % 8))) - 1 : 0, (uint64_t)(n) << 56                   \
    }

/* All of a block's pretokens: keys first and their entries prefetched, then ids.  The text has n bytes, of which 16
 * can be read at every pretoken unless it `is_end`; `may_be_wide` if it has characters of three bytes. */
BBPE_INLINE uint32_t *encode_block(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                   size_t start, const size_t *ends, size_t count, uint32_t *ids, bool may_be_wide,
                                   bool is_end) {
    static const uint64_t rows[16][3] = {
        KEY_ROW(0), KEY_ROW(1), KEY_ROW(2),  KEY_ROW(3),  KEY_ROW(4),  KEY_ROW(5),  KEY_ROW(6),  KEY_ROW(7),
        KEY_ROW(8), KEY_ROW(9), KEY_ROW(10), KEY_ROW(11), KEY_ROW(12), KEY_ROW(13), KEY_ROW(14), KEY_ROW(15)};
    const bbpe_hot_cache hot = state->hot;
    staged stage[BLOCK], *unit = stage;
    for (const size_t *end = ends; end < ends + count; start = *end++) {
        const size_t length = *end - start;
        uint64_t lo, hi;
        if (is_end && start + 16 > n) {
            uint64_t words[2] = {0, 0};
            memcpy(words, text + start, n - start);
            lo = words[0];
            hi = words[1];
        } else {
            memcpy(&lo, text + start, 8);
            memcpy(&hi, text + start + 8, 8);
        }
        if (BBPE_LIKELY(length <= BBPE_CACHE_SHORT)) {
            lo &= rows[length][0];
            hi &= rows[length][1];
        }
        if (may_be_wide && has_wide(lo, hi)) {
            ids = emit(self, state, text, stage, (size_t)(unit - stage), ids);
            unit = stage;
            ids = bbpe_encode_pretoken(self, state, text + start, length, ids);
        } else if (BBPE_LIKELY(length <= BBPE_CACHE_SHORT)) {
            unit->key.lo = lo;
            unit->key.hi = hi |= rows[length][2];
            unit->bucket = bbpe_hot_cache_bucket(&hot, bbpe_cache_hash((bbpe_cache_key){lo, hi}));
            BBPE_PREFETCH(unit->bucket);
            unit++;
        } else {
            unit->key.lo = start;
            unit->key.hi = STAGED_LONG | length;
            unit->bucket = hot.entries;
            unit++;
        }
    }
    return emit(self, state, text, stage, (size_t)(unit - stage), ids);
}

static uint32_t *encode_pretokens(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                  size_t start, const size_t *ends, size_t count, uint32_t *ids) {
    const size_t end = count ? ends[count - 1] : start;
    if (end + 16 > n) return encode_block(self, state, text, n, start, ends, count, ids, true, true);
    if (has_wide_text(text + start, end - start))
        return encode_block(self, state, text, n, start, ends, count, ids, true, false);
    return encode_block(self, state, text, n, start, ends, count, ids, false, false);
}

bbpe_status bbpe_encode_utf8(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                             uint32_t *ids, size_t *count) {
    size_t ends[BLOCK], start = 0;
    uint32_t *out = ids;
    state->seen += n;
    while (start < n && state->status == BBPE_OK) {
        const size_t found = self->fill(&self->scheme, text, start, n, ends, BLOCK);
        out = encode_pretokens(self, state, text, n, start, ends, found, out);
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
        out = encode_pretokens(self, state, text, n, begin, ends, found, out);
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
