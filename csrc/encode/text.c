/* Texts that are not UTF-8 in memory, and where a text may be cut. */
#include "encode/encode.h"
#include "memory/memory.h"
#include "text/transcode.h"

enum {
    WINDOW = 1 << 16, /* bytes of a text at a time as UTF-8: they stay in the L2 cache */
    LOOK_BACK = 1 << 10, /* how far before the end of a window a cut is looked for first */
    LEAST_ROOM = 16,  /* what transcoding asks for */
    NEAR = 128,       /* units: a text seldom has to be looked at further to be cut */
};

/* Where the text so far, window[0..n), may be cut; 0 when nowhere. */
static size_t last_cut(const bbpe_scheme *scheme, const uint8_t *window, size_t n) {
    for (size_t back = LOOK_BACK; back < 2 * n; back *= 8) {
        const size_t from = back < n ? n - back : 1;
        const size_t cut = bbpe_split_cut(scheme, window, from, n, n);
        if (cut != BBPE_SPLIT_NO_CUT) return cut;
    }
    return 0;
}

bool bbpe_encode_state_window(bbpe_encode_state *self, size_t bytes) {
    uint8_t *window = bbpe_memory_reserve(self->window, &self->window_capacity, bytes, 1);
    if (window == NULL) self->status = BBPE_NO_MEMORY;
    else self->window = window;
    return window != NULL;
}

/* The units of a text that are not yet encoded, and what stands in the window. */
typedef struct {
    bbpe_encode_text text;
    size_t start, end, used, room;
} window_reader;

/* Fill the window on; the bytes at its beginning that can be encoded now go to `*cut`.  False at the end. */
static bool read_window(window_reader *self, const bbpe_encoder *encoder, bbpe_encode_state *state, size_t *cut) {
    if (self->start >= self->end || !bbpe_encode_state_window(state, self->room)) return false;
    self->used += bbpe_transcode_utf8(self->text.units, self->text.unit_size, self->start, self->end, &self->start,
                                      state->window + self->used, self->room - self->used);
    *cut = self->start == self->end ? self->used : last_cut(&encoder->scheme, state->window, self->used);
    return true;
}

static void drop_from_window(window_reader *self, bbpe_encode_state *state, size_t cut) {
    self->used -= cut;
    memmove(state->window, state->window + cut, self->used);
    /* a pretoken may be longer than a window */
    self->room = self->used + LEAST_ROOM > WINDOW / 2 ? 2 * self->used + WINDOW : WINDOW;
}

bbpe_status bbpe_encode_units(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, uint32_t *ids, size_t *count) {
    window_reader reader = {text, start, end, 0, WINDOW};
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
    window_reader reader = {text, start, end, 0, WINDOW};
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

/* Where UTF-8 may be cut at or behind `start`. */
static size_t cut_utf8(const bbpe_encoder *self, const uint8_t *text, size_t start, size_t n, size_t window) {
    const size_t stop = n - start > window ? start + window : n;
    const size_t cut = bbpe_split_cut(&self->scheme, text, start, n, window);
    /* the parts of a word would be looked up as whole pretokens */
    if (cut != BBPE_SPLIT_NO_CUT || !self->has_cuts || self->has_wholes || self->scheme.han_run) return cut;
    while (start < n && bbpe_utf8_is_tail(text[start])) start++;
    return cut_in_word(self, text, start, stop, n);
}

/* The same in units of a str, which have to be transcoded for it. */
static size_t cut_units(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                        size_t n, size_t window) {
    const size_t stop = n - start > window ? start + window : n;
    size_t next = start;
    if (!bbpe_encode_state_window(state, bbpe_encode_bound(text.unit_size, stop - start) + LEAST_ROOM)) return BBPE_SPLIT_NO_CUT;
    const size_t used = bbpe_transcode_utf8(text.units, text.unit_size, start, stop, &next, state->window,
                                            state->window_capacity);
    const size_t unsure = stop < n ? 3 : 0; /* the last character may be the half of a pair */
    if (used <= LEAST_ROOM + unsure) return BBPE_SPLIT_NO_CUT;
    const size_t cut = cut_utf8(self, state->window, LEAST_ROOM, used, used - unsure - LEAST_ROOM);
    if (cut == BBPE_SPLIT_NO_CUT) return cut;
    /* as many units as fill the window up to the cut, which lies behind the half of a pair that may have begun it */
    bbpe_transcode_utf8(text.units, text.unit_size, start, stop, &next, state->window, cut);
    return next;
}

size_t bbpe_encode_cut(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                       size_t n, size_t window) {
    if (text.unit_size == 0) return cut_utf8(self, text.units, start, n, window);
    state->status = BBPE_OK;
    for (size_t near = NEAR; near < window; near *= 8) {
        const size_t cut = cut_units(self, state, text, start, n, near);
        if (cut != BBPE_SPLIT_NO_CUT) return cut;
    }
    return cut_units(self, state, text, start, n, window);
}
