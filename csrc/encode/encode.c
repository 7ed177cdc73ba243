/* Blocks of pretokens: split, cut into pieces, looked up. */
#include "encode/lookup_batch.h"

/* Pieces after the last of which 16 bytes may be read. */
BBPE_INLINE uint32_t *encode_inside(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pretokens *pieces,
                                    uint32_t *ids) {
    bbpe_lookup_batch *const batch = &state->desk.batch;
    BBPE_ASSERT(pieces->count <= BBPE_LOOKUP_BATCH);
    batch->longer_count = 0;
    self->loops->fill(batch, &state->hot, pieces, pieces->has_3byte && self->has_wholes);
    if (BBPE_UNLIKELY(batch->longer_count > 0)) bbpe_encode_fetch_longer(self, state, batch, pieces->text);
    return self->loops->emit(batch, pieces->count, self, state, pieces->text, ids);
}

/* The last pieces of a text.  Pieces that begin within 15 bytes of its end, all of them short, are copied to where more
 * may be read: of a text of 20 characters that is nearly all. */
static BBPE_NOINLINE uint32_t *encode_last(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_pretokens pieces,
                                           uint32_t *ids) {
    uint8_t tail[32] = {0};
    size_t tail_ends[15], begin = pieces.start;
    const size_t count = pieces.count, n = pieces.n;
    for (pieces.count = 0; pieces.count < count && (begin & ~BBPE_CUT_PART) + 16 <= n;) begin = pieces.ends[pieces.count++];
    if (pieces.count > 0) ids = encode_inside(self, state, &pieces, ids);
    const size_t left = count - pieces.count, from = begin & ~BBPE_CUT_PART;
    if (left == 0) return ids;
    BBPE_ASSERT(left <= 15 && n - from < 16);
    memcpy(tail, pieces.text + from, n - from);
    for (size_t i = 0; i < left; i++) tail_ends[i] = pieces.ends[pieces.count + i] - from;
    const bbpe_pretokens rest = {tail, sizeof tail, begin & BBPE_CUT_PART, tail_ends, left, pieces.has_3byte};
    return encode_inside(self, state, &rest, ids);
}

static uint32_t *encode_pieces(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pretokens *pieces,
                               uint32_t *ids) {
    if (pieces->count == 0 || (pieces->ends[pieces->count - 1] & ~BBPE_CUT_PART) + 16 <= pieces->n)
        return encode_inside(self, state, pieces, ids);
    return encode_last(self, state, *pieces, ids);
}

/* Whether to cut the pretokens of a block.  It pays where most of the text is letters of three bytes and some pretokens are too
 * long for a short key, where some of it is and many are, and where they are too long to be remembered.  Uncut, Vietnamese takes
 * 40 %, Hindi whose marks end pretokens 30 % and emoji a quarter less time; Korean that is new takes a third more, and endless
 * emoji 80 %. */
static bool is_worth_cutting(const bbpe_pretokens *block) {
    enum { SAMPLE = 512, LEAST_SHARE = 16, LONG_SHARE = 8, LONG_SHARE_OF_MOST = 16 };
    size_t start = block->start, longer = 0, threes = 0;
    const size_t size = (block->count > 0 ? block->ends[block->count - 1] : start) - start;
    const size_t sample = size < SAMPLE ? size : SAMPLE;
    for (size_t i = 0; i + 1 < sample; i++) {
        const uint8_t *bytes = block->text + start + i;
        /* symbols begin with E2, and the mark that makes one an emoji with EF B8 */
        threes += (bytes[0] >= 0xE0) & (bytes[0] < 0xF0) & (bytes[0] != 0xE2) & !((bytes[0] == 0xEF) & (bytes[1] == 0xB8));
    }
    const size_t share = 3 * threes > sample / 2 ? LONG_SHARE_OF_MOST : LONG_SHARE;
    const size_t most = 3 * threes < sample / LEAST_SHARE ? BBPE_LONG_PIECE : BBPE_CACHE_SHORT;
    for (size_t i = 0; i < block->count && longer <= size / share; start = block->ends[i++])
        longer += block->ends[i] - start > most ? block->ends[i] - start : 0;
    return longer > size / share;
}

/* Whether the tables of a state have filled up since its owner was asked last. */
static bool is_full(const bbpe_encode_state *state) {
    return bbpe_encode_entries_are_full(state->kept - state->kept_asked, state->hot.entry_count) ||
           bbpe_encode_slots_are_full(state->hot.slots_taken - state->slots_asked, state->hot.slot_mask + 1);
}

/* Ask for larger tables.  Pieces that wait have an entry in those that are there, so they come first. */
static BBPE_NOINLINE uint32_t *ask_room(const bbpe_encoder *self, bbpe_encode_state *state, uint32_t *ids) {
    ids = bbpe_miss_queue_flush(self, state, ids);
    state->kept_asked = state->kept;
    state->slots_asked = state->hot.slots_taken;
    state->loan.ask_room(state->loan.owner, state);
    return ids;
}

uint32_t *bbpe_encode_pretokens(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pretokens *block,
                                uint32_t *ids) {
    if (state->is_grown && state->loan.ask_room != NULL && is_full(state)) ids = ask_room(self, state, ids);
    if (!self->has_cuts || !block->has_3byte || !is_worth_cutting(block)) return encode_pieces(self, state, block, ids);
    size_t *const ends = state->desk.piece_ends;
    const size_t part = self->has_wholes ? BBPE_CUT_PART : 0;
    bbpe_cutting cutting = bbpe_cutting_of(block->text, block->n, block->start, block->ends, block->count);
    bbpe_pretokens pieces = {block->text, block->n, block->start, ends, 0, true};
    while ((pieces.count = self->cut(&self->cuts, &cutting, part, ends, BBPE_LOOKUP_BATCH)) > 0) {
        ids = encode_pieces(self, state, &pieces, ids);
        pieces.start = ends[pieces.count - 1];
    }
    return ids;
}

/* The next pretokens of a text, as many as a lookup batch takes. */
static bbpe_pretokens split_next(const bbpe_encoder *self, const uint8_t *text, size_t start, size_t n, size_t *ends) {
    bbpe_pretokens block = {text, n, start, ends, 0, false};
    block.count = self->fill(&self->scheme, text, start, n, ends, BBPE_LOOKUP_BATCH, &block.has_3byte);
    return block;
}

bbpe_status bbpe_encode_utf8(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                             uint32_t *ids, size_t *count) {
    size_t *const ends = state->desk.ends, start = 0;
    uint32_t *out = ids;
    while (start < n && state->status == BBPE_OK) {
        const bbpe_pretokens block = split_next(self, text, start, n, ends);
        out = bbpe_encode_pretokens(self, state, &block, out);
        start = ends[block.count - 1];
    }
    out = bbpe_miss_queue_flush(self, state, out);
    *count = (size_t)(out - ids);
    return state->status;
}

bbpe_status bbpe_encode_count_utf8(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                   size_t limit, bool keeps, size_t *count) {
    size_t *const ends = state->desk.ends, start = 0;
    while (start < n && *count <= limit && state->status == BBPE_OK) {
        const bbpe_pretokens block = split_next(self, text, start, n, ends);
        const size_t end = ends[block.count - 1], kept = keeps ? *count : 0;
        if (bbpe_encode_state_reserve(state, kept + (end - start)) != BBPE_OK) return state->status = BBPE_NO_MEMORY;
        uint32_t *ids = state->loan.ids + kept;
        uint32_t *out = bbpe_encode_pretokens(self, state, &block, ids);
        *count += (size_t)(bbpe_miss_queue_flush(self, state, out) - ids);
        start = end;
    }
    return state->status;
}

bbpe_status bbpe_encode_given(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                              const int64_t *given, size_t pretokens, uint32_t *ids, size_t *count) {
    size_t *const ends = state->desk.ends, start = 0, end = 0;
    uint32_t *out = ids;
    state->status = BBPE_OK;
    for (size_t i = 0; i < pretokens && state->status == BBPE_OK;) {
        bbpe_pretokens block = {text, n, start, ends, 0, false};
        for (; i < pretokens && block.count < BBPE_LOOKUP_BATCH; i++) {
            if (!bbpe_ends_next(given + i, n, &end)) state->status = BBPE_CHANGED;
            if (end != start) start = ends[block.count++] = end;
        }
        block.has_3byte = bbpe_utf8_has_3byte(text + block.start, start - block.start);
        out = bbpe_encode_pretokens(self, state, &block, out);
    }
    out = bbpe_miss_queue_flush(self, state, out);
    *count = (size_t)(out - ids);
    return state->status;
}
