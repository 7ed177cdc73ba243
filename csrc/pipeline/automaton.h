/* Matches of a regex in a text, found by a deterministic automaton over classes of characters: the leftmost, and of those
 * the one that a backtracking search finds first.  `bbpe/splitting/automaton.py` builds the tables.
 *
 * An attempt at each position reads on until the automaton has no way on.  Attempts that read far past what they match, as
 * those of `a*b` in a text of "a", would take quadratic time.  So the bytes read in vain have a budget.  When it is spent,
 * the scratch remembers states at positions from which no match ends, and an attempt that comes to one of these is over
 * (Reps, 1998).  Then the time is linear: the length of the text times the number of states at most.  In most such texts an
 * automaton stays in one state for long.  The scratch remembers one run of such positions, which the next attempts meet first.
 *
 * A lookaround of more than one character has an automaton too.  It reads the whole text before the search, once, and marks
 * the positions where the lookaround is true.  The marks of a position choose a part of a row:
 *
 *     row:  [class 0, 1, ..., end] if none is true, [class 0, 1, ..., end] if only the first is, ...
 *
 * A byte that is not UTF-8 is a character of a class of its own.  The struct is immutable and borrows its tables.
 *
 * An automaton with too many states has no rows in advance.  A search makes the entries it comes to, and keeps them in memory
 * of its own (pipeline/state_maker.h): `made`, for the rows, and then for those of the lookarounds.
 *
 * A regex that no automaton of this kind can follow has a `host` in place of tables: the matches in a text are then asked of
 * the program that uses this library, some thousands at a time. */
#ifndef BBPE_PIPELINE_AUTOMATON_H
#define BBPE_PIPELINE_AUTOMATON_H

#include "base/utf8.h"
#include "pipeline/state_maker.h"

enum {
    BBPE_AUTOMATON_BEYOND = 255, /* in place of a class: the byte is not a character of its own */
    BBPE_AUTOMATON_BLOCK = 128,
    BBPE_AUTOMATON_FREE = 4096, /* bytes that may be read in vain, */
    BBPE_AUTOMATON_FACTOR = 4,  /* and for each byte of the text so many more */
};
#define BBPE_AUTOMATON_NONE SIZE_MAX

typedef struct {
    size_t start, end;
} bbpe_span;

typedef struct {
    bbpe_span *items;
    size_t count, capacity;
} bbpe_spans;

/* Room for `more` spans. */
bbpe_status bbpe_spans_reserve(bbpe_spans *self, size_t more);
/* Add a span. */
bbpe_status bbpe_spans_add(bbpe_spans *self, size_t start, size_t end);
void bbpe_spans_free(bbpe_spans *self);

typedef struct bbpe_automaton_scratch bbpe_automaton_scratch;
/* Adds the next matches of a regex in text[0..n), n > 0, to those of the scratch, some thousands at most: in order, without
 * overlap, and no empty one where another ends.  Sets `is_over` at the end. */
typedef bbpe_status (*bbpe_find_in_host)(const void *regex, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n);

typedef struct {
    const uint32_t *rows;          /* as those of a regex, for the lookarounds before this one */
    const bbpe_state_maker *maker; /* NULL, or what makes them while a search comes to them */
    uint32_t start, first_ending; /* it is true where the next character leads to an entry from there on */
    bool reads_back; /* from the end of the text, as a lookahead does */
} bbpe_automaton_look;

enum { BBPE_AUTOMATON_MOST_LOOKS = 8 };

typedef struct {
    const void *host_regex; /* NULL: the tables below find the matches; else `find_in_host` does */
    bbpe_find_in_host find_in_host;
    const bbpe_state_maker *maker; /* NULL: `rows` has all rows */
    const uint8_t *bytes_to_class; /* of ASCII, or of all bytes if `reads_bytes`; else BBPE_AUTOMATON_BEYOND */
    const uint16_t *blocks;        /* the classes of all code points, in two stages */
    const uint8_t *values;
    /* The first entry of the row of the next state, by state and class; the last column says where a match ends at the end of
     * the text: 0 nowhere, 1 there, 2 before the last byte.  Rows 0 and 1 have no way on; a match ends before the character
     * that leads to row 1, or to one from `first_ending` on. */
    const uint32_t *rows;
    /* By the class of the character before, the last for none; then those that refuse an empty match; then, if `goes_on`, those
     * of attempts after the place where the search begins. */
    const uint32_t *starts;
    uint32_t width, first_ending; /* `width`: classes, and the end */
    size_t entries;
    const bbpe_automaton_look *looks; /* each after those in it */
    size_t look_count;
    unsigned block_shift; /* of the blocks of a text in which dead ends are remembered */
    uint8_t invalid;
    bool may_be_empty, looks_behind, reads_bytes;
    bool goes_on;  /* a match may depend on where the search begins, which is where the last match ends */
    bool is_plain; /* neither of the host nor with lookarounds nor with rows to make */
    uint8_t idle[256];  /* by class: no match begins there */
    uint8_t skips[256]; /* by byte, if it is a character of its own: the same */
} bbpe_automaton;

/* What a search remembers; zeroed before the first use. */
struct bbpe_automaton_scratch {
    uint64_t *dead_ends; /* a hash set of positions and states, plus one */
    size_t count, capacity;
    uint64_t *path; /* those of this attempt */
    size_t path_count, path_capacity;
    size_t run_start, run_end; /* positions of dead ends in the state `run_state` */
    uint32_t run_state;
    size_t wasted;
    bool remembers;
    void *host; /* of this call */
    bbpe_spans matches; /* that the host found in this text last */
    size_t next_match;
    size_t host_byte, host_character; /* the host's: how far it has read the text, */
    size_t host_end;                  /* and one more than the character at which its last match ends, or 0 */
    bool is_asked, is_over;           /* the host, for matches in this text; and has found all */
    uint8_t *marks; /* for each position of this text, and its end: which lookarounds are true there, as bits */
    size_t marks_capacity;
    bool has_marks;
    bbpe_made_states made[1 + BBPE_AUTOMATON_MOST_LOOKS];
    bbpe_status failed; /* the making of an entry */
};

/* Complete `skips`, `entries`, `block_shift` and `is_plain`. */
void bbpe_automaton_finish(bbpe_automaton *self, size_t state_count);
void bbpe_automaton_scratch_free(bbpe_automaton_scratch *self);
/* Forget what was remembered of a text, and its matches. */
void bbpe_automaton_scratch_clear(bbpe_automaton_scratch *self);

/* As bbpe_automaton_find, of a regex that is not plain. */
bbpe_status bbpe_automaton_find_otherwise(const bbpe_automaton *self, bbpe_automaton_scratch *scratch, const uint8_t *text,
                                          size_t n, size_t from, bool refuses_empty, bbpe_span *found);

/* Make an entry of a state's row, which returns where that is now; 0 if `failed`. */
uint32_t bbpe_automaton_made(bbpe_automaton_scratch *scratch, size_t number, uint32_t state, uint32_t column);

/* As bbpe_automaton_follow, with the dead ends of the scratch, and its marks; `from` is where the attempt begins. */
bbpe_status bbpe_automaton_follow_remembering(const bbpe_automaton *self, bbpe_automaton_scratch *scratch,
                                              const uint8_t *text, size_t from, size_t n, uint32_t state, size_t *end);
/* The class of the character before text[at]. */
unsigned bbpe_automaton_class_before(const bbpe_automaton *self, const uint8_t *text, size_t at);

BBPE_INLINE unsigned bbpe_automaton_class(const bbpe_automaton *self, bool reads_bytes, const uint8_t *text, size_t i,
                                          size_t n, size_t *next) {
    const unsigned known = self->bytes_to_class[text[i]];
    *next = i + 1;
    if (reads_bytes || BBPE_LIKELY(known != BBPE_AUTOMATON_BEYOND)) return known;
    const uint32_t c = bbpe_utf8_decode(text, i, n, next);
    if (BBPE_UNLIKELY(c == BBPE_UTF8_INVALID)) return self->invalid;
    return self->values[self->blocks[c / BBPE_AUTOMATON_BLOCK] * BBPE_AUTOMATON_BLOCK + c % BBPE_AUTOMATON_BLOCK];
}

/* The first position from `i` on where a match may begin, or n. */
BBPE_INLINE size_t bbpe_automaton_skip(const bbpe_automaton *self, bool reads_bytes, const uint8_t *text, size_t i,
                                       size_t n) {
    const uint8_t *skips = self->skips;
    for (;;) {
        while (i + 4 <= n && skips[text[i]] & skips[text[i + 1]] & skips[text[i + 2]] & skips[text[i + 3]]) i += 4;
        while (i < n && skips[text[i]]) i++;
        if (i >= n || reads_bytes || text[i] < 0x80) return i;
        size_t next;
        if (!self->idle[bbpe_automaton_class(self, false, text, i, n, &next)]) return i;
        i = next;
    }
}

/* Read text[i, n) from a state on: returns the end of the match, or BBPE_AUTOMATON_NONE; `*reached` is where it stopped.
 * `marks` are those of the text, or NULL for a regex that is plain. */
BBPE_INLINE size_t bbpe_automaton_follow(const bbpe_automaton *self, bool reads_bytes, const uint8_t *marks,
                                         bbpe_automaton_scratch *scratch, const uint8_t *text, size_t i, size_t n,
                                         uint32_t state, size_t *reached) {
    const uint32_t *rows = marks != NULL && self->maker != NULL ? scratch->made[0].entries : self->rows;
    const uint32_t width = self->width, first_ending = self->first_ending;
    const uint32_t dead = 2 * (marks == NULL ? width : width << self->look_count);
    size_t end = BBPE_AUTOMATON_NONE;
    while (i < n) {
        size_t next;
        const uint32_t here = state, marked = marks != NULL ? marks[i] * width : 0;
        const uint32_t column = marked + bbpe_automaton_class(self, reads_bytes, text, i, n, &next);
        state = rows[here + column];
        if (state < dead) {
            if (marks != NULL && state == BBPE_STATE_UNMADE) {
                state = bbpe_automaton_made(scratch, 0, here, column);
                continue;
            }
            if (state) end = i;
            *reached = i;
            return end;
        }
        if (state >= first_ending) end = i;
        i = next;
    }
    *reached = n;
    const uint32_t column = (marks != NULL ? marks[n] * width : 0) + width - 1;
    uint32_t edge = rows[state + column];
    if (marks != NULL && edge == BBPE_STATE_UNMADE_END) {
        state = bbpe_automaton_made(scratch, 0, state, column);
        edge = rows[state + column];
    }
    return edge ? n + 1 - edge : end;
}

/* As bbpe_automaton_find, of a regex that is not the host's; `marks` as in bbpe_automaton_follow. */
BBPE_INLINE bbpe_status bbpe_automaton_search(const bbpe_automaton *self, bool reads_bytes, const uint8_t *marks,
                                              bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n,
                                              size_t from, bool refuses_empty, bbpe_span *found) {
    const uint32_t *later = self->starts + (self->goes_on ? 2 * self->width : 0);
    found->start = BBPE_AUTOMATON_NONE;
    for (size_t at = from;;) {
        at = bbpe_automaton_skip(self, reads_bytes, text, at, n);
        if (at >= n && (at > n || !self->may_be_empty)) return BBPE_OK;
        unsigned before = 0;
        if (self->looks_behind) before = at ? bbpe_automaton_class_before(self, text, at) : self->width - 1;
        const uint32_t *starts = at > from ? later : refuses_empty ? self->starts + self->width : self->starts;
        const uint32_t state = starts[before];
        size_t reached = at, end;
        if (BBPE_LIKELY(!scratch->remembers)) {
            end = bbpe_automaton_follow(self, reads_bytes, marks, scratch, text, at, n, state, &reached);
            scratch->wasted += reached - (end == BBPE_AUTOMATON_NONE ? at : end);
            scratch->remembers = scratch->wasted > BBPE_AUTOMATON_FREE + BBPE_AUTOMATON_FACTOR * at;
        } else {
            const bbpe_status status = bbpe_automaton_follow_remembering(self, scratch, text, at, n, state, &end);
            if (status != BBPE_OK) return status;
        }
        if (marks != NULL && scratch->failed != BBPE_OK) return scratch->failed;
        if (end != BBPE_AUTOMATON_NONE) {
            *found = (bbpe_span){at, end};
            return BBPE_OK;
        }
        size_t next = at + 1;
        if (at < n) (void)bbpe_automaton_class(self, reads_bytes, text, at, n, &next);
        at = next;
    }
}

/* The first match in text[from, n), which may be empty at n; `refuses_empty`: not if it is empty at `from`.  The whole text
 * is text[0, n).  `found->start` is BBPE_AUTOMATON_NONE if there is none. */
BBPE_INLINE bbpe_status bbpe_automaton_find_inline(const bbpe_automaton *self, bool reads_bytes,
                                                   bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n,
                                                   size_t from, bool refuses_empty, bbpe_span *found) {
    if (BBPE_UNLIKELY(!self->is_plain))
        return bbpe_automaton_find_otherwise(self, scratch, text, n, from, refuses_empty, found);
    return bbpe_automaton_search(self, reads_bytes, NULL, scratch, text, n, from, refuses_empty, found);
}

bbpe_status bbpe_automaton_find(const bbpe_automaton *self, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n,
                                size_t from, bool refuses_empty, bbpe_span *found);

#endif
