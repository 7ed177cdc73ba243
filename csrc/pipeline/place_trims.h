/* Spans of tokens without the blanks of the tokens, as HF's post-processors with `trim_offsets` report them: a place loses as many
 * characters of the text as the token begins and ends with blanks, whether or not these characters are blanks. */
#ifndef BBPE_PLACE_TRIMS_H
#define BBPE_PLACE_TRIMS_H

#include "pipeline/token_places.h"

/* The blanks that a token begins and ends with, in characters. */
typedef struct {
    uint32_t leading, trailing;
} bbpe_token_blanks;

/* What it points to is the owner's. */
typedef struct {
    const bbpe_token_blanks *blanks; /* by id, of tokens as the vocabulary has them */
    size_t id_count;
    const uint8_t *keeps_first; /* of each pass: whether the first token keeps a single blank that it begins with, */
    size_t pass_count;          /* and so do others at the beginning of the text */
} bbpe_place_trims;

/* The blanks of a token as it was found in a text. */
bbpe_token_blanks bbpe_token_blanks_of(const uint8_t *token, size_t n);
/* The place of a token of text[0..n) without its blanks; `is_first`: no token is before it. */
bbpe_place bbpe_place_trim(const bbpe_place_trims *self, const uint8_t *text, size_t n, bbpe_token_blanks blanks,
                              bool is_first, bbpe_place place);

#endif
