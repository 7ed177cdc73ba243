/* The tokens of a Unigram model in a tokenizer.json: a JSON array of ["token", -1.5], in order of ids.
 *
 * What is read, a slower reader reads to the same keys and doubles.  Anything unusual, such as a key that comes twice or
 * a score beyond all doubles, leaves the whole text to that one, which explains it. */
#ifndef BBPE_MODELS_VOCAB_SCORED_ROWS_H
#define BBPE_MODELS_VOCAB_SCORED_ROWS_H

#include "models/vocab/token_table.h"

/* Add the keys of n bytes of text to an empty vocabulary and index it, with the ids 0 and up.  `*scores`, theirs in
 * order, is the caller's to free, whatever is returned. */
bbpe_status bbpe_scored_rows_read(const uint8_t *text, size_t n, bbpe_vocab *keys, double **scores, bool *is_usual);

#endif
