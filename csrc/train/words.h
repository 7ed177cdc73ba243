/* Learning merges of words of characters, by one of two scores: of neighbours a b
 *
 *   frequency   count(ab)                          (Sennrich et al., 2016; HF's WordPiece)
 *   PMI         count(ab) / (count(a) * count(b))  (WordPiece: Schuster and Nakajima, 2012)
 *
 * the highest, in double precision; of equals the lowest pair of ids, or once the symbols have strings, the greatest pair
 * of these.  A merge changes the counts of pairs beside it,
 * and by PMI the score of every pair of a and of b too: it rises, as they become fewer.  A heap that trusts keys from
 * above, as for frequencies alone, would miss those, so each symbol has a list of its pairs, and all of these are keyed
 * anew.  The heap knows the position of each pair.
 *
 * The caller names the token that a merge makes, for two merges may make one token.  A pair comes into being at a position
 * once, as symbols only grow; so where it may be is a list that is only added to, and looked through when it merges.
 * The struct owns its arrays; not for several threads at once. */
#ifndef BBPE_TRAIN_WORDS_H
#define BBPE_TRAIN_WORDS_H

#include "tables/pair_table.h"
#include "train/token_strings.h"

#define BBPE_TRAIN_WORDS_NONE UINT32_MAX

typedef struct {
    uint32_t symbol; /* or BBPE_TRAIN_WORDS_NONE: merged into the one before */
    uint32_t before, after; /* positions, or BBPE_TRAIN_WORDS_NONE at the ends of a word */
    uint32_t word;
} bbpe_train_words_position;

typedef struct {
    double score; /* below 0: not to be merged */
    uint64_t count;
    uint32_t left, right;
    uint32_t first, last; /* cells of positions */
    uint32_t at;          /* in the heap */
    bool is_changed;
} bbpe_train_words_pair;

typedef struct {
    uint32_t item, next; /* a position or a pair; a cell, or BBPE_TRAIN_WORDS_NONE */
} bbpe_train_words_cell;

typedef struct {
    void *items;
    size_t count, capacity;
} bbpe_train_words_array;

typedef struct {
    bool by_pmi;
    uint64_t min_frequency;
    bbpe_pair_table index;          /* pair of ids -> number */
    bbpe_train_words_array positions, weights, pairs, heap, cells, changed, found;
    bbpe_train_words_array symbols; /* by id: how often it occurs, as uint64_t */
    bbpe_train_words_array lists;   /* by id: the first cell of its pairs */
    bbpe_token_strings strings;     /* by id, where `string_limit` is not 0 */
    size_t string_count, string_limit;
} bbpe_train_words;

bbpe_status bbpe_train_words_init(bbpe_train_words *self, bool by_pmi, uint64_t min_frequency);
void bbpe_train_words_free(bbpe_train_words *self);
/* Add a word of n symbols that is `weight` times, before anything is merged. */
bbpe_status bbpe_train_words_add(bbpe_train_words *self, const uint32_t *symbols, size_t n, uint64_t weight);
/* Have equal scores ordered by strings, when all words are there: symbol i, i < count, is
 * strings[offsets[i]..offsets[i + 1]).  Each new symbol that is merged into then has the id that follows the last, and
 * the concatenation for its string. */
bbpe_status bbpe_train_words_name(bbpe_train_words *self, const uint8_t *strings, const int64_t *offsets, size_t count);
/* Count pairs, when all words are there. */
bbpe_status bbpe_train_words_begin(bbpe_train_words *self);
/* The best pair, or NULL when none is there `min_frequency` times. */
const bbpe_train_words_pair *bbpe_train_words_best(const bbpe_train_words *self);
/* Merge the best pair into a symbol. */
bbpe_status bbpe_train_words_merge(bbpe_train_words *self, uint32_t symbol);

#endif
