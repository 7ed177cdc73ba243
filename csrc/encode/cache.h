/* What units of text encode to, remembered: a hot part for one thread, and one that a tokenizer's threads share.
 *
 * Keys are exact: the unit's bytes and its length, so a hit is never a guess.  Tables do not grow while they are used; a
 * new entry replaces an old one.
 *
 *   hot     32-byte entries of units up to 15 bytes and 6 ids, or two in a cache line for more; 128-byte slots of units
 *           up to 47 bytes and 18 ids, or two of them for more
 *   shared  the same slots, each under a sequence word: a reader that meets a writer sees nothing
 *
 * What is evicted from a hot part's slots is still found in the shared one, and threads learn from each other. */
#ifndef BBPE_ENCODE_CACHE_H
#define BBPE_ENCODE_CACHE_H

#include "base/atomic.h"
#include "base/hash.h"

enum {
    BBPE_CACHE_SHORT = 15,     /* bytes of a unit in an entry */
    BBPE_CACHE_LONG = 47,      /* bytes of a unit in a slot */
    BBPE_CACHE_FEW_IDS = 4,    /* ids that stand in an entry as they are, below 2^28 */
    BBPE_CACHE_SHORT_IDS = 6,  /* ids in an entry, below 2^20 */
    BBPE_CACHE_LONG_IDS = 18,  /* ids in a slot */
    BBPE_CACHE_PAIR_IDS = 48,  /* ids in two slots, the second of which has ids where the unit would be */
    BBPE_CACHE_PACKED = 8,     /* beside the number of ids, 5 or 6, of an entry that has them packed */
    BBPE_CACHE_MANY = 15,      /* in place of the number in an entry whose ids are in a slot, the first id their number, */
    BBPE_CACHE_BOTH = 12,      /* or whose first six are in it and others in its neighbour */
    BBPE_CACHE_PENDING = 11,   /* or not yet known */
    BBPE_CACHE_WAYS = 8,       /* entries of a group, those whose numbers differ in the last three bits */
    BBPE_CACHE_REST = 1,       /* in place of a slot's counts: it has the last ids of the other one */
    BBPE_CACHE_PART = 0x80,    /* beside the length: a part between cut points, not a whole pretoken */
};

#define BBPE_CACHE_ID_BITS 28
#define BBPE_CACHE_ID_MASK (((uint32_t)1 << BBPE_CACHE_ID_BITS) - 1)
#define BBPE_CACHE_PACKED_BITS 20

/* Up to 15 bytes, zero-padded, and their number in the top byte, with the salt of their hash in it: never zero, as no
 * length is the salt's top byte. */
typedef struct {
    uint64_t lo, hi;
} bbpe_cache_key;

typedef struct {
    _Alignas(32) bbpe_cache_key key; /* zero: empty */
    uint32_t ids[4];                 /* their number is the four highest bits, of which the first says that they are not
                                      * here as they are */
} bbpe_cache_entry;

/* A unit of 16 to 47 bytes as its first, middle and last 16, which overlap and miss none; or a short key and zeros. */
typedef struct {
    uint64_t words[6];
    uint32_t length; /* with BBPE_CACHE_PART */
} bbpe_cache_long_key;

typedef struct {
    uint64_t words[6];
    uint32_t sequence; /* odd while a thread writes; unused in a hot part */
    uint32_t counts;   /* length << 8 | number of ids; 0: empty */
    uint32_t ids[BBPE_CACHE_LONG_IDS];
} bbpe_cache_slot;

/* How units of one length become keys: the bits of a text that count, and what these are changed by. */
typedef struct {
    _Alignas(32) bbpe_cache_key kept;
    bbpe_cache_key salt;
} bbpe_cache_row;

extern BBPE_HIDDEN const bbpe_cache_row bbpe_cache_rows[BBPE_CACHE_SHORT + 1]; /* by length */

/* Zeroed tables of powers of two.  Units of all lengths lie anywhere: with a part of the table for each length, so that the
 * shortest lie close together, Chinese finds four times as many of them away from home and takes 32.5 instead of 30.3 ms. */
typedef struct {
    bbpe_cache_entry *entries;
    size_t entry_mask; /* of a hash: a distance in bytes */
    size_t entry_count;
    bbpe_cache_slot *slots;
    size_t slot_mask;
    size_t slots_taken; /* since there are so many; one that is taken again counts again */
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

/* A short unit as it stood in the text. */
typedef struct {
    uint8_t bytes[16];
    size_t n;
    bool is_part;
} bbpe_cache_unit;

/* Take so many bytes if they are there. */
bool bbpe_cache_budget_take(bbpe_cache_budget *self, uint64_t bytes);
void bbpe_cache_budget_give(bbpe_cache_budget *self, uint64_t bytes);

/* Over tables of the caller's, zeroed, of powers of two. */
void bbpe_hot_cache_use(bbpe_hot_cache *self, bbpe_cache_entry *entries, size_t entry_count, bbpe_cache_slot *slots,
                        size_t slot_count);
/* Tables for so many entries and slots, powers of two; fields stay as they are without memory. */
bbpe_status bbpe_hot_cache_init(bbpe_hot_cache *self, size_t entries, size_t slots);
void bbpe_hot_cache_free(bbpe_hot_cache *self);
/* Put what another one remembers into this one. */
void bbpe_hot_cache_take(bbpe_hot_cache *self, const bbpe_hot_cache *from);
/* Go over to so many slots with what the present ones have, while entries stay where they are; false without memory, and
 * nothing changes. */
bool bbpe_hot_cache_grow_slots(bbpe_hot_cache *self, size_t slots);
size_t bbpe_hot_cache_bytes(size_t entries, size_t slots);
/* With one owner; NULL without memory. */
bbpe_shared_cache *bbpe_shared_cache_new(size_t slots);
void bbpe_shared_cache_hold(bbpe_shared_cache *self);
/* The last owner frees it; true then. */
bool bbpe_shared_cache_drop(bbpe_shared_cache *self);
size_t bbpe_shared_cache_bytes(size_t slots);

BBPE_INLINE uint64_t bbpe_cache_hash(bbpe_cache_key key) {
    return bbpe_hash_salted(key.lo, key.hi);
}

/* The bytes of a key's unit; 0 of a pretoken of no bytes, which no table has. */
BBPE_INLINE size_t bbpe_cache_key_length(bbpe_cache_key key) {
    return (size_t)((key.hi ^ BBPE_HASH_SALT_HI) >> 56) & ~(size_t)BBPE_CACHE_PART;
}

/* A key's unit, and the key of a unit of 1 to 15 bytes. */
BBPE_INLINE bbpe_cache_unit bbpe_cache_unit_of(bbpe_cache_key key) {
    bbpe_cache_unit unit;
    key.lo ^= BBPE_HASH_SALT_LO;
    key.hi ^= BBPE_HASH_SALT_HI;
    memcpy(unit.bytes, &key.lo, 8);
    memcpy(unit.bytes + 8, &key.hi, 8);
    unit.n = unit.bytes[15] & ~(unsigned)BBPE_CACHE_PART;
    unit.is_part = unit.bytes[15] & BBPE_CACHE_PART;
    return unit;
}

BBPE_INLINE bbpe_cache_key bbpe_cache_key_of(const uint8_t *bytes, size_t n, uint64_t flag) {
    bbpe_cache_key key = {0, 0};
    memcpy(&key, bytes, n);
    key.lo ^= BBPE_HASH_SALT_LO;
    key.hi ^= BBPE_HASH_SALT_HI ^ ((uint64_t)n | flag) << 56;
    return key;
}

BBPE_INLINE uint64_t bbpe_cache_long_hash(const bbpe_cache_long_key *key) {
    const uint64_t *w = key->words;
    const uint64_t h = bbpe_hash_two(bbpe_hash_two(w[0], w[1]) ^ w[2], w[3] ^ key->length);
    return bbpe_hash_two(h ^ w[4], w[5]);
}

/* The key of a unit of 16 to 47 bytes; `flag` is 0 or BBPE_CACHE_PART. */
BBPE_INLINE bbpe_cache_long_key bbpe_cache_long_key_of(const uint8_t *bytes, size_t n, unsigned flag) {
    bbpe_cache_long_key key;
    memcpy(key.words, bytes, 16);
    memcpy(key.words + 2, bytes + (n - 16) / 2, 16);
    memcpy(key.words + 4, bytes + n - 16, 16);
    key.length = (uint32_t)n | flag;
    return key;
}

BBPE_INLINE bbpe_cache_long_key bbpe_cache_widened(bbpe_cache_key key) {
    return (bbpe_cache_long_key){{key.lo, key.hi, 0, 0, 0, 0}, (uint32_t)((key.hi ^ BBPE_HASH_SALT_HI) >> 56)};
}

/* Two words that are handled as one. */
typedef uint64_t bbpe_cache_words __attribute__((vector_size(16)));

/* The number of ids of an entry, with BBPE_CACHE_PACKED, or what stands in place of it. */
BBPE_INLINE unsigned bbpe_cache_count(const bbpe_cache_entry *entry) {
    return entry->ids[3] >> BBPE_CACHE_ID_BITS;
}

/* Write the ids of an entry that has at most four, all four whatever their number; returns how many. */
BBPE_INLINE size_t bbpe_cache_put(const bbpe_cache_entry *entry, uint32_t *ids) {
    const bbpe_cache_words counted = {UINT64_MAX, ((uint64_t)BBPE_CACHE_ID_MASK << 32) | UINT32_MAX};
    const size_t count = bbpe_cache_count(entry); /* read before anything is written */
    bbpe_cache_words stored;
    memcpy(&stored, __builtin_assume_aligned(entry->ids, 16), sizeof stored);
    stored &= counted;
    memcpy(ids, &stored, sizeof stored);
    return count;
}

/* Whether an entry's ids stand in it as they are. */
BBPE_INLINE bool bbpe_cache_is_few(const bbpe_cache_entry *entry) {
    return entry->ids[3] >> 31 == 0;
}

/* Whether it has 5 or 6 ids, packed. */
BBPE_INLINE bool bbpe_cache_is_packed(const bbpe_cache_entry *entry) {
    const uint32_t five = (uint32_t)(BBPE_CACHE_PACKED | 5) << BBPE_CACHE_ID_BITS;
    return entry->ids[3] - five < (uint32_t)2 << BBPE_CACHE_ID_BITS;
}

/* The entry where a short unit is looked for first. */
BBPE_INLINE bbpe_cache_entry *bbpe_hot_cache_home(const bbpe_hot_cache *self, uint64_t hash) {
    return (bbpe_cache_entry *)((char *)self->entries + (hash & self->entry_mask));
}

BBPE_INLINE bool bbpe_cache_entry_has(const bbpe_cache_entry *entry, bbpe_cache_key key) {
    return ((entry->key.lo ^ key.lo) | (entry->key.hi ^ key.hi)) == 0;
}

/* The entry of a short unit or the free one that it would get: in the group of its home, in one elsewhere when
 * others have that one, or NULL when they have both.  One group alone is full for one unit of twelve when its table is to
 * 70 %. */
BBPE_INLINE bbpe_cache_entry *bbpe_hot_cache_place(const bbpe_hot_cache *self, bbpe_cache_key key, uint64_t hash) {
    for (int group = 0; group < 2; group++, hash >>= 32) {
        const size_t at = (size_t)(bbpe_hot_cache_home(self, hash) - self->entries);
        for (size_t way = 0; way < BBPE_CACHE_WAYS; way++) {
            bbpe_cache_entry *entry = self->entries + (at ^ way);
            if (bbpe_cache_entry_has(entry, key) || entry->key.hi == 0) return entry;
        }
    }
    return NULL;
}

BBPE_INLINE bool bbpe_cache_slot_has(const bbpe_cache_slot *slot, const bbpe_cache_long_key *key) {
    uint64_t differ = (slot->counts >> 8) ^ key->length;
    for (int i = 0; i < 6; i++) differ |= slot->words[i] ^ key->words[i];
    return differ == 0;
}

_Static_assert((int)BBPE_CACHE_LONG <= (int)BBPE_CACHE_PAIR_IDS, "a unit has at most one id a byte");

/* The slot of a unit in the hot part, or NULL. */
BBPE_INLINE const bbpe_cache_slot *bbpe_hot_cache_find_long(const bbpe_hot_cache *self, const bbpe_cache_long_key *key,
                                                            uint64_t hash) {
    for (int pair = 0; pair < 2; pair++, hash >>= 32) {
        const bbpe_cache_slot *slot = self->slots + (hash & self->slot_mask);
        const bbpe_cache_slot *other = self->slots + ((hash & self->slot_mask) ^ 1);
        if (bbpe_cache_slot_has(slot, key)) return slot;
        if (slot->counts == 0) return NULL; /* no unit has had to go further; the neighbour would be waited for */
        if (bbpe_cache_slot_has(other, key)) return other;
        if (other->counts == 0) return NULL;
    }
    return NULL;
}

/* Write the ids of a slot that was found; returns how many. */
BBPE_INLINE size_t bbpe_hot_cache_put_long(const bbpe_hot_cache *self, const bbpe_cache_slot *slot, uint32_t *ids) {
    const size_t count = slot->counts & 0xFF, first = count <= BBPE_CACHE_LONG_IDS ? count : BBPE_CACHE_LONG_IDS;
    for (size_t i = 0; i < first; i++) ids[i] = slot->ids[i];
    if (BBPE_LIKELY(count == first)) return count;
    const bbpe_cache_slot *rest = self->slots + ((size_t)(slot - self->slots) ^ 1);
    const size_t more = count - first, words = sizeof rest->words / (sizeof *ids);
    memcpy(ids + first, rest->words, (more < words ? more : words) * sizeof *ids);
    if (more > words) memcpy(ids + first + words, rest->ids, (more - words) * sizeof *ids);
    return count;
}

/* Fetch what finding a unit of 16 to 47 bytes with this hash will look at. */
BBPE_INLINE void bbpe_hot_cache_prefetch_long(const bbpe_hot_cache *self, uint64_t hash) {
    const bbpe_cache_slot *slot = self->slots + (hash & self->slot_mask);
    BBPE_PREFETCH(slot);
    BBPE_PREFETCH(slot->ids + 2);
}

/* Write the 5 or 6 ids of an entry; returns how many. */
size_t bbpe_cache_put_packed(const bbpe_cache_entry *entry, uint32_t *ids);
/* Write the ids of an entry that has them together with its neighbour; returns how many, 0 when that one is lost. */
size_t bbpe_hot_cache_put_both(const bbpe_hot_cache *self, const bbpe_cache_entry *entry, uint32_t *ids);

/* An entry of a unit's ids; more than fit are only marked. */
bbpe_cache_entry bbpe_cache_entry_of(bbpe_cache_key key, const uint32_t *ids, size_t count);
/* Put an entry at its home, and what is there elsewhere.  Done for one of those found away now and then, it leaves at
 * home what is more frequent.  Two entries that belong together are not moved: they stay, or are forgotten at home. */
void bbpe_hot_cache_lead_home(bbpe_hot_cache *self, const bbpe_cache_entry *entry);
/* Mark the place of a short unit (bbpe_hot_cache_place; NULL takes another one's) whose ids are not yet known, which has a
 * number until then. */
bbpe_cache_entry *bbpe_hot_cache_mark(bbpe_hot_cache *self, bbpe_cache_entry *place, bbpe_cache_key key,
                                      uint32_t number);
/* Remember the ids of a unit that an entry was marked for, wherever the mark is by now. */
void bbpe_hot_cache_settle(bbpe_hot_cache *self, bbpe_cache_entry *marked, bbpe_cache_key key, const uint32_t *ids,
                           size_t count);
/* Remember the ids of a short unit among those of its home. */
void bbpe_hot_cache_add(bbpe_hot_cache *self, bbpe_cache_key key, const uint32_t *ids, size_t count);
/* At most BBPE_CACHE_PAIR_IDS. */
void bbpe_hot_cache_add_long(bbpe_hot_cache *self, const bbpe_cache_long_key *key, uint64_t hash,
                             const uint32_t *ids, size_t count);

/* Up to 18 ids of a unit; returns how many, 0 when it is not there. */
size_t bbpe_shared_cache_find(const bbpe_shared_cache *self, const bbpe_cache_long_key *key, uint64_t hash,
                              uint32_t *ids);
/* 1 to 18 ids of a unit; another thread that writes to the same place wins. */
void bbpe_shared_cache_add(bbpe_shared_cache *self, const bbpe_cache_long_key *key, uint64_t hash,
                           const uint32_t *ids, size_t count);

#endif
