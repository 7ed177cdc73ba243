/* Where a text may be cut, and a long text that threads encode in parts. */
#include "encode/internal.h"
#include "text/text.h"

enum {
    LEAST_CAPACITY = 16, /* bytes, which transcoding asks for */
    NEAR = 128       /* code units: a text seldom has to be looked at further to be cut */
};

/* A letter between others of its kind, where a word may be cut though the pattern sees one pretoken. */
static bool is_caseless(const bbpe_scheme *scheme, uint32_t set) {
    return set & scheme->word & BBPE_SET_L & ~(BBPE_SET(UPPER) | BBPE_SET(LOWER));
}

/* A cut point inside a word, looking up to `stop`.  In a pattern with cases the word must go on without any, or its
 * end could move. */
static size_t cut_in_word(const bbpe_encoder *self, const uint8_t *text, size_t start, size_t stop, size_t n) {
    size_t cut = BBPE_SPLIT_NO_CUT, next;
    bbpe_character left = {0, 0};
    uint32_t before = 0;
    for (size_t i = start; i < stop; i = next) {
        const uint32_t set = bbpe_uclass_at(text, i, n, &next);
        bbpe_character right = {0, (unsigned)(next - i)};
        memcpy(&right.bytes, text + i, right.length);
        if (cut == BBPE_SPLIT_NO_CUT) {
            if (left.length && is_caseless(&self->scheme, before) && is_caseless(&self->scheme, set)
                && left.length + right.length > 2 && bbpe_cut_points_between(&self->cuts, left, right))
                cut = i;
        } else if (set & (BBPE_SET(UPPER) | BBPE_SET(LOWER))) {
            cut = BBPE_SPLIT_NO_CUT;
        }
        if (cut != BBPE_SPLIT_NO_CUT && (!self->scheme.cased || !(set & self->scheme.word))) return cut;
        left = right;
        before = set;
    }
    return BBPE_SPLIT_NO_CUT;
}

/* Where UTF-8 may be cut, from `start` on. */
static size_t cut_utf8(const bbpe_encoder *self, const uint8_t *text, size_t start, size_t n, size_t window) {
    const size_t stop = n - start > window ? start + window : n;
    const size_t cut = bbpe_split_cut(&self->scheme, text, start, n, window);
    /* the parts of a word would be looked up as whole pretokens */
    if (cut != BBPE_SPLIT_NO_CUT || !self->has_cuts || self->has_wholes || self->scheme.han_run) return cut;
    while (start < n && bbpe_utf8_is_tail(text[start])) start++;
    return cut_in_word(self, text, start, stop, n);
}

/* Where code units of a str may be cut: they are transcoded for it. */
static size_t cut_code_units(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                        size_t n, size_t window) {
    const size_t stop = n - start > window ? start + window : n;
    size_t next = start;
    if (!bbpe_encode_state_window(state, bbpe_encode_bound(text.unit_size, stop - start) + LEAST_CAPACITY)) return BBPE_SPLIT_NO_CUT;
    const size_t used = bbpe_transcode_utf8(text.units, text.unit_size, start, stop, &next, state->window,
                                            state->window_capacity);
    const size_t unsure = stop < n ? 3 : 0; /* the last character may be the half of a pair */
    if (used <= LEAST_CAPACITY + unsure) return BBPE_SPLIT_NO_CUT;
    const size_t cut = cut_utf8(self, state->window, LEAST_CAPACITY, used, used - unsure - LEAST_CAPACITY);
    if (cut == BBPE_SPLIT_NO_CUT) return cut;
    /* as many code units as fill the window up to the cut, which is after the half of a pair that may have begun it */
    bbpe_transcode_utf8(text.units, text.unit_size, start, stop, &next, state->window, cut);
    return next;
}

size_t bbpe_encode_cut(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                       size_t n, size_t window) {
    if (text.unit_size == 0) return cut_utf8(self, text.units, start, n, window);
    state->status = BBPE_OK;
    for (size_t near = NEAR; near < window; near *= 8) {
        const size_t cut = cut_code_units(self, state, text, start, n, near);
        if (cut != BBPE_SPLIT_NO_CUT) return cut;
    }
    return cut_code_units(self, state, text, start, n, window);
}

size_t bbpe_encode_cuts(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t n, size_t chunk,
                        int64_t *cuts) {
    const uint8_t *const bytes = text.units;
    const size_t size = text.unit_size > 0 ? text.unit_size : 1;
    size_t count = 0;
    cuts[0] = 0;
    /* each is far from the others, and its cache line was not read before */
    for (size_t at = chunk; at < n; at += chunk) BBPE_PREFETCH(bytes + at * size);
    for (size_t at = chunk; n > chunk && at < n - chunk / 2; at += chunk) {
        const size_t cut = bbpe_encode_cut(self, state, text, at, n, chunk);
        if (cut == BBPE_SPLIT_NO_CUT) continue;
        cuts[++count] = (int64_t)cut;
        at = cut;
    }
    cuts[++count] = (int64_t)n;
    return count;
}

static bbpe_status encode_job(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_cut_text *text,
                              const bbpe_output_job *job, uint32_t *ids, size_t *count) {
    size_t start, end;
    *count = 0;
    if (!bbpe_ends_part(text->cuts + job->parts.start, text->cuts + job->parts.stop, text->length, &start, &end))
        return BBPE_CHANGED;
    if (bbpe_encode_bound(text->text.unit_size, end - start) > job->most) return BBPE_CHANGED;
    return start < end ? bbpe_encode_range(self, state, text->text, start, end, ids, count) : BBPE_OK;
}

bool bbpe_encode_next_parts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_cut_text *text,
                            bbpe_ordered_output *parts, size_t thread, bbpe_status *status) {
    bbpe_output_job job;
    uint32_t *ids;
    size_t count;
    if (!bbpe_ordered_output_take(parts, thread, &job)) return false;
    *status = bbpe_ordered_output_begin(parts, thread, &job, &ids);
    if (*status || ids == NULL) return false;
    *status = encode_job(self, state, text, &job, ids, &count);
    if (!*status) *status = bbpe_ordered_output_add(parts, thread, &job, count);
    return !*status;
}
