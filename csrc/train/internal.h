/* Shared by the files that learn merges of bytes; bpe.h is for callers.
 *
 * bpe.c calls find.c and merge.c, and these queue.c:
 *
 *     bpe.c     one step: take the best pair and merge it, or lower the threshold and find the pairs that reach the new one
 *     find.c    all pairs that reach the threshold, from nothing but the symbols
 *     merge.c   one merge: splice, gather, take away, add
 *     queue.c   the best pair */
#ifndef BBPE_TRAIN_INTERNAL_H
#define BBPE_TRAIN_INTERNAL_H

#include "train/bpe.h"

/* Find all pairs that reach the threshold, which has been set: lists and items for them, and for no others. */
bbpe_status bbpe_train_find(bbpe_train *self);

/* Make the pair in `slot` one token everywhere. */
bbpe_status bbpe_train_merge(bbpe_train *self, size_t slot);

/* Put a pair, which has a valid position, on the heap, for which there must be room. */
void bbpe_train_queue(bbpe_train *self, size_t slot);

/* Take the best pair that is allowed off the heap; `*best` is BBPE_PAIR_COUNTS_NONE when none reaches the threshold. */
bbpe_status bbpe_train_take_best(bbpe_train *self, size_t *best);

#endif
