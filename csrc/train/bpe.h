/* Learning merges from counted pretokens: always merge the best pair, and update only what that changes.
 *
 * All pretokens are in one array of symbols (tables/symbols.h), and the weight of a symbol, the count of its pretoken, comes
 * from a short table (segments.h).  Every pair has its count and the positions where it came into being; a position
 * that no longer holds the pair is skipped when it is read.  A lazy heap gives the best pair (queue.c): an item whose count
 * is out of date is put back with the true one.  Merging at a position changes just the pairs with the two neighbours, as in
 * SentencePiece's trainer; the changes are gathered by neighbour first (neighbours.h).
 *
 * The threshold: all occurrences of a pair come into being at the merge that makes its younger token, and its count
 * only falls from then on.  So a pair with a count below the threshold at its birth never reaches it, and gets neither a
 * list nor an item.  When nothing reaches the threshold any more, it is lowered, and the pairs that reach the new one
 * are searched for in all the symbols (find.c).  The merges do not depend on it; a good one makes Japanese, where
 * most pairs are rare, three times as fast, in half the memory.
 *
 * A veto: `allows` is asked once for each pair that is the best one, before it is merged.  Where it says no, the pair leaves the
 * queue, and a search that finds it again need not ask again.  So every merge is that of the best pair that is allowed, and there
 * are only as many questions as merges and vetoes.
 *
 * Call init, then add for every pretoken, then step until it is done.  After BBPE_NO_MEMORY and BBPE_INTERRUPTED the
 * struct may only be freed.  The struct owns all its arrays; zeroed, it may be freed. */
#ifndef BBPE_TRAIN_BPE_H
#define BBPE_TRAIN_BPE_H

#include "tables/heap.h"
#include "tables/pair_table.h"
#include "train/neighbours.h"
#include "train/pair_counts.h"
#include "train/segments.h"
#include "tables/symbols.h"
#include "train/token_strings.h"

/* Which pair comes first among those of equal count. */
typedef enum {
    BBPE_TRAIN_IDS,   /* the lowest pair of ids */
    BBPE_TRAIN_BYTES, /* the greatest pair of byte strings */
    BBPE_TRAIN_FIRST, /* the one whose first occurrence is the earliest, in the order of adding */
} bbpe_train_ties;

/* What a caller says to a token; BBPE_TRAIN_STOP ends the step with BBPE_INTERRUPTED. */
typedef enum { BBPE_TRAIN_ALLOWED, BBPE_TRAIN_FORBIDDEN, BBPE_TRAIN_STOP } bbpe_train_answer;

typedef struct {
    bbpe_train_ties ties;
    size_t merge_limit;
    int64_t min_frequency; /* at least 1 */
    uint32_t max_length;   /* of a token, in bytes */
    int64_t threshold;     /* the first one; 0: chosen from the counts */
    bool (*interrupted)(void); /* asked now and then while pairs are searched for, which takes a second per 100 MB; or NULL */
    /* Whether a token of these bytes may be made, the same each time: BBPE_TRAIN_ALLOWED or another answer; NULL: all may. */
    bbpe_train_answer (*allows)(void *context, const uint8_t *bytes, size_t n);
    void *context; /* of `allows` */
} bbpe_train_options;

typedef struct {
    uint32_t position, left, right; /* of a merged pair, and the ids beside it */
} bbpe_train_occurrence;

typedef struct {
    bbpe_train_options options;
    uint32_t *slots;
    size_t slot_count, slot_limit;
    uint32_t byte_ids[256];
    size_t base; /* tokens before the first merge */
    bbpe_segments weights;
    bbpe_token_strings tokens;
    bbpe_pair_counts pairs;
    bbpe_heap queue;
    bbpe_neighbours lefts, rights;
    bbpe_train_occurrence *found;
    size_t found_capacity, found_count;
    uint64_t *merges;      /* keys, in order */
    int64_t *merge_counts; /* how often each pair occurred when it was merged */
    size_t merge_count;
    int64_t threshold; /* 0 before the first step */
    int64_t total;     /* weighted pairs of bytes */
    bbpe_pair_table forbidden; /* pairs that were the best and are not allowed; empty without `allows` */
    uint8_t *asked;            /* the bytes of the token that is asked about */
    size_t asked_capacity;
} bbpe_train;

/* Room for pretokens of `bytes` bytes together; byte_order[i] is the byte of id i. */
bbpe_status bbpe_train_init(bbpe_train *self, size_t pretokens, size_t bytes, const uint8_t *byte_order,
                            bbpe_train_options options);
/* Begin with other tokens than bytes: token i, i < count, is tokens[offsets[i]..offsets[i + 1]).  Pretokens
 * are added by bbpe_train_add_tokens then, and merge k makes id count + k. */
bbpe_status bbpe_train_init_from(bbpe_train *self, size_t pretokens, size_t bytes, const uint8_t *tokens,
                                 const int64_t *offsets, size_t count, bbpe_train_options options);
/* Begin with tokens each of which takes one place among the symbols, whatever its bytes: `symbols` of them are added
 * together, and their number is given for the bytes of a pretoken. */
bbpe_status bbpe_train_init_symbols(bbpe_train *self, size_t pretokens, size_t symbols, const uint8_t *tokens,
                                    const int64_t *offsets, size_t count, bbpe_train_options options);
void bbpe_train_free(bbpe_train *self);

/* Add a pretoken that occurs `count` times; the sum of count times length stays below 2^63.  Equal counts in a row make
 * a short table of weights. */
bbpe_status bbpe_train_add(bbpe_train *self, const uint8_t *bytes, size_t n, int64_t count);

/* Add a pretoken of n bytes as the tokens that it is now, which have n bytes together and none of which is empty;
 * `*used` is how many they are. */
bbpe_status bbpe_train_add_tokens(bbpe_train *self, const uint32_t *ids, size_t n, int64_t count, size_t *used);

/* Merge until about `visits` positions were looked at, or nothing is left to merge. */
bbpe_status bbpe_train_step(bbpe_train *self, size_t visits, bool *done);

#endif
