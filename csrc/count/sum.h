/* The counts of several tables as one, none of which is moved.
 *
 * Threads count into tables of their own.  Slots are in the order of hashes, so a part of the hash space is a range of
 * slots in each table, and threads can go through the parts at once: a pretoken that several tables have is kept
 * in the one where it appeared first, which takes the counts of the others; their slots get the number 0.  Where it
 * appeared is its rank: its place in the order of first appearance in all tables, counting it in each of them.
 * Ranks of slots that are out are marked, so the number of a pretoken is the number of ranks before it that are not.
 * Chinese, two tables of 540,000: 11 ms of CPU; moving one to the other took 62, most of it for pages.
 *
 * Call init, do_part for every part, in any order and by any threads, then finish; after an error nothing but free.
 * Neither sum nor tables change afterwards.  A code, of a table and a slot, is that of a pretoken.  The struct owns its
 * arrays, not the shards and their tables; zeroed, it may be freed. */
#ifndef BBPE_COUNT_SUM_H
#define BBPE_COUNT_SUM_H

#include "count/table.h"

enum { BBPE_COUNT_PARTS = 256 }; /* at most; no table has fewer slots */

/* A table, and its pretokens in stretches: those numbered starts[i] to starts[i + 1] - 1, from 0, have the ranks from
 * ranks[i] on.  starts[0] is 0, and starts[count] the number of all. */
typedef struct {
    bbpe_count_table *table;
    const uint32_t *starts, *ranks;
    size_t count;
} bbpe_count_shard;

typedef struct {
    const bbpe_count_shard *shards;
    size_t shard_count;
    uint32_t **hints;  /* by shard: the stretch of every 256th pretoken */
    uint64_t *out;     /* a bit for each rank: the pretoken is kept elsewhere */
    uint32_t *earlier; /* for each word of `out`, how many ranks before it are not marked */
    size_t ranks, bytes_out;
    size_t count, bytes; /* of different pretokens, and all of their bytes; known in the end */
} bbpe_count_sum;

/* `shards`, at least one of them, stay where they are.  BBPE_TOO_LARGE from 2^32 - 1 pretokens on, counting each in each
 * table. */
bbpe_status bbpe_count_sum_init(bbpe_count_sum *self, const bbpe_count_shard *shards, size_t count);
void bbpe_count_sum_free(bbpe_count_sum *self);

/* Add up one of so many parts, a power of two up to BBPE_COUNT_PARTS.  BBPE_TOO_LARGE on a count of 2^64. */
bbpe_status bbpe_count_sum_do_part(bbpe_count_sum *self, size_t part, size_t parts);
void bbpe_count_sum_finish(bbpe_count_sum *self);

/* Write the codes of all pretokens in the order of first appearance, or their counts. */
void bbpe_count_sum_order(const bbpe_count_sum *self, size_t *order);
void bbpe_count_sum_counts(const bbpe_count_sum *self, uint64_t *counts);

#define BBPE_COUNT_SLOT_BITS 48

BBPE_INLINE const bbpe_count_table *bbpe_count_sum_table(const bbpe_count_sum *self, size_t code) {
    return self->shards[code >> BBPE_COUNT_SLOT_BITS].table;
}

BBPE_INLINE size_t bbpe_count_sum_slot(size_t code) {
    return code & (((size_t)1 << BBPE_COUNT_SLOT_BITS) - 1);
}

/* The bytes of a pretoken, and its count. */
BBPE_INLINE const uint8_t *bbpe_count_sum_bytes(const bbpe_count_sum *self, size_t code, size_t *n) {
    return bbpe_count_table_bytes(bbpe_count_sum_table(self, code), bbpe_count_sum_slot(code), n);
}

BBPE_INLINE uint64_t bbpe_count_sum_count(const bbpe_count_sum *self, size_t code) {
    return bbpe_count_sum_table(self, code)->slots[bbpe_count_sum_slot(code)].count;
}

/* Fetch a slot that is looked at soon, and then what it points to. */
BBPE_INLINE void bbpe_count_sum_prefetch(const bbpe_count_sum *self, size_t code) {
    bbpe_count_table_prefetch(bbpe_count_sum_table(self, code), bbpe_count_sum_slot(code));
}

BBPE_INLINE void bbpe_count_sum_prefetch_bytes(const bbpe_count_sum *self, size_t code) {
    bbpe_count_table_prefetch_bytes(bbpe_count_sum_table(self, code), bbpe_count_sum_slot(code));
}

#endif
