/* What the pipeline makes of a text, and the encoder makes ids of: stretches of UTF-8, each followed by a token's id or by
 * nothing.
 *
 * A stretch is encoded as if it were a text of its own, so no merge crosses its ends. */
#ifndef BBPE_STRETCH_H
#define BBPE_STRETCH_H

#include "pipeline/sources.h"

#define BBPE_STRETCH_NO_ID UINT32_MAX

typedef struct {
    const uint8_t *text;
    size_t n;
    const size_t *pretokens; /* their ends, the last of which is n; or NULL: the encoder splits */
    size_t pretoken_count;
    uint32_t id;       /* of the token after it, or BBPE_STRETCH_NO_ID */
    bool ends_text;    /* the next stretch belongs to another text */
} bbpe_stretch;

/* Where a stretch comes from, in bytes of the UTF-8 of the text. */
typedef struct {
    size_t at;                /* an unchanged stretch begins here */
    bbpe_source_view sources; /* of a changed one: a byte of the character that each byte comes from */
    bool is_exact;            /* or that byte alone */
    size_t token_start, token_end; /* the token after it */
    const uint8_t *token;          /* as it was found, perhaps in normalized text */
    size_t token_length;
} bbpe_stretch_source;

#endif
