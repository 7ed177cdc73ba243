/* Pretokens -> 64-bit counts, in the order of first appearance: what a corpus is counted into.
 *
 * Open addressing with linear probing in 32-byte slots, at most 11/16 full.  A pretoken of up to 15 bytes is its own key,
 * with its length in the top byte, so a hit touches one cache line; of a longer one the slot holds hash and length, and
 * the bytes are in an arena, where they are compared.  Pretokens are staged in blocks: keys are made and their lines
 * fetched before the first is looked up, 2.5 times as fast on English as one by one.  A search begins where the highest
 * bits of the hash say, so slots are in the order of hashes, nearly, and tables can be added up in parts (sum.h).
 * Slots move when the table grows; each has the number of its pretoken by first appearance.  Counts are 64 bits wide,
 * and one that would not fit is refused.  The struct owns both arrays; one thread at a time may use it. */
#ifndef BBPE_COUNT_TABLE_H
#define BBPE_COUNT_TABLE_H

#include "tables/short_key.h"

typedef struct {
    uint64_t lo, hi; /* a short key; or hash, and length with BBPE_COUNT_LONG; or 0 */
    uint64_t count;
    uint32_t number; /* by first appearance, from 1; 0 where the slot is empty */
    uint32_t start;  /* of a long one in the arena, in steps of BBPE_COUNT_STEP bytes */
} bbpe_count_slot;

#define BBPE_COUNT_LONG ((uint64_t)0xFF << 56)
#define BBPE_COUNT_STEP ((size_t)8)
#define BBPE_COUNT_LONGEST ((size_t)1 << 35)

typedef struct {
    bbpe_count_slot *slots;
    size_t mask, count;
    unsigned shift; /* of a hash, so that what is left is a slot */
    uint8_t *arena;
    size_t arena_used, arena_capacity;
    size_t bytes; /* of all different pretokens together */
    uint64_t total, total_high; /* the sum of all counts */
    uint64_t salt_lo, salt_hi;  /* what words are changed by before they are hashed */
} bbpe_count_table;

/* `salt`: a number that the author of the corpus cannot know; otherwise its words could all have one hash.  No answer depends on it,
 * and tables that are added up have the same. */
bbpe_status bbpe_count_table_init(bbpe_count_table *self, uint64_t salt);
void bbpe_count_table_free(bbpe_count_table *self);
/* Memory held, in bytes. */
size_t bbpe_count_table_memory(const bbpe_count_table *self);

/* Count the `n` pretokens of text[0..size) of which the first begins at `start`, and each ends at ends[i], where the next
 * one begins: times[i] times, or once if `times` is NULL, and then an empty one is skipped.  One longer than `longest`,
 * if that is not 0, is counted as pieces of `longest` bytes, and adds 1 to `*cut`.  BBPE_TOO_LARGE beyond 2^32 - 2
 * different pretokens, 32 GiB of long ones, or a count of 2^64; some of what comes before it has been counted. */
bbpe_status bbpe_count_table_add(bbpe_count_table *self, const uint8_t *text, size_t size, size_t start,
                                 const size_t *ends, const uint64_t *times, size_t n, size_t longest, uint64_t *cut);

/* Count pretokens by ends that another thread may write to: BBPE_CHANGED when one is before the last one or after the
 * text; all else as bbpe_count_table_add. */
bbpe_status bbpe_count_table_add_given(bbpe_count_table *self, const uint8_t *text, size_t size, size_t start,
                                       const int64_t *ends, const uint64_t *times, size_t n, size_t longest,
                                       uint64_t *cut);

/* Write the numbers of the slots in the order of first appearance, `count` of them, or the counts. */
void bbpe_count_table_order(const bbpe_count_table *self, size_t *order);
void bbpe_count_table_counts(const bbpe_count_table *self, uint64_t *counts);

BBPE_INLINE bool bbpe_count_slot_is_empty(const bbpe_count_slot *slot) {
    return (slot->lo | slot->hi) == 0;
}

BBPE_INLINE size_t bbpe_count_slot_length(const bbpe_count_slot *slot) {
    return (size_t)(slot->hi >= BBPE_COUNT_LONG ? slot->hi - BBPE_COUNT_LONG : slot->hi >> 56);
}

BBPE_INLINE uint64_t bbpe_count_table_hash(const bbpe_count_table *self, const bbpe_count_slot *slot) {
    return slot->hi >= BBPE_COUNT_LONG ? slot->lo : bbpe_hash_salted(slot->lo ^ self->salt_lo, slot->hi ^ self->salt_hi);
}

/* Where the search for a hash begins. */
BBPE_INLINE size_t bbpe_count_table_home(const bbpe_count_table *self, uint64_t hash) {
    return (size_t)(hash >> self->shift);
}

/* Fetch a slot that is looked at soon, and then what it points to. */
BBPE_INLINE void bbpe_count_table_prefetch(const bbpe_count_table *self, size_t slot) {
    BBPE_PREFETCH(self->slots + slot);
}

BBPE_INLINE void bbpe_count_table_prefetch_bytes(const bbpe_count_table *self, size_t slot) {
    const bbpe_count_slot *found = self->slots + slot;
    if (found->hi < BBPE_COUNT_LONG) return;
    BBPE_PREFETCH(self->arena + found->start * BBPE_COUNT_STEP);
    BBPE_PREFETCH(self->arena + found->start * BBPE_COUNT_STEP + 64);
}

/* The bytes of the pretoken in a slot, valid until the table changes. */
BBPE_INLINE const uint8_t *bbpe_count_table_bytes(const bbpe_count_table *self, size_t slot, size_t *n) {
    const bbpe_count_slot *found = self->slots + slot;
    *n = bbpe_count_slot_length(found);
    return found->hi >= BBPE_COUNT_LONG ? self->arena + found->start * BBPE_COUNT_STEP : (const uint8_t *)found;
}

#endif
