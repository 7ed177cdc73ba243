/* A text as the words that BERT's normaliser and pre-tokeniser make of it: the rules `BertNormalizer` and
 * `BertPreTokenizer`, of which bbpe/reference/normalizers.py and bbpe/reference/pre_tokenizers.py are the slow truth.
 *
 * The result for each character is in a generated table (text/characters.h); beside it there is the decomposition of
 * Hangul syllables, which is arithmetic, and the sorting of marks that are not dropped, which nearly no text has.
 * Bytes that are not UTF-8 are U+FFFD, each of them.
 *
 * A character never depends on what is across white space, an ASCII punctuation character, or the beginning of an
 * ideograph.  So a text may be cut there first, and its parts looked up as they are: they are normalised only when they
 * are new (models/wordpiece/wordpiece.h).  Stateless. */
#ifndef BBPE_MODELS_NORMALISE_BERT_H
#define BBPE_MODELS_NORMALISE_BERT_H

#include "base/common.h"

enum {
    BBPE_BERT_CLEAN = 1,     /* drop control and format characters */
    BBPE_BERT_APART = 2,     /* ideographs are words of their own */
    BBPE_BERT_STRIP = 4,     /* decompose, and drop nonspacing marks */
    BBPE_BERT_LOWER = 8,
    BBPE_BERT_JOIN = 16,     /* punctuation characters are no words of their own: only white space ends one */
    BBPE_BERT_BLANK = 32,    /* only a blank or a line end is white space */
    BBPE_BERT_GROWTH = 3,    /* bytes that one may become at most; tests/core/test_bert.py looks at every character */
};

typedef struct {
    uint8_t *bytes; /* the words, one after another; room for BBPE_BERT_GROWTH * n */
    size_t *ends;   /* of each word in `bytes`; room for n: there are no more characters than there were bytes */
    size_t used, count;
} bbpe_bert_words;

/* Find the words of a text of n bytes by a set of the rules above; `words` comes with room. */
void bbpe_bert_split(unsigned rules, const uint8_t *text, size_t n, bbpe_bert_words *words);

#endif
