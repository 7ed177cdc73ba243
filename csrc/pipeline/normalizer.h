/* Normalizers: a text becomes another one, step by step, in linear time.
 *
 * A step leaves most of a text as it is and finds the rest by vectors (text/search.h), so that stretches without anything to
 * change are copied as a whole, and a text without any is not copied at all.  Bytes that are not UTF-8 are characters that no
 * step changes.  The slow definition of each step is bbpe/reference/normalizers.py.
 *
 * With offsets, each byte of the result has a byte of the character that it comes from, by the rules of HF's `tokenizers`: an
 * inserted character comes from the one next to it, a composed one from the first of its parts, and a replacement of several
 * characters from the last of them. */
#ifndef BBPE_PIPELINE_NORMALIZER_H
#define BBPE_PIPELINE_NORMALIZER_H

#include "pipeline/automaton.h"
#include "pipeline/charsmap.h"
#include "text/text.h"

typedef enum {
    BBPE_NORMALIZER_FORM,     /* a normal form: `set` is its name */
    BBPE_NORMALIZER_MAP,      /* each character of `set` becomes none or others */
    BBPE_NORMALIZER_STRIP,    /* white space at the ends is dropped: on the `left`, on the `right` */
    BBPE_NORMALIZER_PREPEND,  /* a text that is not empty gets `content` in front */
    BBPE_NORMALIZER_REPLACE,  /* each occurrence of `pattern`, or each match of `automaton`, becomes `content` */
    BBPE_NORMALIZER_SQUEEZE,  /* each run of blanks becomes one; none is left at the ends, nor, with `right`, U+2581 at
                               * the right end, which is before `content` if the text ends with that */
    BBPE_NORMALIZER_CHARSMAP, /* `charsmap`, and then `content` in front of what was not empty before, and `pattern` at its
                               * end; with `left` nothing is left of what is all blanks */
    BBPE_NORMALIZER_PRECOMPILED, /* `charsmap`, as HF's `tokenizers` applies it: to grapheme clusters */
    BBPE_NORMALIZER_BYTES,    /* each byte becomes its character in GPT-2's alphabet */
} bbpe_normalizer_kind;

/* What a step needs, by its kind. */
typedef struct {
    bbpe_normalizer_kind kind;
    bbpe_characters set;
    bool left, right;
    const uint8_t *pattern, *content; /* of the caller until the step is added, which copies them */
    size_t pattern_length, content_length;
    const bbpe_automaton *automaton; /* NULL: for the pattern, which is not empty; it outlives the normalizer, */
    const bbpe_charsmap *charsmap;   /* as this does */
    size_t *borders; /* set by adding: for each prefix of the pattern how much of its end the pattern begins with */
} bbpe_normalizer_step;

typedef struct {
    bbpe_normalizer_step *steps;
    size_t count, capacity;
    bbpe_search_blocks search;
} bbpe_normalizer;

/* A character of a stretch that a normal form changes. */
typedef struct {
    uint32_t code;
    uint16_t taken; /* characters of which it is or has the first part */
    uint8_t order;
} bbpe_form_item;

/* The memory of one thread, zeroed at first. */
typedef struct {
    bbpe_charsmap_output buffers[2]; /* results of steps, in turn */
    bbpe_form_item *items, *sorted;
    size_t item_capacity, sorted_capacity;
    size_t *starts; /* of the characters of a stretch, with offsets */
    size_t start_capacity;
    uint8_t *bytes; /* the normal form of a stretch */
    size_t byte_capacity;
    bbpe_automaton_scratch automaton;
    bbpe_sources composed;
    const bbpe_sources *sources; /* after a call with offsets: where the result comes from; NULL if it is the text */
    size_t head; /* with offsets: how many bytes the text begins with that come from a first character, set by the caller, and
                  * then how many of the result do */
} bbpe_normalizer_scratch;

void bbpe_normalizer_init(bbpe_normalizer *self);
void bbpe_normalizer_free(bbpe_normalizer *self);
/* Add a step after those that are there; then any number of threads may apply them. */
bbpe_status bbpe_normalizer_add(bbpe_normalizer *self, bbpe_normalizer_step step);

/* Normalize text[0..n).  `*out` is the text itself or a part of it, or is in `scratch` until the next call.  `with_places`: sources
 * may be wanted. */
bbpe_status bbpe_normalizer_apply(const bbpe_normalizer *self, bbpe_normalizer_scratch *scratch, const uint8_t *text,
                                  size_t n, bool with_places, const uint8_t **out, size_t *out_n);
/* Write for each byte of the result of such a call, which has out_n bytes, where the character of text[0..n) begins that it
 * comes from. */
void bbpe_normalizer_find_sources(const bbpe_normalizer_scratch *scratch, const uint8_t *text, size_t n, size_t out_n,
                                  size_t *sources);
void bbpe_normalizer_scratch_free(bbpe_normalizer_scratch *self);

#endif
