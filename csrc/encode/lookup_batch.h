/* The pieces of a block on their way to ids: a software pipeline, so that no step waits for memory.
 *
 *     time ->            piece 0    4    8   12   ...   764 | 0    4    8   ...
 *     key and slot            k    k    k    k           k  |
 *     ask for memory               p    p    p           p  |              (one step later: its address is stored by then)
 *     read entry, ids                                       | e    e    e
 *
 *     k  fill: the key of a piece, and the address of its primary slot, for 1, 4 or 8 pieces a step
 *     p  fill: the cache line of that slot is prefetched; it arrives while hundreds of other keys are made
 *     e  emit: the entry is compared with the key, and its ids are written
 *
 * A piece that is not in its primary slot goes to miss.c at once, and may enter the cache: an entry is compared when it is
 * read, so it may have moved since.
 *
 * One piece a step is lookup_batch.c, four lookup_batch_words.h, eight lookup_batch_avx512.c. */
#ifndef BBPE_ENCODE_LOOKUP_BATCH_H
#define BBPE_ENCODE_LOOKUP_BATCH_H

#include "encode/internal.h"

/* The primary slot of what is not short: no key equals its. */
extern BBPE_HIDDEN const bbpe_cache_entry bbpe_lookup_batch_long;

/* Put the pieces of a block into the batch.  Of the text 16 bytes can be read at each of them; their ends may have
 * BBPE_CUT_PART if `has_parts`. */
typedef void (*bbpe_lookup_batch_fill)(bbpe_lookup_batch *self, const bbpe_hot_cache *hot, const bbpe_pretokens *block,
                                       bool has_parts);

/* Write the ids of the first pieces, and return the end of the ids. */
typedef uint32_t *(*bbpe_lookup_batch_emit)(const bbpe_lookup_batch *self, size_t count, const bbpe_encoder *encoder,
                                            bbpe_encode_state *state, const uint8_t *text, uint32_t *ids);

struct bbpe_lookup_batch_loops {
    bbpe_lookup_batch_fill fill;
    bbpe_lookup_batch_emit emit;
};

/* The loops that this processor runs, and those to choose from. */
const struct bbpe_lookup_batch_loops *bbpe_lookup_batch_select(void);
extern const struct bbpe_lookup_batch_loops bbpe_lookup_batch_scalar, bbpe_lookup_batch_avx2, bbpe_lookup_batch_avx512,
    bbpe_lookup_batch_neon;
/* The second loop of AVX2 and AVX-512. */
uint32_t *bbpe_lookup_batch_emit_avx2(const bbpe_lookup_batch *self, size_t count, const bbpe_encoder *encoder,
                                      bbpe_encode_state *state, const uint8_t *text, uint32_t *ids);

/* The flag of a part in an end, where a key has it. */
#define BBPE_LOOKUP_BATCH_FLAG(end) (((uint64_t)(end) & BBPE_CUT_PART) << (64 - 8 * sizeof(size_t)))

BBPE_INLINE void bbpe_lookup_batch_put_short(bbpe_lookup_batch *self, size_t i, const bbpe_hot_cache *hot,
                                             const uint8_t *bytes, size_t n, uint64_t flag) {
    const bbpe_short_key_row *row = bbpe_short_key_rows + n;
    bbpe_cache_words key, kept, salt;
    memcpy(&key, bytes, 16);
    memcpy(&kept, BBPE_ALIGNED(&row->kept, 16), 16);
    memcpy(&salt, BBPE_ALIGNED(&row->salt, 16), 16);
    key = (key & kept) ^ salt ^ (bbpe_cache_words){0, flag};
    memcpy(self->keys + i, &key, 16);
    self->primary[i] = bbpe_hot_cache_primary(hot, bbpe_hash_salted(key[0], key[1]));
    BBPE_PREFETCH(self->primary[i]);
}

BBPE_INLINE void bbpe_lookup_batch_put_long(bbpe_lookup_batch *self, size_t i, const bbpe_hot_cache *hot,
                                            const uint8_t *text, size_t start, size_t n, uint64_t flag) {
    bbpe_cache_key key = {(uint64_t)start << 6 | 63, n};
    if (n <= BBPE_CACHE_LONG) {
        const bbpe_cache_long_key long_key = bbpe_cache_long_key_of(text + start, n, 0);
        key = (bbpe_cache_key){(uint64_t)start << 6 | n, bbpe_cache_long_hash(&long_key)};
        bbpe_hot_cache_prefetch_long(hot, key.hi);
    } else if (n <= BBPE_LONG_PIECE) {
        self->longer[self->longer_count++] = (uint16_t)i;
    }
    key.lo |= flag;
    self->keys[i] = key;
    self->primary[i] = &bbpe_lookup_batch_long;
}

/* Put pieces [from, to) of a block into the batch, one a step. */
BBPE_INLINE void bbpe_lookup_batch_put(bbpe_lookup_batch *self, const bbpe_hot_cache *cache, const bbpe_pretokens *block,
                                       size_t from, size_t to, bool has_parts) {
    const bbpe_hot_cache hot = *cache; /* in registers, as what is written to the batch might be any of it */
    const uint8_t *const text = block->text;
    const size_t *const ends = block->ends, bits = has_parts ? ~BBPE_CUT_PART : SIZE_MAX;
    size_t start = from > 0 ? ends[from - 1] : block->start;
#pragma GCC unroll 2
    for (size_t i = from; i < to; start = ends[i++]) {
        const size_t length = (ends[i] - start) & bits;
        const uint64_t flag = has_parts ? BBPE_LOOKUP_BATCH_FLAG(ends[i] | start) : 0;
        BBPE_ASSERT((start & bits) + 16 <= block->n && (start & bits) + length <= block->n);
        if (BBPE_LIKELY(length <= BBPE_CACHE_SHORT))
            bbpe_lookup_batch_put_short(self, i, &hot, text + (start & bits), length, flag);
        else
            bbpe_lookup_batch_put_long(self, i, &hot, text, start & bits, length, flag);
    }
}

#endif
