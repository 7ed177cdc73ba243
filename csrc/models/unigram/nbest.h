/* More ways than the best one to make up a text: the n best, and one at random.
 *
 * The n best: at each node the n best sums with the last token of each (a beam that loses nothing, as a longer way is
 * only as good as its beginning).  At random, with probability as e^(alpha * sum): sums over all ways forward, then
 * tokens drawn from the end backward (Kudo, 2018, section 3.3), so that alpha 0 takes all ways alike.
 *
 * A text is held whole, 16 bytes a node and way, or 24 an edge.  Sums are doubles. */
#ifndef BBPE_MODELS_UNIGRAM_NBEST_H
#define BBPE_MODELS_UNIGRAM_NBEST_H

#include "models/unigram/model.h"

/* The result: way i has ids[ends[i - 1]..ends[i]) and the sum sums[i], the best way first. */
typedef struct {
    uint32_t *ids;
    size_t *ends;
    double *sums;
    size_t count;
} bbpe_unigram_nbest;

/* Up to `most` ways; `self` is zeroed before and freed by the caller. */
bbpe_status bbpe_unigram_nbest_best(bbpe_unigram_nbest *self, const bbpe_unigram *model, const uint8_t *text, size_t n,
                                   size_t most);
/* One way; `*state` is that of the random numbers, and moves on. */
bbpe_status bbpe_unigram_nbest_draw(bbpe_unigram_nbest *self, const bbpe_unigram *model, const uint8_t *text, size_t n,
                                   double alpha, uint64_t *state);
void bbpe_unigram_nbest_free(bbpe_unigram_nbest *self);

#endif
