/* A Unigram model (Kudo, 2018, "Subword Regularization"): a text becomes the tokens whose scores sum up highest.
 *
 * Viterbi's algorithm from left to right.  A *node* is the border between two characters; what ends there best is kept
 * with its sum and its last token.  From a node the trie gives all tokens that begin there, so a byte of text costs as
 * many steps as the longest token has bytes, at most.  Where no token crosses a node it is *closed*: the tokens up
 * to there are final, and at the first one after 300 bytes, or before a blank, they are written and the nodes are used
 * again.  So memory is that of the longest stretch without a closed node, which is short in any usual text.
 *
 * A character that is no token is unknown: its score is `unknown_score`, and it is written as the tokens of its bytes,
 * or, when there are none, as `unknown`, one for a run, or not at all.  Where some bytes have none, a run is written as those of
 * its bytes if all of them have one.
 *
 * Of equal sums the token that begins first stays.  Sums are what the judges compute: with `is_float` (SentencePiece)
 * each is rounded to float, which decides between nearly equal ones, and so a text is one from its beginning to its
 * end; at a node whose sum is beyond 100,000 it is taken away from all.  Else (HF's `tokenizers`) sums are doubles.
 *
 * Where a text goes on with a character of three bytes, walks are by such characters (steps.h): Japanese in 80 ms for 8 MB
 * instead of 120.  40 MB/s on English, 110 with the words of words.h.  Immutable after init; the struct owns its
 * arrays. */
#ifndef BBPE_MODELS_UNIGRAM_MODEL_H
#define BBPE_MODELS_UNIGRAM_MODEL_H

#include "models/model.h"
#include "models/unigram/steps.h"
#include "tables/trie.h"

/* A token as encoding sees it, by its number in `tokens`. */
typedef struct {
    double score;
    uint32_t id, length;
} bbpe_unigram_piece;

typedef struct {
    bbpe_pretoken_table tokens; /* none after bbpe_unigram_prepare; values are not used */
    bbpe_trie trie;             /* its ids are numbers of tokens */
    bbpe_unigram_piece *pieces;
    size_t piece_count;
    bbpe_steps steps;           /* none before bbpe_unigram_prepare */
    size_t longest;             /* bytes of a token */
    double unknown_score;
    uint32_t unknown;           /* an id, or BBPE_UNIGRAM_NO_ID; not written where there are tokens of bytes */
    bool has_byte_ids;
    bool has_some_byte_ids;     /* not all: BBPE_UNIGRAM_NO_ID is that of the others */
    uint32_t named;             /* tokens with ids from here on are written as `unknown`; only with `has_some_byte_ids` */
    bool is_float;
    bool has_words;             /* no token holds a blank after what is no white space of ASCII */
    uint32_t byte_ids[256];     /* the tokens that an unknown character is written as */
    bbpe_trie runs;             /* ids of texts that only a run of unknown characters becomes; no slots: none */
    size_t run_ids;             /* more than any of these ids */
} bbpe_unigram;

/* The end of the best path to a node, with either kind of sum.  `last` is a token's number or BBPE_UNIGRAM_UNKNOWN, and
 * `length` its bytes: asking the token for them would have the way back wait for memory, 96 ms instead of 84 on Japanese. */
typedef struct {
    double sum;
    uint32_t last, length;
} bbpe_unigram_node;

typedef struct {
    float sum;
    uint32_t last, length;
} bbpe_unigram_float_node;

#define BBPE_UNIGRAM_NO_ID UINT32_MAX
#define BBPE_UNIGRAM_UNKNOWN 0x80000000u
#define BBPE_UNIGRAM_BYTE 0xFFFFFE00u /* and a byte of what is unknown, until it is known whether its run is spelled */

/* Of `tokens`, whose values are ids, and their scores in the same order, which are finite.  The caller sets the fields
 * from `unknown_score` on.  BBPE_TOO_LARGE when there are more tokens than a trie can hold. */
bbpe_status bbpe_unigram_init(bbpe_unigram *self, const bbpe_pretoken_table *tokens, const double *scores);
/* Let runs of unknown characters that are texts of `tokens`, whose values are ids, become these; `has_some_byte_ids` is set. */
bbpe_status bbpe_unigram_add_runs(bbpe_unigram *self, bbpe_pretoken_table *tokens);
/* Make the tables that make encoding faster, but not n-best or learning: without them ids are the same. */
bbpe_status bbpe_unigram_prepare(bbpe_unigram *self);
void bbpe_unigram_free(bbpe_unigram *self);
/* Measure or write a model that is prepared, or open one that is zeroed. */
void bbpe_unigram_visit(bbpe_unigram *self, bbpe_image *image);

/* Write the ids of a token, or of an unknown character, by its bytes; the last one first, as a path is followed back.  A
 * token with the id `unknown`, which only HF's models find in texts, is written as an unknown character is. */
BBPE_INLINE uint32_t *bbpe_unigram_put_back(const bbpe_unigram *self, uint32_t token, const uint8_t *bytes, size_t n,
                                            uint32_t *ids) {
    if (BBPE_LIKELY(token != BBPE_UNIGRAM_UNKNOWN && self->pieces[token].id != self->unknown))
        *ids++ = self->pieces[token].id;
    else if (self->has_some_byte_ids)
        while (n-- > 0) *ids++ = BBPE_UNIGRAM_BYTE | bytes[n];
    else if (!self->has_byte_ids) *ids++ = self->unknown;
    else
        while (n-- > 0) *ids++ = self->byte_ids[bytes[n]];
    return ids;
}
/* Put such ids in order, and return their end; without tokens of bytes, leave one unknown of a run.  Where some bytes have
 * none, bbpe_unigram_spell follows when all is written. */
uint32_t *bbpe_unigram_put_in_order(const bbpe_unigram *self, uint32_t *first, uint32_t *end, bool after_unknown);

/* Write the runs of bytes that are unknown as the token of this text, as those of the bytes, or as one unknown, and tokens
 * without an id of their own as the unknown one; return the end of the ids. */
uint32_t *bbpe_unigram_spell(const bbpe_unigram *self, uint32_t *first, uint32_t *end);

/* As the encoder sees it.  It cuts nothing: with `is_float` ids depend on where a text begins. */
bbpe_model bbpe_unigram_view(const bbpe_unigram *self);

#endif
