/* The symbols of a text while it is merged: a linked list without stored links.
 *
 * One slot a byte.  A symbol's id is at the first *and* the last slot of its span, so the left neighbour of
 * the symbol at p is read at p - 1 and the right one at p + length(id).  A border slot is before, between and
 * after pretokens.  The other slots of a span hold INSIDE or an id that is out of date; no reader sees them,
 * because a remembered position of symbol `a` is valid if and only if its slot holds `a`: the first slot of a span
 * that was merged away is overwritten, with the merged id, whose span is longer, or with INSIDE. */
#ifndef BBPE_TABLES_SYMBOLS_H
#define BBPE_TABLES_SYMBOLS_H

#include "base/common.h"

#define BBPE_SYMBOLS_BORDER UINT32_MAX
#define BBPE_SYMBOLS_INSIDE (UINT32_MAX - 1)

/* Make the neighbours [left, right) and [right, end) one symbol. */
BBPE_INLINE void bbpe_symbols_splice(uint32_t *slots, size_t left, size_t right, size_t end, uint32_t merged) {
    BBPE_ASSERT(left < right && right < end);
    slots[right] = BBPE_SYMBOLS_INSIDE;
    slots[left] = merged;
    slots[end - 1] = merged;
}

#endif
