/* Texts that pass the pipeline: its stretches are encoded some at a time, so memory does not grow with their number. */
#include "encode/internal.h"

enum {
    MOST_STRETCHES = 4096,
    MOST_BYTES = 1 << 18, /* of stretches: they are still in the cache when they are encoded */
};

/* Encode the stretches of the run, which begin in text `first`; `*total` ids come before theirs. */
static bbpe_status encode_run(const bbpe_encoder *self, bbpe_encode_state *state, bool keeps, size_t *counts, size_t *total) {
    bbpe_pipeline_run *const run = &state->loan.run;
    const size_t before = counts[0];
    uint32_t *ids = NULL;
    size_t written = 0;
    if (run->count == 0) return BBPE_OK;
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
    bbpe_pipeline_empty(run);
    return BBPE_OK;
}

bbpe_status bbpe_encode_piped(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pipeline_call *call,
                              const bbpe_encode_text *texts, const size_t *lengths, size_t count,
                              const bbpe_encode_want *want, size_t *counts, size_t *failed) {
    bbpe_pipeline_run *const run = &state->loan.run;
    size_t first = 0, total = 0;
    bbpe_status status = BBPE_OK;
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
            status = encode_run(self, state, want->keeps, counts + first, &total);
            first = run->is_done ? i + 1 : i;
        }
    }
    *failed = count;
    return status;
}
