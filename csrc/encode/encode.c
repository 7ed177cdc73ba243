/* Blocks of pretokens, and the states that calls borrow. */
#include "encode/lookup_batch.h"

#include "threads/ends.h"
#include "memory/memory.h"

enum {
    MOST_ROUNDED = 1 << 24, /* ids, 64 MiB */
    PIN = 1 << 15           /* bytes: there is hardly room for so many among what was freed */
};

bbpe_status bbpe_encoder_init(bbpe_encoder *self, const bbpe_model *model, const bbpe_scheme *scheme,
                              bbpe_split_fill fill) {
    memset(self, 0, sizeof *self);
    self->model = *model;
    self->fill = fill;
    if (scheme != NULL) self->scheme = *scheme;
    self->has_wholes = model->bpe != NULL && model->bpe->whole_pretokens && model->bpe->unmade_count > 0;
    self->has_cuts = model->tokens != NULL;
    if (model->bpe != NULL) self->merge_lanes = bbpe_lanes_select();
    bbpe_status status = BBPE_OK;
    self->loops = bbpe_stage_select();
    self->cut = bbpe_cut_units_select();
    /* what may be a token as a whole is not cut */
    if (self->has_cuts)
        status = bbpe_cut_points_init(&self->cuts, model->tokens, self->has_wholes ? 0 : model->joining);
    /* 16 ms for 100,000 tokens: made only when long units come, it would add half to the first 8 MB of Chinese */
    if (status == BBPE_OK && model->bpe != NULL) status = bbpe_bpe_match_init(&self->match, model->bpe);
    if (status == BBPE_TOO_LARGE) return BBPE_OK;
    if (status != BBPE_OK) bbpe_encoder_free(self);
    return status;
}

void bbpe_encoder_free(bbpe_encoder *self) {
    bbpe_bpe_match_free(&self->match);
    bbpe_cut_points_free(&self->cuts);
    memset(self, 0, sizeof *self);
}

/* All but the desk, the content of which is never asked for. */
static void clear(bbpe_encode_state *self) {
    memset(self, 0, offsetof(bbpe_encode_state, desk));
}

void bbpe_encode_state_init(bbpe_encode_state *self) {
    clear(self);
    bbpe_hot_cache_use(&self->hot, self->first_entries, BBPE_ENCODE_FIRST_ENTRIES, self->first_slots,
                       BBPE_ENCODE_FIRST_SLOTS);
}

bool bbpe_encode_state_grow(bbpe_encode_state *self, size_t entries, size_t slots) {
    bbpe_hot_cache hot;
    if (self->is_grown && entries == self->hot.entry_count) return bbpe_hot_cache_grow_slots(&self->hot, slots);
    if (bbpe_hot_cache_init(&hot, entries, slots) != BBPE_OK) return false;
    bbpe_hot_cache_take(&hot, &self->hot);
    if (self->is_grown) bbpe_hot_cache_free(&self->hot);
    self->hot = hot;
    self->kept = 0;
    return self->is_grown = true;
}

void bbpe_encode_state_free(bbpe_encode_state *self) {
    if (self->is_grown) bbpe_hot_cache_free(&self->hot);
    if (self->shared != NULL) bbpe_shared_cache_drop(self->shared);
    bbpe_bpe_work_free(&self->work);
    bbpe_model_scratch_free(&self->scratch);
    bbpe_memory_free(self->window);
    bbpe_memory_free(self->ids);
    bbpe_memory_free(self->pin);
    bbpe_room_close(&self->early);
    clear(self);
}

void bbpe_encode_state_pin(bbpe_encode_state *self, bool serves) {
    void *const before = self->pin;
    self->pin = serves ? bbpe_memory_new(PIN, 1) : NULL; /* without memory there is none */
    bbpe_memory_free(before);
}

bbpe_status bbpe_encode_state_reserve(bbpe_encode_state *self, size_t count) {
    size_t room = 1024;
    if (count > SIZE_MAX - BBPE_ENCODE_SLACK) return BBPE_TOO_LARGE;
    /* parts of a text are of nearly one size: none has to move the ids of the last one, which nobody asks for; a text
     * of gigabytes takes no more address space than it needs */
    while (room < count + BBPE_ENCODE_SLACK && room < MOST_ROUNDED) room *= 2;
    if (room < count + BBPE_ENCODE_SLACK) room = count + BBPE_ENCODE_SLACK;
    uint32_t *ids = bbpe_memory_reserve(self->ids, &self->ids_capacity, room, sizeof *ids);
    if (ids == NULL) return BBPE_NO_MEMORY;
    self->ids = ids;
    return BBPE_OK;
}

/* Units behind the last of which 16 bytes may be read. */
BBPE_INLINE uint32_t *encode_inside(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pretokens *block,
                                    uint32_t *ids) {
    bbpe_stage *const stage = &state->desk.stage;
    self->loops->fill(stage, &state->hot, block, block->wide && self->has_wholes);
    ids = self->loops->emit(stage, block->count, self, state, block->text, ids);
    bbpe_encode_late(self, state);
    return ids;
}

/* The last units of a text.  Those that begin within 15 bytes of its end, all of them short, are copied to where more
 * may be read: of a text of 20 characters that is nearly all. */
static BBPE_NOINLINE uint32_t *encode_last(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_pretokens block,
                                           uint32_t *ids) {
    uint8_t tail[32] = {0};
    size_t tail_ends[15], begin = block.start;
    const size_t count = block.count, n = block.n;
    for (block.count = 0; block.count < count && (begin & ~BBPE_CUT_PART) + 16 <= n;) begin = block.ends[block.count++];
    if (block.count > 0) ids = encode_inside(self, state, &block, ids);
    const size_t left = count - block.count, from = begin & ~BBPE_CUT_PART;
    if (left == 0) return ids;
    memcpy(tail, block.text + from, n - from);
    for (size_t i = 0; i < left; i++) tail_ends[i] = block.ends[block.count + i] - from;
    const bbpe_pretokens rest = {tail, sizeof tail, begin & BBPE_CUT_PART, tail_ends, left, block.wide};
    return encode_inside(self, state, &rest, ids);
}

static uint32_t *encode_units(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pretokens *block, uint32_t *ids) {
    if (block->count == 0 || (block->ends[block->count - 1] & ~BBPE_CUT_PART) + 16 <= block->n)
        return encode_inside(self, state, block, ids);
    return encode_last(self, state, *block, ids);
}

uint32_t *bbpe_encode_pretokens(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pretokens *block,
                                uint32_t *ids) {
    if (!self->has_cuts || !block->wide) return encode_units(self, state, block, ids);
    size_t *const ends = state->desk.unit_ends;
    bbpe_cutting cutting = bbpe_cutting_of(block->text, block->n, block->start, block->ends, block->count);
    bbpe_pretokens units = {block->text, block->n, block->start, ends, 0, true};
    while ((units.count = self->cut(&self->cuts, &cutting, self->has_wholes ? BBPE_CUT_PART : 0, ends, BBPE_STAGE)) > 0) {
        ids = encode_units(self, state, &units, ids);
        units.start = ends[units.count - 1];
    }
    return ids;
}

/* The next pretokens of a text, as many as there is room for. */
static bbpe_pretokens split_next(const bbpe_encoder *self, const uint8_t *text, size_t start, size_t n, size_t *ends) {
    bbpe_pretokens block = {text, n, start, ends, 0, false};
    block.count = self->fill(&self->scheme, text, start, n, ends, BBPE_STAGE, &block.wide);
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
    out = bbpe_encode_pending(self, state, out);
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
        uint32_t *ids = state->ids + kept;
        uint32_t *out = bbpe_encode_pretokens(self, state, &block, ids);
        *count += (size_t)(bbpe_encode_pending(self, state, out) - ids);
        start = end;
    }
    return state->status;
}

bbpe_status bbpe_encode_dropout(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                const int64_t *ends, size_t pretokens, bbpe_bpe_dropout *dropout, uint32_t *ids,
                                size_t *count) {
    size_t start = 0, end = 0;
    state->status = BBPE_OK;
    *count = 0;
    for (size_t i = 0; i < pretokens && state->status == BBPE_OK; i++) {
        size_t found = 0;
        if (!bbpe_ends_next(ends + i, n, &end)) return state->status = BBPE_CHANGED;
        state->status = bbpe_bpe_merge_dropout(self->model.bpe, &state->work, text + start, end - start, dropout,
                                               ids + *count, &found);
        *count += bbpe_bpe_put_outputs(self->model.bpe, ids + *count, found);
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
        for (; i < pretokens && block.count < BBPE_STAGE; i++) {
            if (!bbpe_ends_next(given + i, n, &end)) state->status = BBPE_CHANGED;
            if (end != start) start = ends[block.count++] = end;
        }
        block.wide = bbpe_utf8_has_wide(text + block.start, start - block.start);
        out = bbpe_encode_pretokens(self, state, &block, out);
    }
    out = bbpe_encode_pending(self, state, out);
    *count = (size_t)(out - ids);
    return state->status;
}

bbpe_status bbpe_encode_range(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, uint32_t *ids, size_t *count) {
    state->status = BBPE_OK;
    *count = 0;
    if (text.unit_size == 0)
        return bbpe_encode_utf8(self, state, (const uint8_t *)text.units + start, end - start, ids, count);
    return bbpe_encode_units(self, state, text, start, end, ids, count);
}
