/* Texts that pass the pipeline: its stretches are encoded some at a time, so memory does not grow with their number. */
#include "encode/internal.h"

enum {
    MOST_STRETCHES = 4096,
    MOST_BYTES = 1 << 18, /* of stretches: they are still in the cache when they are encoded */
};

/* -- stretches one by one, whose ids depend on more than their text ---------------------------------------------- */

/* The ids of a pretoken, or of the words that the model makes of it, with merges skipped at random. */
static bbpe_status merge_pretoken(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                  bbpe_bpe_dropout *dropout, size_t *total) {
    const bbpe_bpe *const bpe = self->model.merges;
    const uint8_t *words = text;
    size_t whole = n, count = 1, *ends = &whole;
    bbpe_status status = BBPE_OK;
    if (self->model.mark != NULL) {
        if (n > SIZE_MAX / 16 || !bbpe_encode_state_window(state, n * (sizeof *ends + 5))) return BBPE_NO_MEMORY;
        ends = (size_t *)(void *)state->window;
        uint8_t *const marked = (uint8_t *)(ends + n);
        words = marked;
        status = self->model.mark(self->model.self, &state->scratch, text, n, marked, ends, &count);
    }
    if (status == BBPE_OK && count > 0) status = bbpe_encode_state_reserve(state, *total + ends[count - 1]);
    for (size_t i = 0, start = 0; i < count && status == BBPE_OK; start = ends[i++]) {
        size_t found = 0;
        uint32_t *const ids = state->loan.ids + *total;
        status = bbpe_bpe_merge_dropout(bpe, &state->work, words + start, ends[i] - start, dropout, ids, &found);
        *total += bbpe_bpe_put_outputs(bpe, ids, found);
    }
    return status;
}

static bbpe_status merge_pretokens(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, const size_t *ends,
                                   size_t start, size_t count, bbpe_bpe_dropout *dropout, size_t *total) {
    bbpe_status status = BBPE_OK;
    for (size_t i = 0; i < count && status == BBPE_OK; start = ends[i++])
        if (ends[i] > start) status = merge_pretoken(self, state, text + start, ends[i] - start, dropout, total);
    return status;
}

/* Encode a stretch with dropout after `*total` ids. */
static bbpe_status merge_stretch(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_stretch *stretch,
                                 bbpe_bpe_dropout *dropout, size_t *total) {
    size_t *const ends = state->desk.ends;
    bool has_3byte = false;
    bbpe_status status = BBPE_OK;
    if (stretch->pretokens != NULL)
        return merge_pretokens(self, state, stretch->text, stretch->pretokens, 0, stretch->pretoken_count, dropout, total);
    for (size_t start = 0; start < stretch->n && status == BBPE_OK;) {
        const size_t count =
            self->fill(&self->scheme, stretch->text, start, stretch->n, ends, BBPE_LOOKUP_BATCH, &has_3byte);
        status = merge_pretokens(self, state, stretch->text, ends, start, count, dropout, total);
        start = ends[count - 1];
    }
    return status;
}

/* Let unknown ids in a row be one; returns how many of them are left. */
static size_t fuse(uint32_t *ids, size_t count, uint32_t unknown) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] != unknown || kept == 0 || ids[kept - 1] != unknown) ids[kept++] = ids[i];
    return kept;
}

static bbpe_status encode_each(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pipeline *rules,
                               bbpe_bpe_dropout *dropout, size_t *counts, size_t *total) {
    const bbpe_pipeline_run *const run = &state->loan.run;
    for (size_t i = 0; i < run->count; i++) {
        bbpe_stretch stretch = run->stretches[i];
        const bool ends_text = stretch.ends_text;
        size_t found = 0;
        bbpe_status status = bbpe_encode_state_reserve(state, *total + stretch.n + 1);
        const size_t before = *total;
        stretch.ends_text = true;
        stretch.id = BBPE_STRETCH_NO_ID;
        if (status == BBPE_OK && dropout != NULL) status = merge_stretch(self, state, &stretch, dropout, total);
        else if (status == BBPE_OK) {
            status = bbpe_encode_stretches(self, state, &stretch, 1, state->loan.ids + *total, &found);
            *total += found;
        }
        if (status == BBPE_OK) status = bbpe_encode_state_reserve(state, *total + 1);
        if (status != BBPE_OK) return status;
        if (rules->fuses) *total = before + fuse(state->loan.ids + before, *total - before, rules->fused);
        if (run->stretches[i].id != BBPE_STRETCH_NO_ID) state->loan.ids[(*total)++] = run->stretches[i].id;
        *counts += *total - before;
        counts += ends_text;
    }
    return BBPE_OK;
}

/* -- stretches, many at a time ----------------------------------------------------------------------------------- */

static bbpe_status encode_together(const bbpe_encoder *self, bbpe_encode_state *state, bool keeps, size_t *counts,
                                   size_t *total) {
    const bbpe_pipeline_run *const run = &state->loan.run;
    const size_t before = counts[0];
    uint32_t *ids = NULL;
    size_t written = 0;
    if (keeps) {
        if (bbpe_encode_state_reserve(state, *total + run->bytes + run->count) != BBPE_OK) return BBPE_NO_MEMORY;
        ids = state->loan.ids + *total;
    }
    const bbpe_status status = bbpe_encode_stretches(self, state, run->stretches, run->count, ids, counts);
    if (status != BBPE_OK) return status;
    for (size_t i = 0, text = 0; i < run->count; i++) {
        const bool is_last = i + 1 == run->count;
        if (run->stretches[i].ends_text || is_last) written += counts[text++];
    }
    counts[0] += before;
    *total += written;
    return BBPE_OK;
}

/* Encode the stretches of the run, which begin in text `first`; `*total` ids come before theirs. */
static bbpe_status encode_run(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pipeline *rules,
                              const bbpe_encode_want *want, size_t *counts, size_t *total) {
    bbpe_pipeline_run *const run = &state->loan.run;
    if (run->count == 0) return BBPE_OK;
    const bbpe_status status = want->dropout != NULL || rules->fuses
                                   ? encode_each(self, state, rules, want->dropout, counts, total)
                                   : encode_together(self, state, want->keeps, counts, total);
    if (status == BBPE_OK) bbpe_pipeline_empty(run);
    return status;
}

/* Texts that nothing changes and in which nothing is looked for. */
static bbpe_status encode_plain(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_text *texts,
                                const size_t *lengths, size_t count, const bbpe_encode_want *want, size_t *counts) {
    size_t bound = 0;
    if (want->limit != SIZE_MAX && count == 1)
        return bbpe_encode_count(self, state, texts[0], 0, lengths[0], want->limit, want->keeps, counts);
    for (size_t i = 0; i < count; i++) bound += bbpe_encode_bound(texts[i].unit_size, lengths[i]);
    if (want->keeps && bbpe_encode_state_reserve(state, bound) != BBPE_OK) return BBPE_NO_MEMORY;
    return bbpe_encode_texts(self, state, texts, lengths, count, want->keeps ? state->loan.ids : NULL, counts);
}

bbpe_status bbpe_encode_call(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pipeline_call *call,
                             const bbpe_encode_text *texts, const size_t *lengths, size_t count,
                             const bbpe_encode_want *want, size_t *counts, size_t *failed) {
    bbpe_pipeline_run *const run = &state->loan.run;
    size_t first = 0, total = 0;
    bbpe_status status = BBPE_OK;
    *failed = count;
    if (want->dropout == NULL && bbpe_pipeline_call_is_plain(call))
        return encode_plain(self, state, texts, lengths, count, want, counts);
    run->is_done = true;
    bbpe_pipeline_empty(run);
    for (size_t i = 0; i < count && status == BBPE_OK; i++) {
        status = bbpe_pipeline_begin(run, texts[i].units, texts[i].unit_size, lengths[i]);
        counts[i] = 0;
        while (status == BBPE_OK && !run->is_done && total <= want->limit) {
            status = bbpe_pipeline_next(run, call);
            if (status == BBPE_OK && run->problem != BBPE_PIPELINE_FINE) {
                *failed = i;
                return BBPE_OK;
            }
            const bool is_enough = run->count >= MOST_STRETCHES || run->bytes >= MOST_BYTES;
            if (status != BBPE_OK || !(is_enough || (i + 1 == count && run->is_done))) continue;
            status = encode_run(self, state, call->pipeline, want, counts + first, &total);
            first = run->is_done ? i + 1 : i;
        }
    }
    return status;
}
