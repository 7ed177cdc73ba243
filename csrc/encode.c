/* Blocks of pretokens, and the states that calls borrow. */
#include "encode_cut.h"

#include "memory.h"

enum { MOST_ROUNDED = 1 << 24 }; /* ids, 64 MiB */

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
    if (self->has_cuts) status = bbpe_cut_points_init(&self->cuts, model->tokens, model->joining);
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

void bbpe_encode_state_init(bbpe_encode_state *self) {
    memset(self, 0, sizeof *self);
    bbpe_hot_cache_use(&self->hot, self->first_entries, BBPE_ENCODE_FIRST_ENTRIES, self->first_slots,
                       BBPE_ENCODE_FIRST_SLOTS);
}

bool bbpe_encode_state_grow(bbpe_encode_state *self, size_t entries, size_t slots) {
    bbpe_hot_cache hot;
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
    bbpe_room_close(&self->early);
    memset(self, 0, sizeof *self);
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

uint32_t *bbpe_encode_pretoken(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                               uint32_t *ids) {
    bbpe_stage_unit units[BBPE_STAGE];
    bbpe_stage stage = bbpe_stage_over(units);
    if (!self->has_cuts) return bbpe_encode_unit(self, state, bytes, n, false, ids);
    bbpe_cut cut = {self, state, bytes, n, 0, 0, &n, &n + 1};
    ids = bbpe_cut_rest(&cut, &stage, ids);
    return bbpe_stage_emit(&stage, self, state, bytes, ids);
}

/* Whether a stretch of text of which 16 bytes more may be read has characters of three bytes and more.  Of ASCII that is
 * soon known; else the compiler keeps the greatest bytes of whole vectors. */
static bool has_wide_text(const uint8_t *text, size_t n) {
    const size_t whole = (n + 15) & ~(size_t)15;
    bbpe_cache_words seen[4] = {{0}}, vector;
    uint8_t most = 0;
    for (size_t i = 0; i + 16 <= whole; i += 16) {
        memcpy(&vector, text + i, sizeof vector);
        seen[i / 16 % 4] |= vector;
    }
    seen[0] |= seen[1] | seen[2] | seen[3];
    if (((seen[0][0] | seen[0][1]) & 0x8080808080808080u) == 0) return false;
    for (size_t i = 0; i < whole; i++) most = text[i] > most ? text[i] : most;
    return most >= 0xE0;
}

/* All of a block's pretokens: keys first and their entries prefetched, then ids.  The text has n bytes, of which 16
 * can be read at every pretoken; `may_be_wide` if it has characters of three bytes. */
BBPE_INLINE uint32_t *encode_block(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                   size_t start, const size_t *ends, size_t count, uint32_t *ids, bool may_be_wide) {
    const bbpe_hot_cache *const hot = &state->hot;
    bbpe_stage_unit units[BBPE_STAGE];
    bbpe_stage stage = bbpe_stage_over(units);
    const size_t *const last = ends + count;
#pragma GCC unroll 2
    for (const size_t *end = ends; end < last; start = *end++) {
        bbpe_cut cut = {self, state, text, n, start, start, end, last};
        if (may_be_wide && bbpe_is_three(text + start)) {
            ids = bbpe_cut_stretch(&cut, &stage, ids);
            start = cut.start;
            end = cut.end;
            if (end == last) break;
        }
        const size_t length = *end - start;
        if (may_be_wide && (cut.unit > start || bbpe_starts_wide(text + start, length))) {
            ids = bbpe_cut_rest(&cut, &stage, ids);
            continue;
        }
        if (may_be_wide && !bbpe_stage_room(&stage)) ids = bbpe_stage_emit(&stage, self, state, text, ids);
        if (BBPE_LIKELY(length <= BBPE_CACHE_SHORT))
            bbpe_stage_put(&stage, hot, text + start, length, 0, true);
        else
            bbpe_stage_put_long(&stage, hot, text, start, length);
    }
    return bbpe_stage_emit(&stage, self, state, text, ids);
}

/* Its two cases, each a function of its own, or the stage would not stay in registers: 540 instead of 630 MB/s. */
static BBPE_NOINLINE uint32_t *encode_wide(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text,
                                           size_t n, size_t start, const size_t *ends, size_t count, uint32_t *ids) {
    return encode_block(self, state, text, n, start, ends, count, ids, true);
}

static BBPE_NOINLINE uint32_t *encode_plain(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text,
                                            size_t n, size_t start, const size_t *ends, size_t count, uint32_t *ids) {
    return encode_block(self, state, text, n, start, ends, count, ids, false);
}

/* Pretokens behind the last of which 16 bytes may be read. */
BBPE_INLINE uint32_t *encode_inside(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                    size_t start, const size_t *ends, size_t count, uint32_t *ids) {
    const size_t end = count ? ends[count - 1] : start;
    if (self->has_cuts && has_wide_text(text + start, end - start))
        return encode_wide(self, state, text, n, start, ends, count, ids);
    return encode_plain(self, state, text, n, start, ends, count, ids);
}

/* The last pretokens of a text.  Those that begin within 15 bytes of its end, all of them short, are copied to where more
 * may be read: of a text of 20 characters that is nearly all. */
static BBPE_NOINLINE uint32_t *encode_last(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text,
                                           size_t n, size_t start, const size_t *ends, size_t count, uint32_t *ids) {
    uint8_t tail[32] = {0};
    size_t tail_ends[15], before = 0, begin = start;
    while (before < count && begin + 16 <= n) begin = ends[before++];
    if (before > 0) {
        ids = self->has_cuts ? encode_wide(self, state, text, n, start, ends, before, ids)
                             : encode_plain(self, state, text, n, start, ends, before, ids);
    }
    if (before == count) return ids;
    memcpy(tail, text + begin, n - begin);
    for (size_t i = before; i < count; i++) tail_ends[i - before] = ends[i] - begin;
    return encode_inside(self, state, tail, sizeof tail, 0, tail_ends, count - before, ids);
}

uint32_t *bbpe_encode_pretokens(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                size_t start, const size_t *ends, size_t count, uint32_t *ids) {
    if (count == 0 || ends[count - 1] + 16 <= n) return encode_inside(self, state, text, n, start, ends, count, ids);
    return encode_last(self, state, text, n, start, ends, count, ids);
}

bbpe_status bbpe_encode_utf8(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                             uint32_t *ids, size_t *count) {
    size_t ends[BBPE_STAGE], start = 0;
    uint32_t *out = ids;
    state->seen += n;
    while (start < n && state->status == BBPE_OK) {
        const size_t found = self->fill(&self->scheme, text, start, n, ends, BBPE_STAGE);
        out = bbpe_encode_pretokens(self, state, text, n, start, ends, found, out);
        start = ends[found - 1];
    }
    out = bbpe_encode_pending(self, state, out);
    *count = (size_t)(out - ids);
    return state->status;
}

bbpe_status bbpe_encode_count_utf8(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                   size_t limit, bool keeps, size_t *count) {
    size_t ends[BBPE_STAGE], start = 0;
    while (start < n && *count <= limit && state->status == BBPE_OK) {
        const size_t found = self->fill(&self->scheme, text, start, n, ends, BBPE_STAGE);
        const size_t end = ends[found - 1], kept = keeps ? *count : 0;
        if (bbpe_encode_state_reserve(state, kept + (end - start)) != BBPE_OK) return state->status = BBPE_NO_MEMORY;
        uint32_t *ids = state->ids + kept;
        uint32_t *out = bbpe_encode_pretokens(self, state, text, n, start, ends, found, ids);
        *count += (size_t)(bbpe_encode_pending(self, state, out) - ids);
        start = end;
    }
    state->seen += start;
    return state->status;
}

bbpe_status bbpe_encode_dropout(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text,
                                const int64_t *ends, size_t pretokens, bbpe_bpe_dropout *dropout, uint32_t *ids,
                                size_t *count) {
    size_t start = 0;
    state->status = BBPE_OK;
    *count = 0;
    for (size_t i = 0; i < pretokens && state->status == BBPE_OK; i++) {
        size_t found = 0;
        const size_t end = (size_t)ends[i];
        state->status = bbpe_bpe_merge_dropout(self->model.bpe, &state->work, text + start, end - start, dropout,
                                               ids + *count, &found);
        *count += bbpe_bpe_put_outputs(self->model.bpe, ids + *count, found);
        start = end;
    }
    return state->status;
}

bbpe_status bbpe_encode_given(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text,
                              const int64_t *given, size_t pretokens, uint32_t *ids, size_t *count) {
    size_t ends[BBPE_STAGE], start = 0;
    const size_t n = pretokens ? (size_t)given[pretokens - 1] : 0;
    uint32_t *out = ids;
    state->status = BBPE_OK;
    state->seen += n;
    for (size_t i = 0; i < pretokens && state->status == BBPE_OK;) {
        size_t found = 0, begin = start;
        for (; i < pretokens && found < BBPE_STAGE; i++)
            if ((size_t)given[i] != start) start = ends[found++] = (size_t)given[i];
        out = bbpe_encode_pretokens(self, state, text, n, begin, ends, found, out);
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
