/* What units of text encode to, remembered: a hot part for one thread, and one that a tokenizer's threads share.
 *
 * Keys are exact: the unit's bytes, zero-padded, and its length in the top byte, so a hit is never a guess.  Sizes are
 * fixed; a new entry replaces an old one.  Ids are below 2^28: the four bits above the first say how many there are.
 *
 *   hot     32-byte entries of units up to 15 bytes and 4 ids; 64-byte slots of units up to 31 bytes and 7 ids
 *   shared  the same 64-byte slots for both, each under a sequence word: a reader that meets a writer sees nothing
 *
 * What is evicted from a hot part is still found in the shared one, and threads learn from each other. */
#ifndef BBPE_CACHE_H
#define BBPE_CACHE_H

#include "atomic.h"
#include "hash.h"

enum {
    BBPE_CACHE_SHORT = 15, /* bytes of a unit in an entry */
    BBPE_CACHE_LONG = 31,  /* bytes of a unit in a slot */
    BBPE_CACHE_SHORT_IDS = 4,
    BBPE_CACHE_LONG_IDS = 7,
    BBPE_CACHE_PART = 0x80, /* beside the length: a part between cut points, not a whole pretoken */
};

#define BBPE_CACHE_ID_BITS 28
#define BBPE_CACHE_ID_MASK (((uint32_t)1 << BBPE_CACHE_ID_BITS) - 1)
/* The first stored id from here on means: more ids than an entry holds, found in a slot. */
#define BBPE_CACHE_MANY ((uint32_t)15 << BBPE_CACHE_ID_BITS)

typedef struct {
    uint64_t lo, hi;
} bbpe_cache_key;

typedef struct {
    bbpe_cache_key key; /* zero: empty */
    uint32_t ids[BBPE_CACHE_SHORT_IDS];
} bbpe_cache_entry;

typedef struct {
    uint64_t words[4];
} bbpe_cache_long_key;

typedef struct {
    uint32_t sequence; /* odd while a thread writes; unused in a hot part */
    uint32_t ids[BBPE_CACHE_LONG_IDS];
    bbpe_cache_long_key key;
} bbpe_cache_slot;

/* Zeroed tables of powers of two. */
typedef struct {
    bbpe_cache_entry *entries;
    size_t mask;
    bbpe_cache_slot *slots;
    size_t slot_mask;
} bbpe_hot_cache;

typedef struct {
    bbpe_cache_slot *slots;
    size_t mask;
    uint32_t owners;
} bbpe_shared_cache;

/* What all caches of a process may take together; the one thing that is not a tokenizer's own. */
typedef struct {
    uint64_t limit, used; /* bytes */
} bbpe_cache_budget;

/* Take so many bytes if they are there. */
bool bbpe_cache_budget_take(bbpe_cache_budget *self, uint64_t bytes);
void bbpe_cache_budget_give(bbpe_cache_budget *self, uint64_t bytes);

/* Tables for so many entries and slots, powers of two; fields stay as they are without memory. */
bbpe_status bbpe_hot_cache_init(bbpe_hot_cache *self, size_t entries, size_t slots);
void bbpe_hot_cache_free(bbpe_hot_cache *self);
size_t bbpe_hot_cache_bytes(size_t entries, size_t slots);
/* With one owner; NULL without memory. */
bbpe_shared_cache *bbpe_shared_cache_new(size_t slots);
void bbpe_shared_cache_hold(bbpe_shared_cache *self);
/* The last owner frees it; true then. */
bool bbpe_shared_cache_drop(bbpe_shared_cache *self);
size_t bbpe_shared_cache_bytes(size_t slots);

BBPE_INLINE uint64_t bbpe_cache_hash(bbpe_cache_key key) {
    return bbpe_hash_two(key.lo, key.hi);
}

BBPE_INLINE uint64_t bbpe_cache_long_hash(const bbpe_cache_long_key *key) {
    return bbpe_hash_two(bbpe_hash_two(key->words[0], key->words[1]) ^ key->words[2], key->words[3]);
}

BBPE_INLINE bool bbpe_cache_same(const bbpe_cache_long_key *a, const bbpe_cache_long_key *b) {
    return !((a->words[0] ^ b->words[0]) | (a->words[1] ^ b->words[1]) | (a->words[2] ^ b->words[2])
             | (a->words[3] ^ b->words[3]));
}

/* The key of a unit of at most 31 bytes; `flag` is 0 or BBPE_CACHE_PART. */
BBPE_INLINE bbpe_cache_long_key bbpe_cache_long_key_of(const uint8_t *bytes, size_t n, unsigned flag) {
    bbpe_cache_long_key key = {{0, 0, 0, 0}};
    memcpy(key.words, bytes, n);
    key.words[3] |= (uint64_t)(n | flag) << 56;
    return key;
}

/* The key of a short unit among long ones, where the length of a long one stands. */
BBPE_INLINE bbpe_cache_long_key bbpe_cache_widened(bbpe_cache_key key) {
    return (bbpe_cache_long_key){{key.lo, key.hi, 0, 0}};
}

/* Write ids that are stored with their number; returns how many.  Writes all four, whatever their number. */
BBPE_INLINE size_t bbpe_cache_put(const uint32_t *stored, uint32_t *ids) {
    uint64_t first, second;
    memcpy(&first, stored, 8);
    memcpy(&second, stored + 2, 8);
    const size_t count = (uint32_t)first >> BBPE_CACHE_ID_BITS;
    first &= 0xFFFFFFFF00000000u | BBPE_CACHE_ID_MASK;
    memcpy(ids, &first, 8);
    memcpy(ids + 2, &second, 8);
    return count;
}

BBPE_INLINE void bbpe_cache_pack(const uint32_t *ids, size_t count, uint32_t *stored) {
    for (size_t i = 0; i < count; i++) stored[i] = ids[i];
    stored[0] |= (uint32_t)count << BBPE_CACHE_ID_BITS;
}

/* The two entries that a short unit may be in, in one cache line. */
BBPE_INLINE bbpe_cache_entry *bbpe_hot_cache_bucket(const bbpe_hot_cache *self, uint64_t hash) {
    return self->entries + (hash & self->mask & ~(uint64_t)1);
}

/* The bucket that takes what does not fit into this one. */
BBPE_INLINE bbpe_cache_entry *bbpe_hot_cache_next(const bbpe_hot_cache *self, const bbpe_cache_entry *bucket) {
    return self->entries + (((size_t)(bucket - self->entries)) ^ 2);
}

/* The entry of a bucket that has the key, or NULL; no branch chooses between the two. */
BBPE_INLINE const bbpe_cache_entry *bbpe_hot_cache_find(const bbpe_cache_entry *bucket, uint64_t lo, uint64_t hi) {
    const uint64_t first = (bucket[0].key.lo ^ lo) | (bucket[0].key.hi ^ hi);
    const uint64_t second = (bucket[1].key.lo ^ lo) | (bucket[1].key.hi ^ hi);
    const bbpe_cache_entry *entry = bucket + (first != 0);
    return BBPE_LIKELY(first == 0 || second == 0) ? entry : NULL;
}

/* The ids of a long unit, not unpacked, or NULL. */
BBPE_INLINE const uint32_t *bbpe_hot_cache_find_long(const bbpe_hot_cache *self, const bbpe_cache_long_key *key,
                                                uint64_t hash) {
    const size_t at = hash & self->slot_mask;
    if (bbpe_cache_same(&self->slots[at].key, key)) return self->slots[at].ids;
    if (bbpe_cache_same(&self->slots[at ^ 1].key, key)) return self->slots[at ^ 1].ids;
    return NULL;
}

/* Put a new unit in its bucket.  More than four ids are only marked. */
void bbpe_hot_cache_add(bbpe_hot_cache *self, bbpe_cache_key key, uint64_t hash, const uint32_t *ids, size_t count);
void bbpe_hot_cache_add_long(bbpe_hot_cache *self, const bbpe_cache_long_key *key, uint64_t hash,
                             const uint32_t *ids, size_t count);

/* Up to seven ids of a unit; returns how many, 0 when it is not there. */
size_t bbpe_shared_cache_find(const bbpe_shared_cache *self, const bbpe_cache_long_key *key, uint64_t hash,
                              uint32_t *ids);
/* 1 to 7 ids of a unit; another thread that writes to the same place wins. */
void bbpe_shared_cache_add(bbpe_shared_cache *self, const bbpe_cache_long_key *key, uint64_t hash,
                           const uint32_t *ids, size_t count);

#endif
