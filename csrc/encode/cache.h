/* The hot cache: the ids of pieces that a state has seen.
 *
 * Keys are exact: the piece's bytes and its length, so a hit is never a guess.  Tables do not grow while they are used; a
 * new entry replaces an old one.
 *
 *   entries  32 bytes: pieces up to 15 bytes and 7 ids, or two in a cache line for more; sets of 8 ways, two sets a key
 *   slots    128 bytes: pieces up to 32 bytes and 23 ids; pairs of slots, two pairs a key
 *
 * The primary slot of a key is the way of its first set that the lookup batch fetches and compares; elsewhere it is a
 * secondary hit, and some of these are promoted to their primary slot. */
#ifndef BBPE_ENCODE_CACHE_H
#define BBPE_ENCODE_CACHE_H

#include "base/hash.h"
#include "tables/short_key.h"

enum {
    BBPE_CACHE_SHORT = BBPE_SHORT_KEY,    /* bytes of a piece in an entry */
    BBPE_CACHE_LONG = 32,      /* bytes of a piece in a slot: more are in a ring (long_pieces.h), which takes less memory */
    BBPE_CACHE_LONG_IDS = 23,  /* ids in a slot */
    BBPE_CACHE_PLAIN = 3,      /* ids of an entry that are as they are; more are packed */
    BBPE_CACHE_MANY = 15,      /* in place of the number of ids of an entry: they are in a slot, */
    BBPE_CACHE_TWO = 12,       /* or the first are in the entry and the others in its neighbour, */
    BBPE_CACHE_RESERVED = 11,  /* or they are not yet known */
    BBPE_CACHE_WAYS = 8,       /* entries of a set: their numbers differ in the last three bits */
    BBPE_CACHE_PART = 0x80,    /* beside the length: a part between cut points, not a whole pretoken */
};

#define BBPE_CACHE_ID_BITS 28

/* For vectors that unpack ids: which bytes each one is in, the bit where it begins in the first of these, and its bits. */
typedef struct {
    _Alignas(32) uint8_t places[32];
    uint32_t shifts[8], masks[8];
} bbpe_cache_unpacking;

/* How entries have their ids: up to three as they are, or up to 7, 6 or 4 of 17, 20 or 28 bits each, one after another from the
 * lowest bit on. */
typedef struct {
    bbpe_cache_unpacking unpackings[2]; /* of ids as they are, and packed */
    uint32_t bits, mask; /* of packed ones, */
    size_t few;          /* and how many an entry has of these */
} bbpe_cache_layout;

/* A short key with the salt of its hash in it: never zero, as no length is the salt's top byte. */
typedef bbpe_short_key bbpe_cache_key;

typedef struct {
    _Alignas(32) bbpe_cache_key key; /* zero: empty */
    uint32_t ids[4];                 /* their number is the four highest bits, of which the first says that they are not
                                      * all here */
} bbpe_cache_entry;

/* A piece of 16 to 32 bytes as its first and last 16, which overlap and miss none; or a short key and zeros. */
typedef struct {
    uint64_t words[4];
    uint32_t length; /* with BBPE_CACHE_PART */
} bbpe_cache_long_key;

typedef struct {
    uint64_t words[4];
    uint32_t counts; /* length << 8 | number of ids; 0: empty */
    uint32_t ids[BBPE_CACHE_LONG_IDS];
} bbpe_cache_slot;

/* Zeroed tables of powers of two.  Pieces of all lengths are anywhere: with a part of the table for each length, so that the
 * shortest are close together, Chinese has four times as many secondary hits and takes 32.5 instead of 30.3 ms. */
typedef struct {
    const bbpe_cache_layout *layout;
    bbpe_cache_entry *entries;
    size_t entry_mask; /* of a hash: a distance in bytes */
    size_t entry_count;
    bbpe_cache_slot *slots;
    size_t slot_mask;
    size_t slots_taken; /* since there are so many; one that is taken again counts again */
} bbpe_hot_cache;

/* A short piece as it was in the text. */
typedef struct {
    uint8_t bytes[16];
    size_t n;
    bool is_part;
} bbpe_cache_piece;

/* The layout for ids below `id_count`.  A piece of more than three ids, one of which is larger, is kept in a slot. */
const bbpe_cache_layout *bbpe_cache_layout_for(size_t id_count);
/* Over tables of the caller's, zeroed, of powers of two. */
void bbpe_hot_cache_use(bbpe_hot_cache *self, bbpe_cache_entry *entries, size_t entry_count, bbpe_cache_slot *slots,
                        size_t slot_count);
/* Tables for so many entries and slots, powers of two; fields stay as they are without memory. */
bbpe_status bbpe_hot_cache_init(bbpe_hot_cache *self, const bbpe_cache_layout *layout, size_t entries, size_t slots);
void bbpe_hot_cache_free(bbpe_hot_cache *self);
/* Add all that another one of the same layout has. */
void bbpe_hot_cache_copy(bbpe_hot_cache *self, const bbpe_hot_cache *from);
/* Move to so many slots, with the contents of the present ones; entries stay where they are.  False without memory, and
 * nothing changes. */
bool bbpe_hot_cache_grow_slots(bbpe_hot_cache *self, size_t slots);

BBPE_INLINE uint64_t bbpe_cache_hash(bbpe_cache_key key) {
    return bbpe_hash_salted(key.lo, key.hi);
}

/* The bytes of a key's piece; 0 of a pretoken of no bytes, which no table has. */
BBPE_INLINE size_t bbpe_cache_key_length(bbpe_cache_key key) {
    return (size_t)((key.hi ^ BBPE_HASH_SALT_HI) >> 56) & ~(size_t)BBPE_CACHE_PART;
}

/* A key's piece, and the key of a piece of 1 to 15 bytes. */
BBPE_INLINE bbpe_cache_piece bbpe_cache_piece_of(bbpe_cache_key key) {
    bbpe_cache_piece piece;
    key.lo ^= BBPE_HASH_SALT_LO;
    key.hi ^= BBPE_HASH_SALT_HI;
    memcpy(piece.bytes, &key.lo, 8);
    memcpy(piece.bytes + 8, &key.hi, 8);
    piece.n = piece.bytes[15] & ~(unsigned)BBPE_CACHE_PART;
    piece.is_part = piece.bytes[15] & BBPE_CACHE_PART;
    return piece;
}

BBPE_INLINE bbpe_cache_key bbpe_cache_key_of(const uint8_t *bytes, size_t n, uint64_t flag) {
    bbpe_cache_key key = bbpe_short_key_of(bytes, n);
    key.lo ^= BBPE_HASH_SALT_LO;
    key.hi ^= BBPE_HASH_SALT_HI ^ flag << 56;
    return key;
}

BBPE_INLINE uint64_t bbpe_cache_long_hash(const bbpe_cache_long_key *key) {
    const uint64_t *w = key->words;
    return bbpe_hash_two(bbpe_hash_two(w[0], w[1]) ^ w[2], w[3] ^ key->length);
}

/* The key of a piece of 16 to 32 bytes; `flag` is 0 or BBPE_CACHE_PART. */
BBPE_INLINE bbpe_cache_long_key bbpe_cache_long_key_of(const uint8_t *bytes, size_t n, unsigned flag) {
    bbpe_cache_long_key key;
    BBPE_ASSERT(n >= 16 && n <= BBPE_CACHE_LONG);
    memcpy(key.words, bytes, 16);
    memcpy(key.words + 2, bytes + n - 16, 16);
    key.length = (uint32_t)n | flag;
    return key;
}

BBPE_INLINE bbpe_cache_long_key bbpe_cache_long_key_of_short(bbpe_cache_key key) {
    return (bbpe_cache_long_key){{key.lo, key.hi, 0, 0}, (uint32_t)((key.hi ^ BBPE_HASH_SALT_HI) >> 56)};
}

/* Two words that are handled as one. */
typedef uint64_t bbpe_cache_words __attribute__((vector_size(16)));

/* The number of ids of an entry, or what is in place of it. */
BBPE_INLINE unsigned bbpe_cache_count(const bbpe_cache_entry *entry) {
    return entry->ids[3] >> BBPE_CACHE_ID_BITS;
}

/* 28 bits or more of 16 bytes, from bit `at` on, in the lower bits of the result. */
BBPE_INLINE uint32_t bbpe_cache_bits(const uint64_t *words, unsigned at) {
    if (at >= 64) return (uint32_t)(words[1] >> (at - 64));
    return (uint32_t)(at > 32 ? words[0] >> at | words[1] << (64 - at) : words[0] >> at);
}

/* Write the first `count` ids that are packed in 16 bytes. */
BBPE_INLINE void bbpe_cache_unpack(const bbpe_cache_layout *layout, const void *packed, size_t count, uint32_t *ids) {
    uint64_t words[2];
    memcpy(words, packed, sizeof words);
    for (size_t i = 0; i < count; i++) ids[i] = bbpe_cache_bits(words, (unsigned)i * layout->bits) & layout->mask;
}

/* Write the ids of an entry that has them all; returns how many. */
BBPE_INLINE size_t bbpe_cache_copy_ids(const bbpe_cache_layout *layout, const bbpe_cache_entry *entry, uint32_t *ids) {
    const size_t count = bbpe_cache_count(entry);
    if (BBPE_LIKELY(count <= BBPE_CACHE_PLAIN)) memcpy(ids, entry->ids, BBPE_CACHE_PLAIN * sizeof *ids);
    else bbpe_cache_unpack(layout, entry->ids, count, ids);
    return count;
}

/* Whether all ids of a piece are in this entry. */
BBPE_INLINE bool bbpe_cache_is_few(const bbpe_cache_entry *entry) {
    return entry->ids[3] >> 31 == 0;
}

/* Whether they are, and are not packed. */
BBPE_INLINE bool bbpe_cache_is_plain(const bbpe_cache_entry *entry) {
    return entry->ids[3] >> 30 == 0;
}

/* The top byte of the key of an entry that has the last ids of its neighbour, which no length gives it; below it is
 * their number. */
#define BBPE_CACHE_REST_KEY ((BBPE_HASH_SALT_HI >> 56 ^ 0x40) << 56)

BBPE_INLINE bool bbpe_cache_is_rest(const bbpe_cache_entry *entry) {
    return entry->key.hi >> 56 == BBPE_CACHE_REST_KEY >> 56;
}

/* The entry in the same cache line. */
BBPE_INLINE bbpe_cache_entry *bbpe_hot_cache_neighbour(const bbpe_hot_cache *self, const bbpe_cache_entry *entry) {
    return self->entries + ((size_t)(entry - self->entries) ^ 1);
}

/* The entry where a short piece is looked for first. */
BBPE_INLINE bbpe_cache_entry *bbpe_hot_cache_primary(const bbpe_hot_cache *self, uint64_t hash) {
    return (bbpe_cache_entry *)((char *)self->entries + (hash & self->entry_mask));
}

BBPE_INLINE bool bbpe_cache_entry_has(const bbpe_cache_entry *entry, bbpe_cache_key key) {
    return ((entry->key.lo ^ key.lo) | (entry->key.hi ^ key.hi)) == 0;
}

/* The entry of a short piece or the free one that it would get: in the group of its home, in one elsewhere when
 * others have that one, or NULL when they have both.  One group alone is full for one piece of twelve when its table is to
 * 70 %. */
BBPE_INLINE bbpe_cache_entry *bbpe_hot_cache_find_or_free(const bbpe_hot_cache *self, bbpe_cache_key key, uint64_t hash) {
    for (int group = 0; group < 2; group++, hash >>= 32) {
        const size_t at = (size_t)(bbpe_hot_cache_primary(self, hash) - self->entries);
        for (size_t way = 0; way < BBPE_CACHE_WAYS; way++) {
            bbpe_cache_entry *entry = self->entries + (at ^ way);
            if (bbpe_cache_entry_has(entry, key) || entry->key.hi == 0) return entry;
        }
    }
    return NULL;
}

BBPE_INLINE bool bbpe_cache_slot_has(const bbpe_cache_slot *slot, const bbpe_cache_long_key *key) {
    uint64_t differ = (slot->counts >> 8) ^ key->length;
    for (int i = 0; i < 4; i++) differ |= slot->words[i] ^ key->words[i];
    return differ == 0;
}

_Static_assert((int)BBPE_CACHE_SHORT <= (int)BBPE_CACHE_LONG_IDS, "a short piece has at most one id a byte");
_Static_assert(sizeof(bbpe_cache_slot) == 128, "two cache lines");

/* The slot of a piece in the hot part, or NULL. */
BBPE_INLINE const bbpe_cache_slot *bbpe_hot_cache_find_long(const bbpe_hot_cache *self, const bbpe_cache_long_key *key,
                                                            uint64_t hash) {
    for (int pair = 0; pair < 2; pair++, hash >>= 32) {
        const bbpe_cache_slot *slot = self->slots + (hash & self->slot_mask);
        const bbpe_cache_slot *other = self->slots + ((hash & self->slot_mask) ^ 1);
        if (bbpe_cache_slot_has(slot, key)) return slot;
        if (slot->counts == 0) return NULL; /* no piece has had to go further; the neighbour would be waited for */
        if (bbpe_cache_slot_has(other, key)) return other;
        if (other->counts == 0) return NULL;
    }
    return NULL;
}

/* Write the ids of a slot that was found; returns how many. */
BBPE_INLINE size_t bbpe_cache_copy_long_ids(const bbpe_cache_slot *slot, uint32_t *ids) {
    enum { LAST = BBPE_CACHE_LONG_IDS - 4 };
    const size_t count = slot->counts & 0xFF;
    memcpy(ids, slot->ids, 16);
    for (size_t i = 4; i < count; i += 4) memcpy(ids + (i < LAST ? i : LAST), slot->ids + (i < LAST ? i : LAST), 16);
    return count;
}

/* Fetch what finding a piece of 16 to 32 bytes with this hash will look at. */
BBPE_INLINE void bbpe_hot_cache_prefetch_long(const bbpe_hot_cache *self, uint64_t hash) {
    const bbpe_cache_slot *slot = self->slots + (hash & self->slot_mask);
    BBPE_PREFETCH(slot);
    BBPE_PREFETCH(slot->ids + 7); /* its second cache line */
}

/* Write the ids of an entry that has them together with its neighbour; returns how many, 0 when that one is lost. */
size_t bbpe_hot_cache_copy_ids_of_two(const bbpe_hot_cache *self, const bbpe_cache_entry *entry, uint32_t *ids);

/* Write an entry of a piece's ids, as many as fit it, or of none with BBPE_CACHE_MANY.  It is made in its place: copying one that
 * was made elsewhere takes 1.5 % of the first pass over multilingual text. */
void bbpe_cache_entry_write(bbpe_cache_entry *to, const bbpe_cache_layout *layout, bbpe_cache_key key, const uint32_t *ids,
                            size_t count);
/* Put an entry at its home, and what is there elsewhere.  Done for one of those found away now and then, it leaves at
 * home what is more frequent.  Two entries that belong together are not moved: they stay, or are forgotten at home. */
void bbpe_hot_cache_promote(bbpe_hot_cache *self, const bbpe_cache_entry *entry);
/* Mark the place of a short piece (bbpe_hot_cache_find_or_free; NULL takes another one's) whose ids are not yet known, which has a
 * number until then. */
bbpe_cache_entry *bbpe_hot_cache_reserve(bbpe_hot_cache *self, bbpe_cache_entry *entry, bbpe_cache_key key,
                                      uint32_t number);
/* Remember the ids of a piece that an entry was marked for, wherever the mark is by now. */
void bbpe_hot_cache_fill(bbpe_hot_cache *self, bbpe_cache_entry *marked, bbpe_cache_key key, const uint32_t *ids,
                           size_t count);
/* Remember the ids of a short piece among those of its home. */
void bbpe_hot_cache_add(bbpe_hot_cache *self, bbpe_cache_key key, const uint32_t *ids, size_t count);
/* At most BBPE_CACHE_LONG_IDS. */
void bbpe_hot_cache_add_long(bbpe_hot_cache *self, const bbpe_cache_long_key *key, uint64_t hash,
                             const uint32_t *ids, size_t count);

#endif
