/* Units on their way: keys and their entries' addresses first, then the entries, then the ids, a block at a time.
 *
 * While a key is made the memory of its entry is asked for; a block later it is there.  Units that are not at home are
 * listed without a branch and found or merged together, so that neither a wrong guess nor memory is waited for one by
 * one; what was merged enters the cache behind the block, for an entry that is still to be read must not move. */
#ifndef BBPE_ENCODE_STAGE_H
#define BBPE_ENCODE_STAGE_H

#include "encode.h"

enum { BBPE_STAGE = 128 }; /* units: all of it stays in the L1 cache; 512 lost 10 % on English */

/* Where a pretoken of more than 15 bytes stands in the text, and how many units are before it. */
typedef struct {
    size_t start, n, before;
} bbpe_stage_long;

typedef struct {
    size_t count, new_count, long_count;
    const bbpe_cache_entry *stray; /* one that was found away from home, or NULL */
    bbpe_cache_key keys[BBPE_STAGE];
    const bbpe_cache_entry *entries[BBPE_STAGE];
    uint8_t away[BBPE_STAGE + 1]; /* units that are not at home */
    bbpe_cache_entry news[BBPE_STAGE];
    bbpe_stage_long longs[BBPE_STAGE]; /* in their order */
} bbpe_stage;

BBPE_INLINE void bbpe_stage_clear(bbpe_stage *self) {
    self->count = self->long_count = 0;
}

/* Find the entries of the units in self->away, or make them; then put these into the cache (encode_unit.c). */
void bbpe_stage_find(bbpe_stage *self, const bbpe_encoder *encoder, bbpe_encode_state *state, size_t away);
void bbpe_stage_learn(bbpe_stage *self, bbpe_encode_state *state);

#define BBPE_STAGE_LOW(n) ((n) >= 8 ? UINT64_MAX : ((uint64_t)1 << (8 * ((n) % 8))) - 1)
#define BBPE_STAGE_HIGH(n) ((n) >= 8 ? ((uint64_t)1 << (8 * ((n) % 8))) - 1 : 0)
#define BBPE_STAGE_ROW(of) \
    {of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7), of(8), of(9), of(10), of(11), of(12), of(13), of(14), of(15)}

/* By length: which bytes of a key count. */
static const uint64_t bbpe_stage_low[16] = BBPE_STAGE_ROW(BBPE_STAGE_LOW);
static const uint64_t bbpe_stage_high[16] = BBPE_STAGE_ROW(BBPE_STAGE_HIGH);

/* Put a short unit on the stage, of which 16 bytes may be read; it counts if `counts`. */
BBPE_INLINE void bbpe_stage_put(bbpe_stage *self, const bbpe_hot_cache *hot, const uint8_t *bytes, size_t n,
                                uint64_t flag, bool counts) {
    bbpe_cache_key key;
    memcpy(&key.lo, bytes, 8);
    memcpy(&key.hi, bytes + 8, 8);
    key.lo &= bbpe_stage_low[n];
    key.hi = (key.hi & bbpe_stage_high[n]) | (uint64_t)n << 56 | flag;
    const bbpe_cache_entry *home = bbpe_hot_cache_home(hot, bbpe_cache_hash(key));
    self->keys[self->count].lo = key.lo;
    self->keys[self->count].hi = key.hi;
    self->entries[self->count] = home;
    BBPE_PREFETCH(home);
    self->count += counts;
}

/* Put a pretoken of more than 15 bytes on the stage, which begins at `start`. */
BBPE_INLINE void bbpe_stage_put_long(bbpe_stage *self, const bbpe_hot_cache *hot, const uint8_t *text, size_t start,
                                     size_t n) {
    if (n <= BBPE_CACHE_LONG) bbpe_hot_cache_prefetch_long(hot, text + start, n);
    self->longs[self->long_count++] = (bbpe_stage_long){start, n, self->count};
}

/* Write the ids of short units, then learn what was new. */
BBPE_INLINE uint32_t *bbpe_stage_emit_units(bbpe_stage *self, const bbpe_encoder *encoder, bbpe_encode_state *state,
                                            size_t from, size_t to, uint32_t *ids) {
    size_t away = 0;
#pragma GCC unroll 4
    for (size_t i = from; i < to; i++) {
        self->away[away] = (uint8_t)i;
        away += !bbpe_cache_entry_has(self->entries[i], self->keys[i]);
    }
    if (BBPE_UNLIKELY(away > 0)) bbpe_stage_find(self, encoder, state, away);
#pragma GCC unroll 4
    for (size_t i = from; i < to; i++) {
        const bbpe_cache_entry *entry = self->entries[i];
        if (BBPE_LIKELY(bbpe_cache_is_few(entry)))
            ids += bbpe_cache_put(entry->ids, ids);
        else
            ids = bbpe_encode_many(encoder, state, entry, ids);
    }
    if (BBPE_UNLIKELY(away > 0)) bbpe_stage_learn(self, state);
    return ids;
}

/* Write the ids of what is staged. */
BBPE_INLINE uint32_t *bbpe_stage_emit(bbpe_stage *self, const bbpe_encoder *encoder, bbpe_encode_state *state,
                                      const uint8_t *text, uint32_t *ids) {
    size_t from = 0;
    for (size_t k = 0;; k++) {
        const bbpe_stage_long *next = self->longs + k;
        const size_t to = k < self->long_count ? next->before : self->count;
        ids = bbpe_stage_emit_units(self, encoder, state, from, to, ids);
        if (k == self->long_count) break;
        ids = bbpe_encode_long(encoder, state, text + next->start, next->n, ids); /* may learn too: entries move */
        from = to;
    }
    bbpe_stage_clear(self);
    return ids;
}

#endif
