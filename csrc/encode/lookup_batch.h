/* Units on their way: keys and their entries' addresses first, then the entries, then the ids, a block at a time.
 *
 * While a key is made the memory of its entry is asked for; a block later it is there.  What is not at home is found, or
 * merged, or waits to be merged (pending.c), and enters the cache at once: an entry is compared when it is read, so
 * it may have moved.
 *
 * Two loops, one that fills the stage and one that empties it: one unit at a time (lookup_batch.c), or four or eight
 * keys at once (lookup_batch_avx2.c, lookup_batch_avx512.c). */
#ifndef BBPE_ENCODE_LOOKUP_BATCH_H
#define BBPE_ENCODE_LOOKUP_BATCH_H

#include "encode/encode.h"

/* The home of what is not short: no key equals its. */
extern BBPE_HIDDEN const bbpe_cache_entry bbpe_stage_nowhere;

/* Put a block's units on the stage.  Of the text 16 bytes can be read at each of them; their ends may bear BBPE_CUT_PART if
 * `has_parts`. */
typedef void (*bbpe_stage_fill)(bbpe_stage *self, const bbpe_hot_cache *hot, const bbpe_pretokens *block, bool has_parts);

/* Write the ids of the first units on the stage, and return the place behind them. */
typedef uint32_t *(*bbpe_stage_emit)(const bbpe_stage *self, size_t count, const bbpe_encoder *encoder,
                                     bbpe_encode_state *state, const uint8_t *text, uint32_t *ids);

struct bbpe_stage_loops {
    bbpe_stage_fill fill;
    bbpe_stage_emit emit;
};

/* Those that this processor runs, and those that every one does. */
const struct bbpe_stage_loops *bbpe_stage_select(void);
extern const struct bbpe_stage_loops bbpe_stage_scalar, bbpe_stage_avx2, bbpe_stage_avx512;
/* The second loop of the last two. */
uint32_t *bbpe_stage_emit_avx2(const bbpe_stage *self, size_t count, const bbpe_encoder *encoder, bbpe_encode_state *state,
                               const uint8_t *text, uint32_t *ids);

/* Write the ids of unit i of the stage, which do not stand at its home as they are (unit.c). */
uint32_t *bbpe_encode_staged(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_stage *stage, size_t i,
                             const uint8_t *text, uint32_t *ids);

/* What tells a part from a pretoken, as it stands in an end, in a key. */
#define BBPE_STAGE_FLAG(end) (((uint64_t)(end) & BBPE_CUT_PART) << (64 - 8 * sizeof(size_t)))

BBPE_INLINE void bbpe_stage_put_short(bbpe_stage *self, size_t i, const bbpe_hot_cache *hot, const uint8_t *bytes, size_t n,
                                      uint64_t flag) {
    const bbpe_cache_row *row = bbpe_cache_rows + n;
    bbpe_cache_words key, kept, salt;
    memcpy(&key, bytes, 16);
    memcpy(&kept, __builtin_assume_aligned(&row->kept, 16), 16);
    memcpy(&salt, __builtin_assume_aligned(&row->salt, 16), 16);
    key = (key & kept) ^ salt ^ (bbpe_cache_words){0, flag};
    memcpy(self->keys + i, &key, 16);
    self->homes[i] = bbpe_hot_cache_home(hot, bbpe_hash_salted(key[0], key[1]));
    BBPE_PREFETCH(self->homes[i]);
}

BBPE_INLINE void bbpe_stage_put_long(bbpe_stage *self, size_t i, const bbpe_hot_cache *hot, const uint8_t *text, size_t start,
                                     size_t n, uint64_t flag) {
    bbpe_cache_key place = {(uint64_t)start << 6 | 63, n};
    if (n <= BBPE_CACHE_LONG) {
        const bbpe_cache_long_key key = bbpe_cache_long_key_of(text + start, n, 0);
        place = (bbpe_cache_key){(uint64_t)start << 6 | n, bbpe_cache_long_hash(&key)};
        bbpe_hot_cache_prefetch_long(hot, place.hi);
    }
    place.lo |= flag;
    self->keys[i] = place;
    self->homes[i] = &bbpe_stage_nowhere;
}

/* Put units [from, to) of a block on their places. */
BBPE_INLINE void bbpe_stage_put(bbpe_stage *self, const bbpe_hot_cache *cache, const bbpe_pretokens *block, size_t from,
                                size_t to, bool has_parts) {
    const bbpe_hot_cache hot = *cache; /* in registers, as what is written to the stage might be any of it */
    const uint8_t *const text = block->text;
    const size_t *const ends = block->ends, bits = has_parts ? ~BBPE_CUT_PART : SIZE_MAX;
    size_t start = from > 0 ? ends[from - 1] : block->start;
#pragma GCC unroll 2
    for (size_t i = from; i < to; start = ends[i++]) {
        const size_t length = (ends[i] - start) & bits;
        const uint64_t flag = has_parts ? BBPE_STAGE_FLAG(ends[i] | start) : 0;
        if (BBPE_LIKELY(length <= BBPE_CACHE_SHORT))
            bbpe_stage_put_short(self, i, &hot, text + (start & bits), length, flag);
        else
            bbpe_stage_put_long(self, i, &hot, text, start & bits, length, flag);
    }
}

#endif
