/* The texts of vocabularies whose tokens are keys: a JSON object of keys and ids, and merges as pairs of keys.
 *
 * A vocabulary of keys has their UTF-8 as the bytes of its tokens; bbpe_keys_to_bytes turns those of GPT-2's byte alphabet
 * into the bytes that they are.  Only what is written as usual is followed: `*is_usual` is false otherwise, and then a
 * slower reader has to look at the whole text, which knows all that is legal and explains what is not. */
#ifndef BBPE_MODELS_VOCAB_KEY_FILE_H
#define BBPE_MODELS_VOCAB_KEY_FILE_H

#include "models/vocab/merge_list.h"
#include "models/vocab/token_table.h"

/* Add the keys of a JSON object to an empty vocabulary and index it.  Each key and each id are there once. */
bbpe_status bbpe_keys_read(const uint8_t *text, size_t n, bbpe_vocab *keys, bool *is_usual);

/* Two keys make their concatenation, in which the second one loses the prefix that it begins with. */
typedef struct {
    const bbpe_vocab *keys;
    const uint8_t *prefix;
    size_t prefix_length;
} bbpe_merge_keys;

/* Add the merges of a JSON array of texts, with one blank between two keys, or of arrays of two keys.  All keys and all
 * results are in the vocabulary; of a merge that is listed twice the last one counts. */
bbpe_status bbpe_merges_read_json(const uint8_t *text, size_t n, bbpe_merge_keys names, bbpe_merge_list *list,
                                  bool *is_usual);
/* Add the merges of lines, with one blank between two keys. */
bbpe_status bbpe_merges_read_lines(const uint8_t *text, size_t n, bbpe_merge_keys names, bbpe_merge_list *list,
                                   bool *is_usual);

/* Add the tokens of keys to an empty vocabulary and index it, except those whose ids are marked in `left_out`, which has a
 * byte for each id. */
bbpe_status bbpe_keys_to_bytes(const bbpe_vocab *keys, const uint8_t *left_out, bbpe_vocab *tokens, bool *is_usual);
/* The same of keys that are texts, in which U+2581 is a blank if `marks_blanks`.  None of them is empty. */
bbpe_status bbpe_keys_to_texts(const bbpe_vocab *keys, const uint8_t *left_out, bool marks_blanks, bbpe_vocab *tokens,
                               bool *is_usual);

#endif
