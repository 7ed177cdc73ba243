/* A search for many tokens in a text: the longest at each position, from left to right, none within another.
 *
 * A trie holds the tokens.  A text is searched for bytes that begin a token, and the trie is walked from there, which is
 * fast on real text.  Tokens that begin alike can make these walks long: "a" and a thousand times "a" with a "b" walk over a
 * thousand bytes for each "a" of a text.  So walks have a budget, and a text that exceeds it is searched in linear time: an
 * Aho-Corasick automaton (1975) over the reversed tokens, which reads the text backwards, knows the longest token that
 * begins at each position.
 *
 * A policy is a set of tokens, one bit each; the search is for these alone.  The structs are immutable and own their
 * arrays. */
#ifndef BBPE_MATCHER_H
#define BBPE_MATCHER_H

#include "tables/trie.h"

#define BBPE_MATCHER_TOKEN ((uint64_t)1 << 32) /* in the value of each entry, above the number of its token */

enum { BBPE_MATCHER_FEW = 4 }; /* first bytes that are searched for by vectors; more by a table */

typedef struct {
    bbpe_trie trie; /* of the tokens, by number */
    size_t count, longest;
    bool begins[256];
    uint8_t firsts[BBPE_MATCHER_FEW];
    size_t first_count;
} bbpe_matcher;

/* The automaton over the reversed tokens: a state is a slot of the trie. */
typedef struct {
    bbpe_trie trie;
    uint32_t *fail;  /* by slot: the state of the longest proper suffix */
    uint32_t *order; /* the slots in use, by depth */
    size_t state_count;
} bbpe_matcher_linear;

typedef struct {
    size_t start, end;
    uint32_t token;
} bbpe_match;

/* Matches that were found; grows, and is the caller's to free with `bbpe_memory_free(items)`. */
typedef struct {
    bbpe_match *items;
    size_t count, capacity;
} bbpe_matches;

/* Over the entries of `tokens`, whose values are BBPE_MATCHER_TOKEN | the number of the token, below `count`; the table is
 * not needed afterwards.  After a failure it may be freed. */
bbpe_status bbpe_matcher_init(bbpe_matcher *self, const bbpe_pretoken_table *tokens, size_t count);
void bbpe_matcher_free(bbpe_matcher *self);
/* `reversed`: the same numbers under the reversed bytes. */
bbpe_status bbpe_matcher_linear_init(bbpe_matcher_linear *self, const bbpe_pretoken_table *reversed, size_t count);
void bbpe_matcher_linear_free(bbpe_matcher_linear *self);
/* Fill `best`, one for each slot of the automaton: the longest token of a policy that ends in a state, or BBPE_TRIE_NONE. */
void bbpe_matcher_linear_best(const bbpe_matcher_linear *self, const uint64_t *policy, uint32_t *best);

/* Add the matches of text[*at, n) to `found`, `most` at most, and move `*at` to the end of what was searched.  It stops
 * before n when it has found as many, or when the walks are too long; then `*is_slow` is set. */
bbpe_status bbpe_matcher_find(const bbpe_matcher *self, const uint64_t *policy, const uint8_t *text, size_t n, size_t most,
                              size_t *at, bool *is_slow, bbpe_matches *found);
/* A part of a text, up to `end`, in which only the tokens of a level count. */
typedef struct {
    size_t end;
    uint32_t level;
} bbpe_token_range;

/* The ranges of a text, one after another up to its end, and the tokens of each level, one bit each; NULL: there are none. */
typedef struct {
    const bbpe_token_range *ranges;
    size_t count;
    const uint64_t *const *levels;
} bbpe_token_levels;

/* Add the matches of text[start, end) of a policy to `found`, each of which counts in all ranges that it touches. */
bbpe_status bbpe_matcher_find_in_ranges(const bbpe_matcher *self, const uint64_t *policy, bbpe_token_levels levels,
                                        const uint8_t *text, size_t start, size_t end, bbpe_matches *found);
/* Add one match to the end of a list. */
bbpe_status bbpe_matches_add(bbpe_matches *self, bbpe_match match);
/* The rest of such a text in linear time.  `best` is that of the policy, `lengths` are those of the tokens, `longest` the
 * greatest of them. */
bbpe_status bbpe_matcher_linear_find(const bbpe_matcher_linear *self, const uint32_t *best, const size_t *lengths,
                                     size_t longest, const uint8_t *text, size_t n, size_t most, size_t *at,
                                     bbpe_matches *found);

#endif
