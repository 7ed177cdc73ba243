/* Ids -> characters: what bbpe_token_bytes_join gives, as the code units of a string.
 *
 * The bytes of some tokens are put together in a scratch that stays in the L1 cache and widened from there, so
 * a text that is not ASCII is never written as UTF-8.  A measured text says how wide its characters are and how
 * many there are; bytes that are no UTF-8 are refused, for the caller to deal with.
 *
 * Ranges of one array may be done by several threads: a character belongs to the range that has its first
 * byte, so a range passes over the continuation bytes it begins with and reads those that follow it. */
#ifndef BBPE_DECODE_TOKEN_TEXT_H
#define BBPE_DECODE_TOKEN_TEXT_H

#include "decode/token_bytes.h"

/* Bytes in a code unit of a text of this size, as Python has them: 1 up to U+00FF, 2 up to U+FFFF, else 4. */
BBPE_INLINE unsigned bbpe_text_unit(const bbpe_text_size *size) {
    return size->leads & BBPE_LEAD_FULL ? 4 : size->leads & BBPE_LEAD_WIDE ? 2 : 1;
}

/* The characters that begin in ids [start, stop) to out[0 .. chars), units of `unit` bytes; each that is not
 * ASCII, or a neighbour of it, is also ORed into `seen`.  False when they are not UTF-8, are not `chars` many or do not fit the unit.
 * `out` is aligned for its unit. */
bool bbpe_token_text_fill(
    const bbpe_token_bytes *table, const bbpe_id_array *ids, size_t start, size_t stop, void *out, size_t chars,
    unsigned unit, uint32_t *seen);

#endif
