/* The spans of short parts of texts, remembered: a direct-mapped table, one for each thread. */
#ifndef BBPE_PIPELINE_REMEMBERED_SPANS_H
#define BBPE_PIPELINE_REMEMBERED_SPANS_H

#include "base/hash.h"
#include "memory/memory.h"
#include "pipeline/safe_pairs.h"

enum { BBPE_REMEMBERED_MOST = 7, BBPE_REMEMBERED_SLOTS = 1 << 12 };

typedef struct {
    uint64_t low, high; /* the key of the part */
    uint8_t length, count; /* 0: none is here */
    uint8_t edges[2 * BBPE_REMEMBERED_MOST]; /* start and end of each span */
} bbpe_remembered_part;

/* Zeroed before the first use. */
typedef struct {
    bbpe_remembered_part *parts;
    uint64_t owner; /* whose spans these are */
} bbpe_remembered_spans;

BBPE_INLINE bbpe_remembered_part *bbpe_remembered_slot(const bbpe_remembered_spans *self, const bbpe_part_key *key) {
    return self->parts + (bbpe_hash_two(key->low, key->high ^ key->length) & (BBPE_REMEMBERED_SLOTS - 1));
}

BBPE_INLINE bool bbpe_remembered_is(const bbpe_remembered_part *slot, const bbpe_part_key *key) {
    return slot->low == key->low && slot->high == key->high && slot->length == key->length;
}

#endif
