/* Many texts: those that are short are encoded as one, a window of them at a time.
 *
 * At the end of each text a lookup batch would wait for the entries that it has asked for, and the last 15 bytes would be copied
 * to where more may be read.  So pretokens of no bytes mark the ends of texts, and the batch goes on: 8 MB of English in
 * texts of 200 bytes take 14.7 instead of 27 ms, of 2,000 bytes 12.6 instead of 14. */
#include "encode/internal.h"
#include "text/text.h"

enum {
    WINDOW = 1 << 16, /* bytes of texts: they stay in the L2 cache beside the tables; half as many take 1 % longer */
    AFTER = 16,       /* bytes after the last text that may be read, or overwritten by transcoding */
    LEAST_ENDS = 256, /* for which splitting takes two stretches in turn */
};

static bool has_room(const bbpe_joined_texts *self, size_t bytes) {
    return self->count < BBPE_JOINED_TEXTS && self->used + bytes + AFTER <= WINDOW;
}

/* Put a text after the others.  If it begins with tails of a character that those seem to begin, it may be cut before
 * that: no token crosses the border then (models/cut_points.h). */
static void join(bbpe_joined_texts *self, bbpe_encode_text text, size_t length, uint8_t *window) {
    uint8_t *const to = window + self->used;
    size_t next;
    if (text.unit_size > 0) {
        self->used += bbpe_transcode_utf8(text.units, text.unit_size, 0, length, &next, to, WINDOW - self->used);
    } else if (length > 0) {
        memcpy(to, text.units, length);
        self->used += length;
    }
    self->ends[self->count++] = self->used;
}

static uint32_t *encode_block(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_pretokens *block, uint32_t *ids) {
    ids = bbpe_encode_pretokens(self, state, block, ids);
    if (block->count > 0) block->start = block->ends[block->count - 1];
    block->count = 0;
    block->has_3byte = false;
    return ids;
}

/* The ids of all that is joined, and how many each text has. */
static uint32_t *encode_joined(const bbpe_encoder *self, bbpe_encode_state *state, uint32_t *ids, size_t *counts) {
    bbpe_joined_texts *const texts = &state->desk.joined;
    uint32_t **const text_ends = state->desk.text_ends, *begin = ids;
    size_t *const ends = state->desk.ends, start = 0;
    bbpe_pretokens block = {state->window, texts->used + AFTER, 0, ends, 0, false};
    state->text_ends = text_ends;
    memset(state->window + texts->used, 0, AFTER); /* no answer depends on these, but they are read */
    for (size_t i = 0; i < texts->count && state->status == BBPE_OK; i++) {
        while (start < texts->ends[i]) {
            if (BBPE_LOOKUP_BATCH - block.count < LEAST_ENDS) ids = encode_block(self, state, &block, ids);
            block.count += self->fill(&self->scheme, state->window, start, texts->ends[i], ends + block.count,
                                      BBPE_LOOKUP_BATCH - block.count, &block.has_3byte);
            start = ends[block.count - 1];
        }
        if (block.count == BBPE_LOOKUP_BATCH) ids = encode_block(self, state, &block, ids);
        ends[block.count++] = start;
    }
    ids = encode_block(self, state, &block, ids);
    ids = bbpe_miss_queue_flush(self, state, ids);
    for (size_t i = 0; i < texts->count && state->status == BBPE_OK; i++) {
        counts[i] = (size_t)(text_ends[i] - begin);
        begin = text_ends[i];
    }
    texts->used = texts->count = 0;
    return ids;
}

/* A text that is too long to be joined; NULL for ids that nobody wants. */
static uint32_t *encode_alone(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t length,
                              uint32_t *ids, size_t *count) {
    if (ids == NULL) {
        bbpe_encode_count(self, state, text, 0, length, SIZE_MAX, false, count);
        return NULL;
    }
    bbpe_encode_range(self, state, text, 0, length, ids, count);
    return ids + *count;
}

/* The joined texts; ids that nobody wants are written where the next ones will be, too. */
static uint32_t *encode_some(const bbpe_encoder *self, bbpe_encode_state *state, uint32_t *ids, size_t *counts) {
    if (ids != NULL) return encode_joined(self, state, ids, counts);
    state->status = bbpe_encode_state_reserve(state, WINDOW);
    if (state->status == BBPE_OK) encode_joined(self, state, state->loan.ids, counts);
    return NULL;
}

bbpe_status bbpe_encode_texts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_text *texts,
                              const size_t *lengths, size_t count, uint32_t *ids, size_t *counts) {
    bbpe_joined_texts *const joined = &state->desk.joined;
    joined->used = joined->count = 0;
    state->status = BBPE_OK;
    if (!bbpe_encode_state_window(state, WINDOW)) return state->status;
    for (size_t i = 0; i < count && state->status == BBPE_OK; i++) {
        const size_t bound = bbpe_encode_bound(texts[i].unit_size, lengths[i]);
        if (!has_room(joined, bound)) ids = encode_some(self, state, ids, counts + i - joined->count);
        if (has_room(joined, bound)) join(joined, texts[i], lengths[i], state->window);
        else if (state->status == BBPE_OK) ids = encode_alone(self, state, texts[i], lengths[i], ids, counts + i);
    }
    if (state->status == BBPE_OK) encode_some(self, state, ids, counts + count - joined->count);
    return state->status;
}
