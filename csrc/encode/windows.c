/* Texts that are not UTF-8 in memory: made UTF-8 a window at a time. */
#include "encode/internal.h"
#include "text/text.h"

enum {
    WINDOW = 1 << 16, /* bytes of a text at a time as UTF-8: they stay in the L2 cache */
    LOOK_BACK = 1 << 10, /* how far before the end of a window a cut is looked for first */
    LEAST_CAPACITY = 16,  /* what transcoding asks for */
};

/* Where the text so far, window[0..n), may be cut; 0 when nowhere.  Before `uncut` it may not be cut. */
static size_t last_cut(const bbpe_scheme *scheme, const uint8_t *window, size_t uncut, size_t n) {
    const size_t first = uncut > 0 ? uncut : 1;
    for (size_t back = LOOK_BACK, end = n, from; end > first; back *= 8, end = from) {
        from = n - first > back ? n - back : first;
        const size_t cut = bbpe_split_cut(scheme, window, from, n, end - from);
        if (cut != BBPE_SPLIT_NO_CUT) return cut;
    }
    return 0;
}

/* The code units of a text that are not yet encoded, and how full the window is. */
typedef struct {
    bbpe_encode_text text;
    size_t start, end, used, capacity;
    size_t uncut; /* bytes of the window in which no cut was found */
} window_reader;

/* Fill the window on; the bytes at its beginning that can be encoded now go to `*cut`.  False at the end. */
static bool read_window(window_reader *self, const bbpe_encoder *encoder, bbpe_encode_state *state, size_t *cut) {
    if (self->start >= self->end || !bbpe_encode_state_window(state, self->capacity)) return false;
    self->used += bbpe_transcode_utf8(self->text.units, self->text.unit_size, self->start, self->end, &self->start,
                                      state->window + self->used, self->capacity - self->used);
    *cut = self->start == self->end ? self->used : last_cut(&encoder->scheme, state->window, self->uncut, self->used);
    self->uncut = *cut == 0 ? self->used : 0;
    return true;
}

static void drop_from_window(window_reader *self, bbpe_encode_state *state, size_t cut) {
    self->used -= cut;
    memmove(state->window, state->window + cut, self->used);
    /* a pretoken may be longer than a window */
    self->capacity = self->used + LEAST_CAPACITY > WINDOW / 2 ? 2 * self->used + WINDOW : WINDOW;
}

static bbpe_status encode_code_units(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                                     size_t end, uint32_t *ids, size_t *count) {
    window_reader reader = {text, start, end, 0, WINDOW, 0};
    size_t cut, found = 0;
    *count = 0;
    while (read_window(&reader, self, state, &cut)) {
        if (bbpe_encode_utf8(self, state, state->window, cut, ids + *count, &found) != BBPE_OK) break;
        *count += found;
        drop_from_window(&reader, state, cut);
    }
    return state->status;
}

bbpe_status bbpe_encode_count(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, size_t limit, bool keeps, size_t *count) {
    window_reader reader = {text, start, end, 0, WINDOW, 0};
    size_t cut;
    state->status = BBPE_OK;
    *count = 0;
    if (text.unit_size == 0)
        return bbpe_encode_count_utf8(self, state, (const uint8_t *)text.units + start, end - start, limit, keeps,
                                      count);
    while (*count <= limit && read_window(&reader, self, state, &cut)) {
        if (bbpe_encode_count_utf8(self, state, state->window, cut, limit, keeps, count) != BBPE_OK) break;
        drop_from_window(&reader, state, cut);
    }
    return state->status;
}

bbpe_status bbpe_encode_range(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, uint32_t *ids, size_t *count) {
    state->status = BBPE_OK;
    *count = 0;
    if (text.unit_size == 0)
        return bbpe_encode_utf8(self, state, (const uint8_t *)text.units + start, end - start, ids, count);
    return encode_code_units(self, state, text, start, end, ids, count);
}
