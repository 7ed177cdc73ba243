/* SentencePiece's normaliser: one pass from a text to what its model encodes.  The longest key at each position becomes its
 * value, kept strings stay as they are; where rules say so, runs of blanks become one, and none is left at the ends;
 * U+2581 becomes a blank; one goes in front.
 *
 * The table is a double-array trie (Aoe, 1989) in the layout of darts-clone, and the texts after it, each ended by a
 * zero byte.  Every step and every value is checked against its end, so no table makes this read elsewhere; one with a
 * cycle ends with the text.  A key begins nowhere but where a character is marked, or at the one before it:
 * characters that are keys, and second characters of keys, are marked.  Text between such characters is copied as it is.
 *
 * Bytes that are not UTF-8 stay.  The struct owns the marks and the kept strings and borrows the table; immutable after
 * the last call of keep, and then any number of threads may apply it. */
#ifndef BBPE_PIPELINE_CHARSMAP_H
#define BBPE_PIPELINE_CHARSMAP_H

#include "pipeline/sources.h"
#include "tables/trie.h"

enum {
    BBPE_CHARSMAP_SQUEEZES = 1, /* blanks that are too many go; with UNMARKS only */
    BBPE_CHARSMAP_PREPENDS = 2, /* a blank in front of what is not empty at last */
    BBPE_CHARSMAP_BEGINS = 4,   /* U+2581 in front of a text that is not empty, before blanks are squeezed */
    BBPE_CHARSMAP_UNMARKS = 8,  /* U+2581 becomes a blank, which is never too many but at the end of a text */
    BBPE_CHARSMAP_APPENDS = 16, /* a blank at the end of a text that is not empty, nor of blanks alone that are squeezed */
    BBPE_CHARSMAP_LONGEST_KEY = 257,
};

typedef struct {
    const uint8_t *units, *texts; /* units: 4 bytes each, the lowest first */
    size_t unit_count, texts_end; /* the last text ends there */
    size_t root;                  /* where the children of the root stand */
    uint64_t *marks;              /* a bit for each character up to U+FFFF */
    bool marks_beyond;
    bool skips; /* nothing that is kept or replaced begins with a blank */
    uint8_t stops[128]; /* the same for ASCII, and the blank */
    unsigned rules;
    bbpe_pretoken_table kept_strings;
    bbpe_trie kept;
} bbpe_charsmap;

/* The normalized texts: `used` bytes, of the caller's memory, which grows.  With `with_places` also where
 * the bytes of the last result come from: what a key became comes from its first byte. */
typedef struct {
    uint8_t *bytes;
    size_t used, capacity;
    bool with_places;
    bbpe_sources sources;
} bbpe_charsmap_output;
enum { BBPE_CHARSMAP_RUNS = 4 }; /* more than what is put may need room for among the sources */

/* Room for `need` bytes in all, and for the sources of `puts` that come next. */
bbpe_status bbpe_charsmap_output_grow(bbpe_charsmap_output *self, size_t need, size_t puts);
void bbpe_charsmap_output_free(bbpe_charsmap_output *self);

BBPE_INLINE bbpe_status bbpe_charsmap_reserve(bbpe_charsmap_output *self, size_t need, size_t puts) {
    const size_t room = self->sources.capacity - self->sources.count;
    if (BBPE_LIKELY(need <= self->capacity && (!self->with_places || puts + BBPE_CHARSMAP_RUNS <= room))) return BBPE_OK;
    return bbpe_charsmap_output_grow(self, need, puts);
}

/* Unit i of the double array, and its offset: i ^ offset is the base of its children. */
BBPE_INLINE uint32_t bbpe_charsmap_unit(const bbpe_charsmap *self, size_t i) {
    BBPE_ASSERT(i < self->unit_count);
    const uint8_t *s = self->units + 4 * i;
    return (uint32_t)s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
}

BBPE_INLINE uint32_t bbpe_charsmap_offset(uint32_t unit) {
    return unit >> 10 << ((unit & 0x200) >> 6);
}

/* From the bytes of a table (4 of its trie's size, the trie, the texts), which must outlive `self`, or none: nothing is
 * marked yet.  BBPE_TOO_LARGE when the table is cut off. */
bbpe_status bbpe_charsmap_init(bbpe_charsmap *self, const uint8_t *table, size_t n, unsigned rules);
void bbpe_charsmap_free(bbpe_charsmap *self);
/* Keys are looked for where this character is, and at the one before it. */
void bbpe_charsmap_mark(bbpe_charsmap *self, uint32_t character);
/* Mark all characters that another normalizer of the table has marked. */
void bbpe_charsmap_mark_as(bbpe_charsmap *self, const bbpe_charsmap *other);
/* Keep one more string, at least one byte; bbpe_charsmap_finalize is called once after the last. */
bbpe_status bbpe_charsmap_keep(bbpe_charsmap *self, const uint8_t *bytes, size_t n);
bbpe_status bbpe_charsmap_finalize(bbpe_charsmap *self);
/* Mark what all keys of the table need; `*is_broken` is set if a key or its value is not UTF-8 or lies outside the
 * table, or if the keys do not end. */
bbpe_status bbpe_charsmap_mark_keys(bbpe_charsmap *self, bool *is_broken);
/* Whether the character at s[0..n), n > 0, is marked; `*size` is its length, or 1 for other bytes, which never are. */
bool bbpe_charsmap_is_marked(const bbpe_charsmap *self, const uint8_t *s, size_t n, size_t *size);
/* How long the shortest key is that s[0..n) begins with, and its value; 0 if there is none. */
size_t bbpe_charsmap_shortest(const bbpe_charsmap *self, const uint8_t *s, size_t n, const uint8_t **value, size_t *length);
/* The longest key that s[0..n) begins with, as above; strings that are kept do not count. */
size_t bbpe_charsmap_longest(const bbpe_charsmap *self, const uint8_t *s, size_t n, const uint8_t **value, size_t *length);
/* Whether a key begins with s[0..n) and is longer. */
bool bbpe_charsmap_goes_on(const bbpe_charsmap *self, const uint8_t *s, size_t n);
/* Whether text[0..n) is of keys and other characters that all become one blank. */
bool bbpe_charsmap_are_blanks(const bbpe_charsmap *self, const uint8_t *text, size_t n);
/* Write after output->used what becomes of a text. */
bbpe_status bbpe_charsmap_apply(const bbpe_charsmap *self, const uint8_t *text, size_t n, bbpe_charsmap_output *output);

#endif
