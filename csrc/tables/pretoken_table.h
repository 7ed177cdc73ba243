/* Byte strings -> a 64-bit value, in the order of their first appearance: the ids of a vocabulary.
 *
 * Entries are in an array, their bytes in one arena, and an open-addressing index of 32-bit entry
 * numbers (at most half full) points into the array; so the order survives and growing moves only the
 * index.  The struct owns all three arrays.
 * Not safe against a concurrent writer; any number of threads may read. */
#ifndef BBPE_TABLES_PRETOKEN_TABLE_H
#define BBPE_TABLES_PRETOKEN_TABLE_H

#include "base/hash.h"
#include "tables/image.h"

typedef struct {
    uint64_t start; /* in the arena */
    uint64_t value;
    uint32_t length;
    uint32_t hash; /* the upper half; rejects nearly every other key without touching the arena */
} bbpe_pretoken_entry;

typedef struct {
    bbpe_pretoken_entry *entries;
    size_t count, entries_capacity;
    uint8_t *arena;
    size_t arena_used, arena_capacity;
    uint32_t *index; /* entry number + 1; 0 is an empty slot */
    size_t mask;
    uint64_t salt;
} bbpe_pretoken_table;

/* `salt`: any number that who wrote the strings does not know (base/hash.h); nothing but time depends on it. */
bbpe_status bbpe_pretoken_table_init(bbpe_pretoken_table *self, uint64_t salt);
void bbpe_pretoken_table_free(bbpe_pretoken_table *self);
/* Room for further strings of so many bytes together: adding these moves nothing. */
bbpe_status bbpe_pretoken_table_reserve(bbpe_pretoken_table *self, size_t strings, size_t bytes);
/* Make `self`, which is not initialised, a table of the same strings and values. */
bbpe_status bbpe_pretoken_table_copy(bbpe_pretoken_table *self, const bbpe_pretoken_table *other);
/* Measure, write or open a table; an opened one takes no more strings. */
void bbpe_pretoken_table_visit(bbpe_pretoken_table *self, bbpe_image *image);
/* The entry of a byte string, added with value 0 when it is new; the pointer holds until the next add.
 * BBPE_TOO_LARGE beyond 2^32 - 2 entries or a string of 4 GiB. */
bbpe_status bbpe_pretoken_table_add(bbpe_pretoken_table *self, const uint8_t *bytes, size_t n,
                                    bbpe_pretoken_entry **entry);
/* The entry of a byte string, or NULL. */
const bbpe_pretoken_entry *bbpe_pretoken_table_find(const bbpe_pretoken_table *self, const uint8_t *bytes,
                                                    size_t n);

/* The entries of several strings, up to BBPE_PRETOKEN_FIND_MANY, NULL for those that the table does not have.  The memory that
 * look-ups wait for is fetched for all strings before the first is looked at. */
enum { BBPE_PRETOKEN_FIND_MANY = 32 };
typedef struct {
    const uint8_t *bytes;
    size_t n;
} bbpe_pretoken_string;
void bbpe_pretoken_table_find_many(const bbpe_pretoken_table *self, const bbpe_pretoken_string *strings, size_t count,
                                   const bbpe_pretoken_entry **entries);

#endif
