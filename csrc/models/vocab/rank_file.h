/* The text of a rank file: a line for each token, its bytes in base64, a blank, and its rank in decimal digits.
 *
 * Only lines that are written as usual are followed: strict base64, or `=` for the empty token, of up to
 * BBPE_RANK_FILE_TOKEN bytes; one blank; a rank that is an id; an end of line, which may be \r\n; empty lines.
 * Anything else leaves the whole text to a slower reader, which knows all that is legal and explains what is not.
 *
 * One core of a Zen 4, cl100k: 60 ns a line, most of it adding the token. */
#ifndef BBPE_MODELS_VOCAB_RANK_FILE_H
#define BBPE_MODELS_VOCAB_RANK_FILE_H

#include "models/vocab/token_table.h"

enum { BBPE_RANK_FILE_TOKEN = 768 };

typedef enum {
    BBPE_RANK_FILE_UNUSUAL,   /* not followed to the end; the vocabulary holds some of it */
    BBPE_RANK_FILE_READ,      /* every token and every rank once */
    BBPE_RANK_FILE_CANONICAL, /* and written in the one way that the tokens in order of ranks have */
} bbpe_rank_file_kind;

/* Add the tokens of n bytes of text to an empty vocabulary and index it, or report that the text is unusual. */
bbpe_status bbpe_rank_file_read(const uint8_t *text, size_t n, bbpe_vocab *vocab, bbpe_rank_file_kind *kind);

#endif
