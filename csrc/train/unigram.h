/* Learning the scores of a Unigram model, and which tokens it can do without (Kudo, 2018).
 *
 * All over counted pretokens, a range at a time, so that threads share them out.  *Expecting* is the forward-backward
 * algorithm: how often each token is in a pretoken, over all ways to make it up, each as probable as its score says.
 * Probabilities are not logarithms: each token's is multiplied by e^(c * bytes), with c from the best path, which
 * changes all ways alike and keeps products near 1; so an edge takes three multiplications and no logarithm.
 *
 * A pretoken of more than BBPE_UNIGRAM_TRAIN_LONGEST bytes is taken in parts, so that no product overflows.  A
 * character without a token is there all the same, with the model's score for unknown ones.
 *
 * The model's pieces are read; everything else belongs to the call. */
#ifndef BBPE_TRAIN_UNIGRAM_H
#define BBPE_TRAIN_UNIGRAM_H

#include "models/unigram/unigram.h"

enum { BBPE_UNIGRAM_TRAIN_LONGEST = 256 };

/* Counted pretokens: pretoken i is data[offsets[i]..offsets[i + 1]) and occurs counts[i] times. */
typedef struct {
    const uint8_t *data;
    const int64_t *offsets;
    const uint64_t *counts;
} bbpe_unigram_corpus;

/* Add to expected[number of a token] how often it is expected in pretokens [first, end), and to `*likelihood` the
 * logarithm of their probability.  `probabilities`: e to the score, by number. */
bbpe_status bbpe_unigram_train_expect(const bbpe_unigram *model, const bbpe_unigram_corpus *corpus, size_t first,
                                      size_t end, const double *probabilities, double *expected, double *likelihood);

/* Add to times[number] how often a token is on the best paths of pretokens [first, end). */
bbpe_status bbpe_unigram_train_count(const bbpe_unigram *model, const bbpe_unigram_corpus *corpus, size_t first,
                                     size_t end, double *times);

/* How much the logarithm of the corpus's probability loses without a token, for tokens [first, end), if the best other
 * tokens make it up: `times` as counted, `total` their sum.  INFINITY: it is made of nothing else; -INFINITY: it is never
 * used, as others score higher or it is on no best path. */
bbpe_status bbpe_unigram_train_losses(const bbpe_unigram *model, const double *times, double total, size_t first,
                                      size_t end, double *losses);

#endif
