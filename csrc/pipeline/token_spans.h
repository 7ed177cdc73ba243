/* Where each id of a stretch comes from in the text: a token stands for as many bytes of the stretch as it has, and these come
 * from characters of the text. */
#ifndef BBPE_TOKEN_SPANS_H
#define BBPE_TOKEN_SPANS_H

#include "pipeline/stretch.h"

#define BBPE_LENGTH_VARIES UINT32_MAX

/* For how many bytes of a stretch an id stands; what it points to is the owner's. */
typedef struct {
    const uint32_t *first;  /* at the beginning of a pretoken, by id; BBPE_LENGTH_VARIES: of an unknown token */
    const uint32_t *inside; /* elsewhere */
    size_t id_count;
    bool whole; /* an unknown token stands for its pretoken; else for a character, */
    bool fuses; /* or for a run of those that are not known */
    bool drops; /* characters that are not known have no id */
    bool of_bytes; /* each byte is a character */
    const uint64_t *known; /* one bit for each code point, or byte; needed for `fuses` and `drops` */
} bbpe_token_lengths;

/* A place in a text, bytes of its UTF-8. */
typedef struct {
    int64_t start, end;
} bbpe_text_span;

/* Write the spans of the ids of a stretch of text[0..n).  False when the ids do not stand for the stretch. */
bool bbpe_token_spans(const bbpe_token_lengths *lengths, const bbpe_stretch *stretch, const bbpe_stretch_source *source,
                      const uint8_t *text, size_t n, const uint32_t *ids, size_t count, bbpe_text_span *spans);

#endif
