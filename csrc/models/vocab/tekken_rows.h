/* The rows of a tekken.json: a JSON array of {"rank": 0, "token_bytes": "AA==", "token_str": "\u0000"}, in order of ranks.
 *
 * Only what is written as usual is followed, in this order of the members: strict base64 of 1 to BBPE_RANK_FILE_TOKEN
 * bytes, and a text that is a string or null.  Anything else leaves the whole text to a slower reader. */
#ifndef BBPE_MODELS_VOCAB_TEKKEN_ROWS_H
#define BBPE_MODELS_VOCAB_TEKKEN_ROWS_H

#include "models/vocab/token_table.h"

/* Add the tokens of the first `most` rows, with the ids `first` and up, to an empty vocabulary, and index it.  Each token is
 * there once.  `*is_usual` is false as well when there are fewer rows. */
bbpe_status bbpe_tekken_rows_read(const uint8_t *text, size_t n, uint32_t first, size_t most, bbpe_vocab *vocab,
                                  bool *is_usual);

#endif
