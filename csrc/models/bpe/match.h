/* Merging a long piece of text in linear time: the longest token that is compatible with the one before it.
 *
 * Tokens a b are *compatible* if merging the bytes of both ends in just these two.
 * 1. Merging a text ends in t1 .. tk if and only if every token is made (bpe.h) and every two neighbours are
 *    compatible.  For take the first merge that crosses a seam: until then the lowest of all pairs that is within
 *    the two tokens is the lowest within them, so merging these two alone would cross there too.
 * 2. So compatible tokens that end at p are the merging of text[:p], and there are no others that end at p.  A
 *    depth-first search hence enters a position once, a dead end is a position, and what reaches the end is the answer.
 *
 * Compatible or not: undo the live merges along the right end of a and the left end of b, the latest first, and see
 * whether the symbols that meet at the seam would have merged while they met.  Where parts rank lower than their token
 * merges happen in the order of ranks.  It works without: of two sequences of which the lower head goes first, the left
 * of equals, a step's *time* is the highest rank so far.  So, the rank of bytes being below all,
 *
 *   time(t)        = max(rank(t), time(left), time(right))
 *   right end of t : what meets its right part from the right has to rank lower than rank(t) to come first, or, if
 *                    time(left) > time(right), than max(rank(t), time(left)): the highest there is after the right part
 *   left end of t  : likewise, up to max(rank(t), time(right)) if time(right) >= time(left)
 *
 * which is exact, also where several merges share a rank: of equals whatever is in the left token comes first, then what
 * crosses the seam.
 *
 * One letter 1.4 ms per MB, random letters 27, where the heap takes 270 and 410; made in 14 ms, 5.8 MB (cl100k).
 * Immutable; the struct owns its arrays, unless it is opened. */
#ifndef BBPE_MODELS_BPE_MATCH_H
#define BBPE_MODELS_BPE_MATCH_H

#include "models/bpe/model.h"
#include "tables/trie.h"

/* The ends of a token.  Ranks are kept + 1, so that 0 is that of a byte; UINT32_MAX is none. */
typedef struct {
    _Alignas(32) bbpe_bpe_parts parts; /* here too: one cache line has all of a token */
    uint32_t time;                     /* when it is made */
    uint32_t until_left, until_right;           /* up to which rank a merge of its part at this end, across it, comes first */
    uint32_t until_left_byte, until_right_byte; /* the same of the byte at this end */
} bbpe_bpe_ends;

typedef struct {
    bool is_exact;  /* made, and may be used */
    bool is_opened; /* its arrays are in a block of memory (tables/image.h) */
    bbpe_trie trie; /* of the made tokens */
    bbpe_bpe_ends *ends; /* by id */
    uint64_t *pairs;      /* bits by the hash of a pair: which may merge; most do not, and it fits the L2 cache */
    uint32_t *seams;      /* the rank of two bytes that meet, [first << 8 | second] */
    unsigned pairs_shift; /* a hash >> this is the number of a bit */
} bbpe_bpe_match;

/* From a finalized model. */
bbpe_status bbpe_bpe_match_init(bbpe_bpe_match *self, const bbpe_bpe *model);
void bbpe_bpe_match_free(bbpe_bpe_match *self);
/* Measure or write what was made from a model, or open it for the same one. */
void bbpe_bpe_match_visit(bbpe_bpe_match *self, const bbpe_bpe *model, bbpe_image *image);

/* One that threads share, by the pointer to it, NULL at first: made if it is not there; NULL without memory.  Where an id is too
 * large for it, it is not exact. */
const bbpe_bpe_match *bbpe_bpe_match_shared(void **shared, const bbpe_bpe *model);
void bbpe_bpe_match_free_shared(void *shared);

/* The ids of a text, n >= 1, by merging alone; `ids` has room for n. */
bbpe_status bbpe_bpe_match_encode(const bbpe_bpe_match *self, const bbpe_bpe *model, bbpe_bpe_work *work,
                                  const uint8_t *text, size_t n, uint32_t *ids, size_t *count);

#endif
