/* A long text that threads encode in parts. */
#ifndef BBPE_ENCODE_PARTS_H
#define BBPE_ENCODE_PARTS_H

#include "encode/encode.h"
#include "threads/ordered_output.h"

/* Units cuts[k] to cuts[k + 1] are part k; if `has_head`, the head is part 0 in their place.  Another thread may write to
 * the cuts. */
typedef struct {
    bbpe_encode_text text, head;
    size_t length, head_length;
    bool has_head;
    const int64_t *cuts;
} bbpe_encode_cut_text;

/* Where n units may be cut into parts of `chunk` and more that encode as the whole; returns how many these are.  There is
 * room for n / chunk + 2 cuts, from 0 to n. */
size_t bbpe_encode_cuts(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t n, size_t chunk,
                        int64_t *cuts);
/* Encode the next parts that a thread takes; false when there are none for it any more, or after a failure: BBPE_CHANGED
 * when the cuts are not within the text, or its parts may have more ids than there was to be room for. */
bool bbpe_encode_next_parts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_cut_text *text,
                            bbpe_parts *parts, size_t thread, bbpe_status *status);

#endif
