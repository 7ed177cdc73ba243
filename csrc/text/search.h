/* A search for the characters of a set (text/characters.h), at 10 GB/s where there are none.
 *
 * Bytes are compared 64 at a time: a set is found by the products of sets of bytes that cover it, which vectors look up.
 * What they find is then looked up in the table of characters, so that a vector never changes the result. */
#ifndef BBPE_TEXT_SEARCH_H
#define BBPE_TEXT_SEARCH_H

#include "text/characters.h"

enum { BBPE_SEARCH_BLOCK = 64, BBPE_SEARCH_BEFORE = 2 }; /* bytes that are compared at once, and bytes before them */

/* One bit for each byte of a block with which a character of the set may end, or the second byte of one of four: of the
 * first block in text[*at, end) that has one; 0 when none of them has.  Reads text[*at - 2, end) and moves `*at` there.
 * Marks that normal forms only sort, as most marks of Indic scripts and Thai are, need no bit after other characters. */
typedef uint64_t (*bbpe_search_blocks)(const bbpe_character_set *set, const uint8_t *text, size_t *at, size_t end);

bbpe_search_blocks bbpe_search_select(void);
uint64_t bbpe_search_scalar(const bbpe_character_set *set, const uint8_t *text, size_t *at, size_t end);
uint64_t bbpe_search_avx2(const bbpe_character_set *set, const uint8_t *text, size_t *at, size_t end);
uint64_t bbpe_search_avx512(const bbpe_character_set *set, const uint8_t *text, size_t *at, size_t end);
uint64_t bbpe_search_neon(const bbpe_character_set *set, const uint8_t *text, size_t *at, size_t end);

typedef struct {
    const bbpe_character_set *set;
    bbpe_search_blocks blocks;
    const uint8_t *text;
    size_t n, at;  /* the block that `bits` belongs to */
    uint64_t bits; /* what is left of it */
} bbpe_search;

/* A character of a text: text[start, end). */
typedef struct {
    size_t start, end;
    uint32_t code;
    const bbpe_character_row *row;
} bbpe_search_match;

bbpe_search bbpe_search_of(bbpe_characters set, bbpe_search_blocks blocks, const uint8_t *text, size_t n);
/* The next character of the set that begins at `from` or after it; false when there is none.  `from` never decreases.  A mark
 * that normal forms only sort may be left out when the character before it is not in the set. */
bool bbpe_search_next(bbpe_search *self, size_t from, bbpe_search_match *found);

/* The character at text[start], start < n; false when it is not in the set. */
BBPE_INLINE bool bbpe_search_is_at(const bbpe_search *self, size_t start, bbpe_search_match *found) {
    found->start = start;
    found->code = bbpe_utf8_decode(self->text, start, self->n, &found->end);
    if (found->code == BBPE_UTF8_INVALID) return false;
    found->row = bbpe_character_get(found->code);
    return found->row->flags & self->set->flags;
}

/* Where the character begins that ends before text[end], end > 0. */
BBPE_INLINE size_t bbpe_search_before(const uint8_t *text, size_t end) {
    size_t start = end - 1, next;
    while (start > 0 && end - start < 4 && bbpe_utf8_is_tail(text[start])) start--;
    return bbpe_utf8_decode(text, start, end, &next) != BBPE_UTF8_INVALID && next == end ? start : end - 1;
}

#endif
