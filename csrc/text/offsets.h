/* Spans of bytes of a text in other units; pipeline/token_places.h finds the spans.
 *
 * A token is a span of bytes of the text's UTF-8.  Of a text in memory, as encode/encode.h has it, this gives the same spans in
 * characters or in UTF-16 units; a token that holds a part of a character spans it whole.  Characters of a str are its
 * indices, so the two halves of a surrogate pair count separately though they are one character of the UTF-8; a byte that is
 * not UTF-8 is a character of its own.  Nothing is owned.
 *
 * One walk over the text, 1.2 ns a character of Chinese on a Zen 4.  Where UTF-8 without invalid bytes is at hand, and the
 * characters of a str are those of the UTF-8, it is enough to count the bytes that begin one: eight at a time. */
#ifndef BBPE_TEXT_OFFSETS_H
#define BBPE_TEXT_OFFSETS_H

#include "base/common.h"

typedef enum { BBPE_OFFSETS_CHAR, BBPE_OFFSETS_UTF16 } bbpe_offsets_unit;

/* Replace `count` spans of bytes, (start, end) each, by spans of units.  They are within the text, and their starts never fall,
 * except that the character before an empty span may begin the next one.  The text has n units of `unit_size` bytes, or of UTF-8
 * if that is 0. */
void bbpe_offsets_map(const void *text, unsigned unit_size, size_t n, bbpe_offsets_unit unit, int64_t *spans,
                      size_t count);

/* A place in UTF-8, and how many characters begin before it. */
typedef struct {
    size_t byte, chars;
} bbpe_offsets_place;

/* Go to a byte of text[0..n), faster onwards than back. */
void bbpe_offsets_move(bbpe_offsets_place *self, const uint8_t *text, size_t n, size_t byte);
/* As bbpe_offsets_map of one span, in characters of valid UTF-8, in which surrogates are characters too; `*place`, zeroed at first,
 * is where the span before has ended, and this one may begin anywhere. */
void bbpe_offsets_count(const uint8_t *text, size_t n, bbpe_offsets_place *place, int64_t *start, int64_t *end);
/* The same for several spans, which may overlap and are in the order of their starts, in linear time.  `*begun`, zeroed at first,
 * keeps the start of the last span that began before the end of an earlier one. */
void bbpe_offsets_count_overlapping(const uint8_t *text, size_t n, bbpe_offsets_place *place, bbpe_offsets_place *begun,
                                    int64_t *spans, size_t count);
/* Whether n code units of a str are all characters of their own in UTF-8: there is no surrogate. */
bool bbpe_offsets_is_simple(const void *text, unsigned unit_size, size_t n);

#endif
