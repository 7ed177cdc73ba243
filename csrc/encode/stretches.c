/* Many stretches of text: those that are short are encoded as one, a window of them at a time.
 *
 * At the end of each stretch a lookup batch would wait for the entries that it has asked for, and the last 15 bytes would be
 * copied to where more may be read.  So pretokens of no bytes mark the ends of stretches, and the batch goes on: 8 MB of
 * English in texts of 200 bytes take 14.7 instead of 27 ms, of 2,000 bytes 12.6 instead of 14. */
#include "encode/internal.h"
#include "text/text.h"

enum {
    WINDOW = 1 << 16, /* bytes of texts: they stay in the L2 cache beside the tables; half as many take 1 % longer */
    AFTER = 16,       /* bytes after the last text that may be read, or overwritten by transcoding */
    LEAST_ENDS = 256, /* for which splitting takes two stretches in turn */
};

static bool has_room(const bbpe_joined_stretches *self, size_t bytes) {
    return self->count < BBPE_JOINED_STRETCHES && self->used + bytes + AFTER <= WINDOW;
}

/* What is encoded, and where the results go. */
typedef struct {
    const bbpe_encoder *encoder;
    bbpe_encode_state *state;
    uint32_t *ids;  /* where the next ids go; NULL: nobody wants them */
    size_t *counts; /* of ids, for the present text */
    bool continues; /* some stretches of it are counted */
} stretch_writer;

/* Put code units after the other stretches. */
static void join(bbpe_encode_state *state, bbpe_encode_text text, const bbpe_stretch *stretch) {
    bbpe_joined_stretches *const self = &state->desk.joined;
    uint8_t *const to = state->window + self->used;
    size_t next;
    BBPE_ASSERT(has_room(self, bbpe_encode_bound(text.unit_size, stretch->n)));
    if (text.unit_size > 0) {
        self->used += bbpe_transcode_utf8(text.units, text.unit_size, 0, stretch->n, &next, to, WINDOW - self->used);
    } else if (stretch->n > 0) {
        memcpy(to, text.units, stretch->n);
        self->used += stretch->n;
    }
    state->desk.stretch_ends[self->count].id = stretch->id;
    self->stretches[self->count++] =
        (bbpe_joined_stretch){self->used, stretch->pretokens, stretch->pretoken_count, stretch->ends_text};
}

static uint32_t *encode_block(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_pretokens *block, uint32_t *ids) {
    ids = bbpe_encode_pretokens(self, state, block, ids);
    if (block->count > 0) block->start = block->ends[block->count - 1];
    block->count = 0;
    block->has_3byte = false;
    return ids;
}

/* Add pretokens whose ends are given to a block; their stretch begins at `start` of the block's text. */
static uint32_t *add_given(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_pretokens *block, size_t start,
                           const size_t *given, size_t count, uint32_t *ids) {
    size_t *const ends = state->desk.ends, end = start;
    for (size_t i = 0; i < count;) {
        const size_t begin = end;
        if (block->count == BBPE_LOOKUP_BATCH) ids = encode_block(self, state, block, ids);
        for (; i < count && block->count < BBPE_LOOKUP_BATCH; i++)
            if (start + given[i] != end) end = ends[block->count++] = start + given[i];
        block->has_3byte = block->has_3byte || bbpe_utf8_has_3byte(block->text + begin, end - begin);
    }
    return ids;
}

/* Add the pretokens of text[start, end) to a block. */
static uint32_t *add_split(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_pretokens *block, size_t start,
                           size_t end, uint32_t *ids) {
    size_t *const ends = state->desk.ends;
    while (start < end) {
        if (BBPE_LOOKUP_BATCH - block->count < LEAST_ENDS) ids = encode_block(self, state, block, ids);
        block->count += self->fill(&self->scheme, block->text, start, end, ends + block->count,
                                   BBPE_LOOKUP_BATCH - block->count, &block->has_3byte);
        start = ends[block->count - 1];
    }
    return ids;
}

/* The ids of all that is joined, each stretch's followed by the id after it. */
static uint32_t *encode_joined(const bbpe_encoder *self, bbpe_encode_state *state, uint32_t *ids) {
    bbpe_joined_stretches *const joined = &state->desk.joined;
    size_t *const ends = state->desk.ends, start = 0;
    bbpe_pretokens block = {state->window, joined->used + AFTER, 0, ends, 0, false};
    state->next_end = state->next_known = state->desk.stretch_ends;
    memset(state->window + joined->used, 0, AFTER); /* no answer depends on these, but they are read */
    for (size_t i = 0; i < joined->count && state->status == BBPE_OK; i++) {
        const bbpe_joined_stretch *stretch = joined->stretches + i;
        ids = stretch->pretokens == NULL
                  ? add_split(self, state, &block, start, stretch->end, ids)
                  : add_given(self, state, &block, start, stretch->pretokens, stretch->pretoken_count, ids);
        start = stretch->end;
        if (block.count == BBPE_LOOKUP_BATCH) ids = encode_block(self, state, &block, ids);
        ends[block.count++] = start;
    }
    ids = encode_block(self, state, &block, ids);
    return bbpe_miss_queue_flush(self, state, ids);
}

/* Count the ids that were written for a stretch, and for the id after it. */
static void count_stretch(stretch_writer *self, size_t ids, bool ends_text) {
    *self->counts = (self->continues ? *self->counts : 0) + ids;
    self->continues = !ends_text;
    self->counts += ends_text;
}

/* Encode what is joined.  Ids that nobody wants are written where the next ones will be, too. */
static void flush(stretch_writer *self) {
    bbpe_encode_state *const state = self->state;
    bbpe_joined_stretches *const joined = &state->desk.joined;
    uint32_t *ids = self->ids;
    if (ids == NULL && bbpe_encode_state_reserve(state, WINDOW + BBPE_JOINED_STRETCHES) != BBPE_OK)
        state->status = BBPE_NO_MEMORY;
    if (state->status != BBPE_OK) return;
    uint32_t *begin = ids == NULL ? state->loan.ids : ids;
    ids = encode_joined(self->encoder, state, begin);
    if (state->status != BBPE_OK) return;
    for (size_t i = 0; i < joined->count; i++) {
        const bbpe_stretch_end *end = state->desk.stretch_ends + i;
        uint32_t *const after = end->end + (end->id != BBPE_STRETCH_NO_ID);
        count_stretch(self, (size_t)(after - begin), joined->stretches[i].ends_text);
        begin = after;
    }
    if (self->ids != NULL) self->ids = ids;
    joined->used = joined->count = 0;
}

/* The ids of pretokens whose ends are given, of a stretch too long to be joined. */
static void encode_given_alone(stretch_writer *self, const bbpe_stretch *stretch, size_t *count) {
    const bbpe_encoder *const encoder = self->encoder;
    bbpe_encode_state *const state = self->state;
    if (self->ids == NULL && bbpe_encode_state_reserve(state, stretch->n) != BBPE_OK) state->status = BBPE_NO_MEMORY;
    if (state->status != BBPE_OK) return;
    uint32_t *const begin = self->ids == NULL ? state->loan.ids : self->ids;
    bbpe_pretokens block = {stretch->text, stretch->n, 0, state->desk.ends, 0, false};
    uint32_t *ids = add_given(encoder, state, &block, 0, stretch->pretokens, stretch->pretoken_count, begin);
    ids = encode_block(encoder, state, &block, ids);
    *count = (size_t)(bbpe_miss_queue_flush(encoder, state, ids) - begin);
}

/* A stretch that is too long to be joined. */
static void encode_alone(stretch_writer *self, bbpe_encode_text text, const bbpe_stretch *stretch) {
    size_t count = 0;
    if (self->state->status != BBPE_OK) return;
    if (stretch->pretokens != NULL) encode_given_alone(self, stretch, &count);
    else if (self->ids == NULL)
        bbpe_encode_count(self->encoder, self->state, text, 0, stretch->n, SIZE_MAX, false, &count);
    else bbpe_encode_range(self->encoder, self->state, text, 0, stretch->n, self->ids, &count);
    if (self->ids != NULL) self->ids += count;
    if (stretch->id != BBPE_STRETCH_NO_ID) {
        if (self->ids != NULL) *self->ids++ = stretch->id;
        count++;
    }
    count_stretch(self, count, stretch->ends_text);
}

static void put(stretch_writer *self, bbpe_encode_text text, const bbpe_stretch *stretch) {
    bbpe_joined_stretches *const joined = &self->state->desk.joined;
    const size_t bound = bbpe_encode_bound(text.unit_size, stretch->n);
    if (!has_room(joined, bound)) flush(self);
    if (has_room(joined, bound)) join(self->state, text, stretch);
    else encode_alone(self, text, stretch);
}

static bool begin(stretch_writer *self) {
    bbpe_joined_stretches *const joined = &self->state->desk.joined;
    joined->used = joined->count = 0;
    self->state->status = BBPE_OK;
    return bbpe_encode_state_window(self->state, WINDOW);
}

bbpe_status bbpe_encode_texts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_text *texts,
                              const size_t *lengths, size_t count, uint32_t *ids, size_t *counts) {
    stretch_writer writer = {self, state, ids, counts, false};
    if (!begin(&writer)) return state->status;
    for (size_t i = 0; i < count && state->status == BBPE_OK; i++)
        put(&writer, texts[i], &(bbpe_stretch){NULL, lengths[i], NULL, 0, BBPE_STRETCH_NO_ID, true});
    flush(&writer);
    return state->status;
}

bbpe_status bbpe_encode_stretches(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_stretch *stretches,
                                  size_t count, uint32_t *ids, size_t *counts) {
    stretch_writer writer = {self, state, ids, counts, false};
    if (!begin(&writer)) return state->status;
    for (size_t i = 0; i < count && state->status == BBPE_OK; i++)
        put(&writer, (bbpe_encode_text){stretches[i].text, 0}, stretches + i);
    flush(&writer);
    return state->status;
}
