/* Text -> ids: split into pretokens, look each up, merge what is new.  For callers; internal.h is the rest.
 *
 * An encoder refers to its model and splitter, and is shared by any number of threads.  A state is scratch memory and
 * caches for one call at a time; ids never depend on it.  A call that fails leaves its state fit for the next call. */
#ifndef BBPE_ENCODE_H
#define BBPE_ENCODE_H

#include "encode/call.h"
#include "encode/places.h"
#include "encode/state.h"
#include "threads/threads.h"

/* An upper bound of the ids of so many code units: a token is at least one byte. */
BBPE_INLINE size_t bbpe_encode_bound(unsigned unit_size, size_t units) {
    return (unit_size == 0 ? 1 : unit_size == 1 ? 2 : unit_size == 2 ? 3 : 4) * units;
}
/* The ids of code units [start, end) of a text as if they were all of it; `ids` has BBPE_ENCODE_SLACK more than the bound. */
bbpe_status bbpe_encode_range(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, uint32_t *ids, size_t *count);
/* The ids of many texts, one after another, and how many each has.  With NULL for `ids` only the numbers are wanted. */
bbpe_status bbpe_encode_texts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_text *texts,
                              const size_t *lengths, size_t count, uint32_t *ids, size_t *counts);
/* The ids of n bytes of UTF-8 that the caller has split; another thread may write to the ends of the pretokens:
 * BBPE_CHANGED if they fall or pass n. */
bbpe_status bbpe_encode_given(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                              const int64_t *ends, size_t pretokens, uint32_t *ids, size_t *count);
/* Count the ids of code units [start, end), stopping soon after `limit`.  With `keeps` they stay in the loan's `ids`. */
bbpe_status bbpe_encode_count(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, size_t limit, bool keeps, size_t *count);
/* A place in [start, n) where both parts encode to the ids of the whole, or BBPE_SPLIT_NO_CUT; looks about `window` far. */
size_t bbpe_encode_cut(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start, size_t n,
                       size_t window);

/* Code units cuts[k] to cuts[k + 1] are part k.  Others may write to the cuts. */
typedef struct {
    bbpe_encode_text text;
    size_t length;
    const int64_t *cuts;
} bbpe_encode_cut_text;
/* Write the bounds of parts of `chunk` or more, from 0 to n; returns how many parts.  Room for n / chunk + 2 bounds. */
size_t bbpe_encode_cuts(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t n, size_t chunk,
                        int64_t *cuts);
/* Encode the next parts that a thread takes.  False when none are left, or after a failure: BBPE_CHANGED when the cuts are
 * not within the text, or a part may have more ids than were reserved. */
bool bbpe_encode_next_parts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_cut_text *text,
                            bbpe_ordered_output *parts, size_t thread, bbpe_status *status);

#endif
