/* Units on their way: keys and their entries' addresses first, then the entries, then the ids, a block at a time.
 *
 * While a key is made the memory of its entry is asked for; a block later it is there.  What is not at home is found, or
 * merged, or waits to be merged (encode_pending.c), and enters the cache at once: an entry is compared when it is read, so
 * it may have moved. */
#ifndef BBPE_ENCODE_STAGE_H
#define BBPE_ENCODE_STAGE_H

#include "encode.h"

enum { BBPE_STAGE = 256 }; /* units: all of it stays in the L1 cache; 8 MB of English 11.2 ms, with 128 of them 12.0 */

/* A unit, and where its entry may be; or one of more than 15 bytes: its place in the text << 6 | its length, with the flag of
 * a part, and its hash as a pretoken; of one of more than 47 bytes 63, and its length. */
typedef struct {
    _Alignas(32) bbpe_cache_key key;
    const bbpe_cache_entry *home;
} bbpe_stage_unit;

/* The home of what is not short: no key equals its. */
extern BBPE_HIDDEN const bbpe_cache_entry bbpe_stage_nowhere;

/* Put a short unit on its place of the stage, of which 16 bytes may be read. */
BBPE_INLINE void bbpe_stage_put(bbpe_stage_unit *unit, const bbpe_hot_cache *hot, const uint8_t *bytes, size_t n,
                                uint64_t flag) {
    const bbpe_cache_row *row = bbpe_cache_rows + n;
    bbpe_cache_words key, kept, salt;
    memcpy(&key, bytes, 16);
    memcpy(&kept, __builtin_assume_aligned(&row->kept, 16), 16);
    memcpy(&salt, __builtin_assume_aligned(&row->salt, 16), 16);
    key = (key & kept) ^ salt ^ (bbpe_cache_words){0, flag};
    memcpy(&unit->key, &key, 16);
    unit->home = bbpe_hot_cache_home(hot, bbpe_hash_salted(key[0], key[1]));
    BBPE_PREFETCH(unit->home);
}

/* Put a unit of more than 15 bytes on the stage, which begins at `start`. */
BBPE_INLINE void bbpe_stage_put_long(bbpe_stage_unit *unit, const bbpe_hot_cache *hot, const uint8_t *text, size_t start,
                                     size_t n, uint64_t flag) {
    bbpe_cache_key place = {(uint64_t)start << 6 | 63, n};
    if (n <= BBPE_CACHE_LONG) {
        const bbpe_cache_long_key key = bbpe_cache_long_key_of(text + start, n, 0);
        place = (bbpe_cache_key){(uint64_t)start << 6 | n, bbpe_cache_long_hash(&key)};
        bbpe_hot_cache_prefetch_long(hot, place.hi);
    }
    place.lo |= flag;
    *unit = (bbpe_stage_unit){place, &bbpe_stage_nowhere};
}

/* Write the ids of units on the stage, those before `last`, and return the place behind them (encode_unit.c). */
uint32_t *bbpe_stage_emit(const bbpe_stage_unit *units, const bbpe_stage_unit *last, const bbpe_encoder *encoder,
                          bbpe_encode_state *state, const uint8_t *text, uint32_t *ids);

#endif
