/* WordPiece: the longest token that a word begins with, then again and again the longest that continues it.
 *
 * In linear time, without walking back (Song et al., 2021, "Fast WordPiece Tokenization", LinMaxMatch).  Two tries, of
 * the tokens that begin a word and of those that continue one, by byte.  A walk through a word is at a node whose
 * string is the text that is not written yet.  Where no child goes on, the longest match of that string is certain: the
 * node's *pops* are written, and the walk goes on at its *failure*, a node of the continuing trie that has the string
 * left.  A node without a failure is one whose string no tokens begin with, and so is the whole word then.
 *
 * The pops of a node are those of its parent and some more, so each node has a list that ends in a shared one, last
 * token first: memory is linear in the bytes of the tokens.
 *
 * A short word is matched by looking for the longest token again and again, in a trie of one array (tables/trie.h): what is
 * read twice is near.  Lines of English with empty caches: 91 MB/s instead of 58.
 *
 * A word that has no match, or more characters than a limit, is the one id `unknown`, or left out with
 * BBPE_WORDPIECE_NONE.  Without tokens that continue a word each word is one token or has no match (WordLevel).
 *
 * With `is_bert` a pretoken is a stretch of text as it is, of any number of words or none, that BERT's rules are
 * still to be applied to (models/normalise/bert.h).  So what repeats is found by its bytes, and normalised only once.
 *
 * Immutable once finalized; the struct owns its arrays. */
#ifndef BBPE_MODELS_WORDPIECE_H
#define BBPE_MODELS_WORDPIECE_H

#include "models/normalise/bert.h"
#include "models/model.h"
#include "tables/pair_table.h"
#include "tables/trie.h"

#define BBPE_WORDPIECE_NONE UINT32_MAX

enum { BBPE_WORDPIECE_BEGIN = 0, BBPE_WORDPIECE_CONTINUE = 1 }; /* the two roots */
enum { BBPE_WORDPIECE_SHORT = 64 };

typedef struct {
    uint32_t token;   /* or BBPE_WORDPIECE_NONE */
    uint32_t failure; /* a node, or BBPE_WORDPIECE_NONE */
    uint32_t pops;    /* a cell, or BBPE_WORDPIECE_NONE */
    uint32_t popped;  /* how many tokens that are */
    uint32_t parent, depth;
    uint8_t byte;
} bbpe_wordpiece_node;

typedef struct {
    uint32_t token, before; /* the cell of the token before it, or BBPE_WORDPIECE_NONE */
} bbpe_wordpiece_cell;

typedef struct {
    bbpe_pair_table children; /* (node, byte) -> node */
    bbpe_wordpiece_node *nodes;
    bbpe_wordpiece_cell *cells;
    size_t node_count, node_capacity, cell_count, cell_capacity;
    bbpe_pretoken_table tokens[2]; /* by root; empty once finalized */
    bbpe_trie tries[2];            /* the same tokens */
    bool has_tries;                /* ids are small enough */
    size_t id_count;
    size_t max_characters;
    uint32_t unknown;
    bool is_bert;
    unsigned rules; /* of models/normalise/bert.h */
} bbpe_wordpiece;

bbpe_status bbpe_wordpiece_init(bbpe_wordpiece *self, uint32_t unknown, size_t max_characters, uint64_t salt);
void bbpe_wordpiece_free(bbpe_wordpiece *self);
/* Add a token of n bytes, n >= 1, that begins words (`root` BBPE_WORDPIECE_BEGIN) or continues them, without its
 * prefix.  Of two with the same bytes the last counts. */
bbpe_status bbpe_wordpiece_add(bbpe_wordpiece *self, uint32_t root, const uint8_t *bytes, size_t n, uint32_t id);
/* Find failures and pops; after it the model may be used. */
bbpe_status bbpe_wordpiece_finalize(bbpe_wordpiece *self);

/* Measure or write a finalized model, or open one that is zeroed. */
void bbpe_wordpiece_visit(bbpe_wordpiece *self, bbpe_image *image);

/* A bbpe_model_encode; `self` is a bbpe_wordpiece. */
bbpe_status bbpe_wordpiece_encode(const void *self, bbpe_model_scratch *scratch, const uint8_t *word, size_t n,
                                  uint32_t *ids, size_t *count);

BBPE_INLINE bbpe_model bbpe_model_of_wordpiece(const bbpe_wordpiece *self) {
    return (bbpe_model){.self = self, .encode = bbpe_wordpiece_encode};
}

#endif
