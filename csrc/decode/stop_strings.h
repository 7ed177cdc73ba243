/* The first of several strings that ends in a text, which arrives part by part.
 *
 * A text is read once, a character at a time, by the automaton of Aho and Corasick (1975): its state is the longest end
 * of the text so far that begins a string, so it says both which string ends here and how much of the end must be held
 * back.  Where no string has begun, one look at a table of 256 flags passes over a character.
 *
 * States are numbered level by level over sorted strings, so the states that follow one are neighbours in the order of
 * their characters, and those of shorter strings come first.  The struct is immutable and owns its array. */
#ifndef BBPE_DECODE_STOP_STRINGS_H
#define BBPE_DECODE_STOP_STRINGS_H

#include "base/common.h"

#define BBPE_STOP_NONE UINT32_MAX

typedef struct {
    uint32_t character;   /* the last one of the state's string */
    uint32_t first_child; /* the children of a state end where those of the next one begin */
    uint32_t fail;        /* the state of the longest proper suffix that begins a string */
    uint32_t depth;       /* characters of the state's string */
    uint32_t string;      /* a string that begins with it, by number */
    uint32_t found;       /* the longest string that ends here, or BBPE_STOP_NONE */
} bbpe_stop_state;

typedef struct {
    bbpe_stop_state *states; /* the first is that of the empty string; one more after the last ends its children */
    uint32_t count;
    uint8_t begins[256]; /* whether a string begins with a character of this lowest byte */
} bbpe_stop_strings;

/* `characters` has all strings one after another, string i up to ends[i].  The strings are not empty, sorted by their
 * characters, and each is there once.  The struct is zeroed; after a failure it may be freed. */
bbpe_status bbpe_stop_strings_init(bbpe_stop_strings *self, const uint32_t *characters, const size_t *ends, size_t count);
void bbpe_stop_strings_free(bbpe_stop_strings *self);

/* Read a part of a text, `n` characters of `unit` bytes, 1, 2 or 4.  `*state` is 0 at the beginning of a text.  True when
 * a string ends, that of the state then, and `*end` is its end in the part; else the whole part has been read. */
bool bbpe_stop_strings_find(
    const bbpe_stop_strings *self, const void *text, unsigned unit, size_t n, uint32_t *state, size_t *end);

#endif
