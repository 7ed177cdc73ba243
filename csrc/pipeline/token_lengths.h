/* For how many bytes of a stretch each id stands. */
#ifndef BBPE_TOKEN_LENGTHS_H
#define BBPE_TOKEN_LENGTHS_H

#include "base/common.h"

#define BBPE_LENGTH_VARIES UINT32_MAX

/* How much text most tokens stand for, in two bytes: texts look tokens up at random, and a small table stays in the cache. */
typedef struct {
    uint8_t bytes;      /* up to BBPE_EXTENT_MOST, else 0 */
    uint8_t characters; /* that begin in them, and BBPE_EXTENT_IS_WITHIN if the first byte is within one */
} bbpe_token_extent;
enum { BBPE_EXTENT_MOST = 127, BBPE_EXTENT_IS_WITHIN = 128 };
bbpe_token_extent bbpe_token_extent_of(const uint8_t *token, size_t n);

/* Characters before the first number have a size each, and others in blocks share one, where it is the same; but not those of the
 * block of full-width punctuation. */
enum { BBPE_BERT_SIZES = 0x3100, BBPE_BERT_BLOCK = 256, BBPE_BERT_WIDE = 0xFF00 };

/* The owner keeps the arrays. */
typedef struct {
    const uint32_t *first;  /* at the beginning of a pretoken, by id; BBPE_LENGTH_VARIES: of an unknown token */
    const uint32_t *inside; /* elsewhere */
    const bbpe_token_extent *extents; /* where tokens stand for as many bytes everywhere, and no character is left out; or NULL */
    size_t id_count;
    bool whole; /* an unknown token stands for its pretoken; else for a character, */
    bool fuses; /* or for a run of those that are not known */
    bool drops; /* characters that are not known have no id */
    const uint8_t *unknown; /* for `whole`: the text of the unknown token, which a longer pretoken may begin with; or NULL */
    size_t unknown_size;
    bool of_bytes; /* each byte is a character */
    /* Characters with a token, one bit for each code point or byte; needed for `fuses` and `drops`.  By the position in a pretoken:
     * 1 at the beginning + 2 at the end. */
    const uint64_t *known[4];
    bool is_bert; /* stretches are text as it is, which the encoder applies BERT's rules to: pipeline/bert_places.h; `inside`
                   * holds everywhere, and `extents` have the bytes of these */
    unsigned bert_rules;
    bool bert_has_usual_ascii; /* what is not above a blank is dropped, and other characters are as long as they were */
    uint8_t bert_sizes[BBPE_BERT_SIZES + BBPE_BERT_BLOCK], bert_block_sizes[0x10000 / BBPE_BERT_BLOCK]; /* what characters become */
} bbpe_token_lengths;

/* A place in a text, bytes of its UTF-8. */
typedef struct {
    int64_t start, end;
} bbpe_place;

#endif
