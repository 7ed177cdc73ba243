/* The substrings that occur often in weighted texts: the seed of a Unigram vocabulary.
 *
 * Suffixes are sorted as far as `depth` symbols; then a run of suffixes that begin alike is a substring, and the sum of
 * their weights is how often it occurs (Manber and Myers, 1990, "Suffix Arrays").  Of substrings that occur at the same
 * places only the longest is found, up to `depth`.  Sorting is multikey quicksort (Bentley and Sedgewick, 1997, "Fast
 * Algorithms for Sorting and Searching Strings") whose letters are as many symbols as fit into 64 bits.
 *
 * 20 bytes of memory a symbol while it sorts. */
#ifndef BBPE_TRAIN_SUBSTRINGS_H
#define BBPE_TRAIN_SUBSTRINGS_H

#include "base/common.h"

/* Symbols [start, start + length), and the weight of all places where they occur. */
typedef struct {
    uint64_t weight;
    uint32_t start, length;
} bbpe_substring;

typedef struct {
    bbpe_substring *found;
    size_t count, capacity;
} bbpe_substrings;

/* Of n < 2^32 symbols, of which 0 ends a text and those up to `highest` are text; `weights`, one a text.  Substrings of
 * 2 to `depth` symbols that weigh at least 2 are found.  `self` is zeroed before; it owns `found`. */
bbpe_status bbpe_substrings_find(bbpe_substrings *self, const uint32_t *symbols, size_t n, uint32_t highest,
                                 const uint64_t *weights, unsigned depth);
void bbpe_substrings_free(bbpe_substrings *self);

#endif
