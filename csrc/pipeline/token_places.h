/* Where each id of a stretch comes from in the text: a token stands for as many bytes of the stretch as it has, and these come
 * from characters of the text. */
#ifndef BBPE_TOKEN_PLACES_H
#define BBPE_TOKEN_PLACES_H

#include "pipeline/stretch.h"
#include "pipeline/token_lengths.h"
#include "text/text.h"

/* Ids and their places, with what it takes to find them: memory that a call borrows, and that stays for the next one.  Zeroed
 * before use. */
typedef struct {
    uint32_t *ids;
    bbpe_place *places;
    int64_t *words; /* for each id the number of its pretoken, where that is wanted */
    size_t *counts; /* of ids, of the stretches of a round */
    size_t *ends;   /* of the pretokens of a stretch */
    size_t capacity, place_capacity, word_capacity, count_capacity, end_capacity;
} bbpe_place_scratch;
/* Free memory of so many ids that it is not worth keeping. */
void bbpe_place_scratch_trim(bbpe_place_scratch *self);
void bbpe_place_scratch_free(bbpe_place_scratch *self);

/* Write the places of the ids of a stretch of text[0..n), and unless `words` is NULL, the number within the stretch of the pretoken
 * that each is in; empty pretokens have none.  False when the ids do not stand for the stretch. */
bool bbpe_token_places(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch, const bbpe_stretch_source *source,
                      const uint8_t *text, size_t n, const uint32_t *ids, size_t count, bbpe_place *places, int64_t *words);
/* The same in characters of the text, in order; false too where it cannot be told from the tokens alone, and then
 * bbpe_offsets_count_overlapping can do it.  `*place` is where the places before have ended, and then where these have. */
bool bbpe_token_places_count(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch, const bbpe_stretch_source *source,
                            const uint8_t *text, size_t n, const uint32_t *ids, size_t count, bbpe_offsets_place *cursor,
                            bbpe_place *places);
/* How many pretokens of a stretch are not empty. */
size_t bbpe_stretch_word_count(const bbpe_stretch *stretch);

#endif
