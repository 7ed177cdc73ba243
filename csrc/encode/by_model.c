/* The ids of one piece, merged alone or by another model than BPE. */
#include "encode/internal.h"

enum {
    UNMATCHED = 1 << 15, /* bytes of long pieces: with o200k_base the heap merges them in 10 ms, and matching is made in 25 */
    ASKED = 1 << 13,     /* the same where a file may have it, which is read in 3 ms */
    SCANNED = 8,         /* times as fast as the heap short pieces are scanned */
    SMALL = 5,           /* half bytes a token; letters of DNA have 4, and long words of English 11 */
};

/* The exact matching of long pieces, as soon as to go on without it has cost as much as it takes to have it; or NULL.
 * `cost`: of a piece without it, in bytes that the heap merges. */
static const bbpe_bpe_match *match_for(const bbpe_encoder *self, bbpe_encode_state *state, size_t cost) {
    if (self->match == NULL) return NULL;
    const bbpe_bpe_match *match = bbpe_shared_pointer_get(self->match);
    state->unmatched += match != NULL ? 0 : cost;
    if (state->unmatched >= (self->ask == NULL ? UNMATCHED : ASKED)) {
        state->unmatched = 0;
        if (self->ask != NULL) self->ask(self->owner);
        match = bbpe_encoder_match(self);
    }
    return match != NULL && match->is_exact ? match : NULL;
}

/* Merge a piece that is too long for a batch.  The longest compatible tokens are the fastest way, but not for letters of ASCII
 * with small tokens, as DNA has: there most of the tokens that fit are not compatible. */
static bbpe_status merge_long(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                              uint32_t *ids, size_t *count) {
    const bbpe_bpe *model = self->model.bpe;
    const bool is_scanned = bbpe_bpe_is_short(model, n), by_vectors = is_scanned && self->merge_one != NULL;
    const bool has_small = by_vectors && state->has_small_tokens && bytes[n / 2] < 0x80;
    const bbpe_bpe_match *match = has_small ? NULL : match_for(self, state, is_scanned ? n / SCANNED : n);
    if (match != NULL) return bbpe_bpe_match_encode(match, model, &state->work, bytes, n, ids, count);
    if (!is_scanned) return bbpe_bpe_merge_long(model, &state->work, bytes, n, 1, ids, count);
    *count = by_vectors ? self->merge_one(model, bytes, n, ids) : bbpe_bpe_merge_short(model, bytes, n, 1, ids);
    return BBPE_OK;
}

/* The owner that bbpe_bpe_merge_repeats hands to merge_all. */
typedef struct {
    const bbpe_encoder *encoder;
    bbpe_encode_state *state;
} merger;

static bbpe_status merge_all(void *owner, const uint8_t *bytes, size_t n, uint32_t *ids, size_t *count) {
    const merger *self = owner;
    const bbpe_bpe *model = self->encoder->model.bpe;
    if (n > BBPE_CACHE_LONG && (*count = bbpe_bpe_merge_runs(model, &self->state->work, bytes, n, ids)) > 0) return BBPE_OK;
    if (n <= BBPE_MERGE_BATCH_BYTES && bbpe_bpe_is_short(model, n)) {
        *count = bbpe_bpe_merge_short(model, bytes, n, 1, ids);
        return BBPE_OK;
    }
    const bbpe_status status = merge_long(self->encoder, self->state, bytes, n, ids, count);
    self->state->has_small_tokens = *count * SMALL > 2 * n;
    return status;
}

static size_t merge_alone(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                          bool is_part, uint32_t *ids) {
    const bbpe_bpe *model = self->model.bpe;
    merger owner = {self, state};
    size_t count = 0;
    if (((self->has_wholes && !is_part) || n > BBPE_CACHE_LONG) && bbpe_bpe_find(model, bytes, n, is_part, ids)) return 1;
    if (n >= BBPE_BPE_REPEATS && bbpe_bpe_merge_repeats(model, bytes, n, merge_all, &owner, ids, &count)) return count;
    const bbpe_status status = merge_all(&owner, bytes, n, ids, &count);
    if (BBPE_LIKELY(status == BBPE_OK)) return count;
    state->status = status;
    return 0;
}

static BBPE_NOINLINE size_t encode_by_other_model(const bbpe_encoder *self, bbpe_encode_state *state,
                                                  const uint8_t *bytes, size_t n, uint32_t *ids) {
    size_t count = 0;
    const bbpe_status status = self->model.encode(self->model.self, &state->scratch, bytes, n, ids, &count);
    if (BBPE_LIKELY(status == BBPE_OK)) return count;
    state->status = status;
    return 0;
}

size_t bbpe_encode_by_model(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n, bool is_part,
                            uint32_t *ids) {
    if (self->model.bpe == NULL) return encode_by_other_model(self, state, bytes, n, ids);
    return bbpe_bpe_put_outputs(self->model.bpe, ids, merge_alone(self, state, bytes, n, is_part, ids));
}
