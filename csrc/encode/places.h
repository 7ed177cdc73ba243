/* Texts that pass the pipeline -> ids and where they come from in the text; a part of encode.h. */
#ifndef BBPE_ENCODE_PLACES_H
#define BBPE_ENCODE_PLACES_H

#include "encode/state.h"

/* How the places of a call's ids are found. */
typedef struct {
    const bbpe_token_lengths *lengths;
    const bbpe_place_trims *trims; /* or NULL */
    const bbpe_scheme *scheme;    /* of pretokens that the pipeline leaves to the encoder, with `fill`; or NULL */
    bbpe_split_fill fill;
} bbpe_places_rules;

/* The ids of a text so far, in `memory`; zeroed before the first round but for what the caller chooses. */
typedef struct {
    bbpe_place_scratch *memory;
    size_t count, word_count;
    bool has_words; /* chosen: the numbers of pretokens, too */
    bool in_chars;  /* chosen: places become those of characters, by counting these in the UTF-8 */
    bool is_off;    /* the ids do not stand for the text */
    bbpe_offsets_place cursor, begun;
} bbpe_places;

/* Encode the next stretches of the text that the state's run has begun, and find their places. */
bbpe_status bbpe_encode_places(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pipeline_call *call,
                               const bbpe_places_rules *rules, bbpe_places *places);

#endif
