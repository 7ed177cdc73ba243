/* The BPE model: which neighbours merge, in which order, and the merging of one piece of text.
 *
 * Merging takes the lowest rank first, the leftmost of equals (Sennrich et al., 2016, "Neural Machine Translation
 * of Rare Words with Subword Pieces").  Merges come as a list (HF tokenizers), or any two neighbours merge whose
 * concatenation is a token, the lowest id first (tiktoken).
 *
 * Whatever surrounds a token t, no merge crosses its ends until it is made, and the lowest of all pairs that is
 * inside is the lowest inside; so the steps inside are those of merging t alone.  Hence t is made by one pair or by
 * none: its *live* merge.  bbpe_bpe_finalize finds them, the shorter tokens first; by rank they are the whole table.
 * All of this holds too where several ranks are one *level*, of which the leftmost pair merges first (SentencePiece).
 *
 * Immutable once finalized, read by any number of threads; what a call mutates is in a bbpe_bpe_work.  The struct owns
 * what it points to. */
#ifndef BBPE_MODELS_BPE_MODEL_H
#define BBPE_MODELS_BPE_MODEL_H

#include "base/random.h"
#include "tables/heap.h"
#include "models/bpe/merge_table.h"
#include "tables/pair_table.h"
#include "tables/pretoken_table.h"

/* A flag beside the id in the value of `tokens`: merging its bytes alone makes the token. */
#define BBPE_BPE_MADE ((uint64_t)1 << 32)

/* No pair; above every rank. */
#define BBPE_BPE_NONE UINT64_MAX

enum { BBPE_BPE_SHORT = 128 }; /* up to here scanning for the minimum beats a heap */

typedef struct {
    uint32_t left, right;
} bbpe_bpe_parts;

typedef struct {
    bbpe_pair_table merges;     /* pair of ids -> rank << 32 | id */
    bbpe_merge_table table;     /* the same by numbers in the order of ranks, for short pieces */
    uint64_t *byte_pairs;       /* what two bytes make, [first << 8 | second]: bbpe_bpe_made_of, bbpe_bpe_is_sure */
    uint16_t *ends;             /* by id, a token's first byte << 8 | its last; NULL once the model is finalized */
    uint32_t *numbers, *ids;    /* id -> number; number -> id */
    size_t number_count;
    /* from this number on ids are so much higher, modulo 2^32: mostly those of all merges, which saves looking them up */
    uint32_t plain_start, plain_distance;
    bbpe_pretoken_table tokens; /* bytes -> id, and BBPE_BPE_MADE */
    uint32_t *lengths;          /* by id; 0 where there is no token */
    bbpe_bpe_parts *parts;      /* by id: the pair of a token's live merge; of others zero */
    size_t id_count;
    uint32_t byte_ids[256];
    bool by_rank;         /* merges are what the tokens say, not a list */
    bool whole_pretokens; /* a pretoken that is a token is that token, made or not */
    size_t longest;       /* token, in bytes */
    size_t unmade_count; /* tokens of two bytes and more that no merge makes */
    uint32_t *output_starts; /* by id and one more, or NULL: where in `outputs` the ids begin that it is written as */
    uint32_t *outputs;
    uint32_t *levels; /* by rank, or NULL: each rank is a level.  Then numbers of symbols are not the order of merging */
    size_t level_count;
    uint32_t fixed_ranks; /* merges of lower ranks are never skipped by dropout: they only build characters */
} bbpe_bpe;

/* Memory that one call writes to while it merges; zeroed before use. */
/* Equal symbols in a row, a link of a list; `own` and `seam` are what two of them merge into, and the last one with the first
 * of the next run (merge_runs.c). */
typedef struct {
    uint64_t own, seam;
    size_t count;
    uint32_t id, before, next;
} bbpe_bpe_run;

typedef struct {
    bbpe_bpe_run *items;
    size_t used, capacity;
    uint32_t first, free;
} bbpe_bpe_runs;

typedef struct {
    uint32_t *slots;
    size_t capacity;
    bbpe_bpe_runs runs;
    bbpe_heap queue;
    uint64_t *dead; /* bits: positions from which no tokens lead on */
    size_t dead_capacity;
    bbpe_heap skipped; /* an unordered list, by dropout */
} bbpe_bpe_work;

/* An empty model for ids below `id_count`. */
bbpe_status bbpe_bpe_init(bbpe_bpe *self, size_t id_count, bool by_rank, bool whole_pretokens);
void bbpe_bpe_free(bbpe_bpe *self);
void bbpe_bpe_work_free(bbpe_bpe_work *self);

/* Add a token, before any merge; all 256 single bytes must come. */
bbpe_status bbpe_bpe_add_token(bbpe_bpe *self, uint32_t id, const uint8_t *bytes, size_t n);
/* Add a merge of a list; of one that is listed twice the last rank counts. */
bbpe_status bbpe_bpe_add_merge(bbpe_bpe *self, uint32_t left, uint32_t right, uint32_t rank, uint32_t id);
/* Add the merges of a list in order, as rows of the two ids and the id that they make. */
bbpe_status bbpe_bpe_add_merges(bbpe_bpe *self, const uint32_t (*rows)[3], size_t count);
/* Have several ranks merge as if they were one, the leftmost pair first; before the model is finalized.  `levels` has one
 * for each of `count` ranks, none lower than the one before it, and no rank is higher. */
bbpe_status bbpe_bpe_set_levels(bbpe_bpe *self, const uint32_t *levels, size_t count);
/* Find the live merges; after it the model may be used.  BBPE_TOO_LARGE beyond 2^21 merges that make tokens. */
bbpe_status bbpe_bpe_finalize(bbpe_bpe *self);

/* Have each id written as one or several others, at most as many as the token has bytes: a model whose symbols are
 * characters is one of bytes that builds them first, and a character without a token becomes the tokens of its bytes.
 * `starts` has id_count + 1 places in `outputs`.  A token of one byte that no text leads to may be written as nothing. */
bbpe_status bbpe_bpe_set_outputs(bbpe_bpe *self, const uint32_t *starts, const uint32_t *outputs);
/* Replace ids by those that they are written as, where they are; there is room for one a byte.  Returns how many there
 * are. */
size_t bbpe_bpe_put_outputs(const bbpe_bpe *self, uint32_t *ids, size_t count);

/* Measure or write a model that is finalized, or open one that is zeroed. */
void bbpe_bpe_visit(bbpe_bpe *self, bbpe_image *image);

/* Free what settling has made. */
void bbpe_bpe_forget_numbers(bbpe_bpe *self);
/* The entries of `tokens`, those of shorter tokens first, in memory of the caller's; NULL without memory. */
uint32_t *bbpe_bpe_by_length(const bbpe_bpe *self);

/* The rank << 32 | id that two neighbours merge into, or BBPE_BPE_NONE. */
BBPE_INLINE uint64_t bbpe_bpe_value(const bbpe_bpe *self, uint32_t left, uint32_t right) {
    const uint64_t *value = bbpe_pair_table_find(&self->merges, bbpe_pair_key(left, right));
    return value == NULL ? BBPE_BPE_NONE : *value;
}

/* The order of merging of a value: the level of its rank. */
BBPE_INLINE uint32_t bbpe_bpe_level(const bbpe_bpe *self, uint64_t value) {
    const uint32_t rank = (uint32_t)(value >> 32);
    return self->levels == NULL ? rank : self->levels[rank];
}

/* No number of a token: above all that there are. */
#define BBPE_BPE_NO_NUMBER (((uint64_t)1 << BBPE_MERGE_TABLE_BITS) - 1)

/* Two bytes x y as a word of three numbers of 21 bits: of what they make; the lowest of what y alone makes with a symbol
 * before it that ends in x; the lowest of what x alone makes with a symbol after it that begins with y.  The top bit is
 * set if what they make is part of a token of a lower number. */
BBPE_INLINE uint64_t bbpe_bpe_byte_pair(const bbpe_bpe *self, uint8_t x, uint8_t y) {
    return self->byte_pairs[(size_t)x << 8 | y];
}

/* The number of what two bytes make, or BBPE_BPE_NO_NUMBER. */
BBPE_INLINE uint64_t bbpe_bpe_made_of(uint64_t pair) {
    return pair >> (2 * BBPE_MERGE_TABLE_BITS) & BBPE_BPE_NO_NUMBER;
}

/* Whether two bytes merge whatever else does, by their pair and those of the first and the second one with their other
 * neighbours, UINT64_MAX where there is none.  As long as both are alone nothing else that either is part of comes
 * first, as the left one of equals does; and what they make merges later still.  So until their turn all other merges are
 * the same, whether this one is done already or not. */
BBPE_INLINE bool bbpe_bpe_is_sure(uint64_t before, uint64_t pair, uint64_t after) {
    const uint64_t made = pair >> (2 * BBPE_MERGE_TABLE_BITS);
    return (made < (before >> BBPE_MERGE_TABLE_BITS & BBPE_BPE_NO_NUMBER)) & (made <= (after & BBPE_BPE_NO_NUMBER));
}

/* Whether a piece of so many bytes may be merged by numbers. */
BBPE_INLINE bool bbpe_bpe_is_short(const bbpe_bpe *self, size_t n) {
    return n <= BBPE_BPE_SHORT && self->levels == NULL;
}

/* Merge a piece that bbpe_bpe_is_short until `enough` symbols or no pair is left; writes n ids, of which so many as are
 * returned count. */
size_t bbpe_bpe_merge_short(const bbpe_bpe *self, const uint8_t *text, size_t n, size_t enough, uint32_t *ids);

/* Merge a piece of few bytes that are each many times in a row; returns how many ids, or 0 where it is none, takes more steps
 * than others would, or memory lacks. */
size_t bbpe_bpe_merge_runs(const bbpe_bpe *self, bbpe_bpe_work *work, const uint8_t *text, size_t n, uint32_t *ids);

/* A way to merge bytes, n >= 1: `ids` has room for n. */
typedef bbpe_status (*bbpe_bpe_merge)(void *owner, const uint8_t *text, size_t n, uint32_t *ids, size_t *count);

/* Merge a text of so many bytes or more that mostly repeats the same few, most of which are not merged but known to be as the
 * others; false if it is none, or its ids do not repeat. */
enum { BBPE_BPE_REPEATS = 1 << 14 };
bool bbpe_bpe_merge_repeats(const bbpe_bpe *self, const uint8_t *text, size_t n, bbpe_bpe_merge merge, void *owner,
                            uint32_t *ids, size_t *count);

/* Merge any number of bytes by a heap over the symbols, O(n log n): the truth that faster ways must meet. */
bbpe_status bbpe_bpe_merge_long(const bbpe_bpe *self, bbpe_bpe_work *work, const uint8_t *text, size_t n,
                                size_t enough, uint32_t *ids, size_t *count);

/* Merges that are skipped at random (base/random.h). */
typedef struct {
    uint64_t state;     /* at first the seed */
    uint64_t threshold; /* a merge is skipped when a number of 53 bits is below it */
} bbpe_bpe_dropout;

BBPE_INLINE bool bbpe_bpe_dropout_next(bbpe_bpe_dropout *self) {
    return bbpe_random_next(&self->state) >> 11 < self->threshold;
}

/* Merge by the heap where at every step each possible merge is skipped with the same probability, until a step skips
 * them all (Provilkov et al., 2020, "BPE-Dropout: Simple and Effective Subword Regularization").  Whole tokens are not
 * looked for. */
bbpe_status bbpe_bpe_merge_dropout(const bbpe_bpe *self, bbpe_bpe_work *work, const uint8_t *text, size_t n,
                                   bbpe_bpe_dropout *dropout, uint32_t *ids, size_t *count);

/* Whether a piece of text is one token without merging; its id is written then.  `is_part`: it is not a whole pretoken
 * but a part between cut points, for which whole_pretokens does not hold. */
BBPE_INLINE bool bbpe_bpe_find(const bbpe_bpe *self, const uint8_t *text, size_t n, bool is_part, uint32_t *id) {
    if (n > self->longest) return false;
    const bbpe_pretoken_entry *token = bbpe_pretoken_table_find(&self->tokens, text, n);
    if (token == NULL || !((token->value & BBPE_BPE_MADE) || (self->whole_pretokens && !is_part))) return false;
    *id = (uint32_t)token->value;
    return true;
}

#endif
