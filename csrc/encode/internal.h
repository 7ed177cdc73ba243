/* Shared by the files of this folder; encode.h is for callers.
 *
 * A text passes these files, each of which calls only those after it:
 *
 *     windows.c, stretches.c     a str as UTF-8, a window at a time; short texts one after another in a window
 *     encode.c               pretokens, a block at a time; where they have three-byte characters they are cut into
 *     cut_pieces.h           pieces: so those of Chinese and Japanese, whose pretokens hardly ever repeat, are short
 *     lookup_batch.h         keys of the pieces of a block, then their cache entries, then their ids
 *     miss.c                 a piece whose ids are not in its primary slot: the queue of pieces to merge, or models/bpe at once
 *     cache.h, long_pieces.h the tables: keys are exact, so that a hit is never a guess
 *     by_model.c             the ids of one piece, merged alone or by another model
 *     miss_gaps.c            the ids of a queue, moved to where they belong
 *
 * call.c comes before all of them for texts that pass the pipeline, parts.c for one text by several threads; prefill.c fills
 * new tables with tokens.
 */
#ifndef BBPE_ENCODE_INTERNAL_H
#define BBPE_ENCODE_INTERNAL_H

#include "encode/cache.h"
#include "encode/cut_pieces.h"
#include "encode/encode.h"
#include "encode/long_pieces.h"
#include "models/bpe/bpe.h"

struct bbpe_lookup_batch_loops; /* lookup_batch.h */

struct bbpe_encoder {
    bbpe_model model;
    void **match; /* of BPE: a bbpe_bpe_match that threads share, or NULL until long pieces need it; a light encoder: NULL */
    bbpe_encoder_ask ask; /* who makes `match`, or NULL */
    void *owner;          /* is asked */
    bbpe_cut_points cuts;
    bool is_opened;       /* the cuts are in a block of memory (tables/image.h), which outlives this */
    bool has_cuts;        /* pretokens are cut into pieces, */
    bbpe_cut_pieces cut;  /* many at a time by this */
    bbpe_split_fill fill; /* NULL: the caller splits the text */
    const struct bbpe_lookup_batch_loops *loops;
    bbpe_scheme scheme;
    bool has_wholes;              /* whole pretokens can be tokens that merging does not make */
    bbpe_merge_batch merge_batch; /* or NULL: new pieces do not wait for each other */
    bbpe_merge_one merge_one;     /* or NULL: longer ones are merged by scalar code */
};

/* -- the miss queue: new pieces of up to 24 bytes, which are merged together ------------------------------------- */

enum {
    BBPE_MISS_QUEUE_PIECES = 128, /* 224 take as long */
    BBPE_MISS_QUEUE_GAPS = 256,   /* a piece that repeats while it waits has a gap each time */
    BBPE_MISS_QUEUE_PRETOKENS = 64, /* that are remembered with their pieces; others wait until they come again */
    BBPE_MISS_QUEUE_STRETCH_END = BBPE_MISS_QUEUE_PIECES
};

/* A short piece that no table had, and the entry that will have its ids; or NULL, and it is a long one. */
typedef struct {
    bbpe_cache_key key;
    bbpe_cache_entry *entry;
} bbpe_missing_piece;

/* A gap among the ids, as long as the piece has bytes; or BBPE_MISS_QUEUE_STRETCH_END, and no gap. */
typedef struct {
    uint32_t *ids;
    size_t piece;
} bbpe_miss_gap;

/* A pretoken that was cut and waits for the ids of some of its pieces: its bytes in the text, its gaps, and how many ids it has
 * before the first and after the last of them. */
typedef struct {
    const uint8_t *bytes;
    size_t n, first_gap, last_gap, before, after;
} bbpe_cut_pretoken;

/* Pieces without ids, and their gaps in the order of the text. */
typedef struct {
    size_t piece_count, gap_count, pretoken_count;
    uint64_t gaps_so_far;
    bbpe_missing_piece pieces[BBPE_MISS_QUEUE_PIECES];
    bbpe_merge_batch_piece longs[BBPE_MISS_QUEUE_PIECES]; /* the bytes of long ones */
    bbpe_miss_gap gaps[BBPE_MISS_QUEUE_GAPS];
    bbpe_cut_pretoken pretokens[BBPE_MISS_QUEUE_PRETOKENS];
} bbpe_miss_queue;

BBPE_INLINE size_t bbpe_miss_queue_length(const bbpe_miss_queue *self, size_t number) {
    const bbpe_missing_piece *piece = self->pieces + number;
    return BBPE_LIKELY(piece->entry != NULL) ? bbpe_cache_key_length(piece->key) : self->longs[number].n;
}

/* The ids of the pieces of a miss queue. */
typedef struct {
    uint32_t ids[BBPE_MISS_QUEUE_PIECES][BBPE_MERGE_BATCH_BYTES];
    size_t counts[BBPE_MISS_QUEUE_PIECES];
} bbpe_miss_ids;

/* -- states ------------------------------------------------------------------------------------------------------ */

enum {
    BBPE_ENCODE_FIRST_ENTRIES = 64, /* 2 KiB: a short text needs no more, and larger tables would have to be cleared */
    BBPE_ENCODE_FIRST_SLOTS = 16,   /* 2 KiB */
    BBPE_LOOKUP_BATCH = 768,  /* pieces: with 256 English 4, multilingual text 6, Chinese 7 % more time (Zen 3) */
    BBPE_JOINED_STRETCHES = 256, /* as many as the callers hand over at once */
};

/* Pieces, and the primary slots of their keys.  The key of a piece of more than 15 bytes has two words: its position in the
 * text << 6 | its length, with the flag of a part, and its hash as a pretoken.  If it has more than 32 bytes, the first word
 * has 63 in place of the length, and the second one the length in place of the hash; those of up to BBPE_LONG_PIECE have
 * their record in `longer_of`. */
typedef struct {
    _Alignas(64) bbpe_cache_key keys[BBPE_LOOKUP_BATCH];
    _Alignas(64) const bbpe_cache_entry *primary[BBPE_LOOKUP_BATCH];
    size_t longer_count;
    uint16_t longer[BBPE_LOOKUP_BATCH]; /* the numbers of the pieces that have a hash */
    union {
        uint64_t hash;
        const bbpe_long_piece *record; /* that is likely its, or NULL */
    } longer_of[BBPE_LOOKUP_BATCH];
    uint64_t longer_added; /* records there are; with more, those may be others */
} bbpe_lookup_batch;

/* A stretch in the window, and what follows it (stretches.c). */
typedef struct {
    size_t end;
    const size_t *pretokens; /* their ends in the stretch, or NULL */
    size_t pretoken_count;
    bool ends_text;
} bbpe_joined_stretch;
/* Stretches one after another in the window. */
typedef struct {
    size_t used, count;
    bbpe_joined_stretch stretches[BBPE_JOINED_STRETCHES];
} bbpe_joined_stretches;
/* The end of a stretch: the id that follows it, or BBPE_STRETCH_NO_ID, and where its own ids end, once that is known. */
typedef struct {
    uint32_t id;
    uint32_t *end;
} bbpe_stretch_end;

/* Arrays that would be on the stack, of which a thread may have 64 KiB, or less than that left. */
typedef struct {
    bbpe_lookup_batch batch;
    size_t ends[BBPE_LOOKUP_BATCH];                        /* of pretokens, */
    size_t piece_ends[BBPE_LOOKUP_BATCH + BBPE_CUT_SLACK]; /* and of their pieces */
    bbpe_miss_ids miss_ids;
    bbpe_joined_stretches joined;
    bbpe_stretch_end stretch_ends[BBPE_JOINED_STRETCHES];
} bbpe_encode_desk;

struct bbpe_encode_state {
    bbpe_encode_loan loan;
    bbpe_hot_cache hot;
    bbpe_long_pieces longer;
    bbpe_bpe_work work;
    bbpe_model_scratch scratch;
    bbpe_status status; /* the first failure of the call */
    uint8_t *window;    /* a stretch of the text as UTF-8 */
    size_t window_capacity;
    size_t ids_capacity;
    void *heap_top_guard;    /* the block after the lists of ids that were made last */
    uint64_t secondary_hits; /* pieces that were not in their primary slot */
    uint64_t kept;           /* short pieces that entered `hot` since it is so large */
    uint64_t kept_asked;     /* `kept`, and */
    size_t slots_asked;      /* the slots taken, when the owner was last asked for larger tables */
    uint64_t new_tokens;     /* those of the last of these that are one token */
    size_t prefilled;        /* tokens of the vocabulary that were looked at for `hot` */
    size_t unmatched;        /* bytes of long pieces without the encoder's `match` */
    bbpe_miss_queue queue;
    bbpe_stretch_end *next_end;  /* of stretches that are encoded as one: the next one that is read, */
    bbpe_stretch_end *next_known; /* and the next one whose ids are not yet all known */
    bool has_many_ids;     /* the last pieces that were looked up had more than two ids for one of them */
    bool has_small_tokens; /* the last piece that was too long for a batch */
    bool is_grown;        /* `hot` has memory of its own, not the two tables below */
    /* a probe of two neighbours touches one cache line */
    _Alignas(64) bbpe_cache_entry first_entries[BBPE_ENCODE_FIRST_ENTRIES];
    bbpe_cache_slot first_slots[BBPE_ENCODE_FIRST_SLOTS];
    bbpe_encode_desk desk;
};

/* An encoder and a state in memory of the caller's; of a state in zeroed memory, or memory that was freed by it. */
bbpe_status bbpe_encoder_init(bbpe_encoder *self, const bbpe_model *model, const bbpe_scheme *scheme, bbpe_split_fill fill);
void bbpe_encoder_free(bbpe_encoder *self);
/* The exact matching of long pieces, which is made if it is not there; NULL without memory.  Where an id is too large for it,
 * it is not exact. */
const bbpe_bpe_match *bbpe_encoder_match(const bbpe_encoder *self);
void bbpe_encode_state_init(bbpe_encode_state *self, size_t id_count);
void bbpe_encode_state_free(bbpe_encode_state *self);
/* Reserve so many bytes of the window; a failure is left in state->status. */
bool bbpe_encode_state_window(bbpe_encode_state *self, size_t bytes);

/* -- encode.c ---------------------------------------------------------------------------------------------------- */

/* Pretokens, or pieces, of a text of n bytes by their ends, the first of which begins at `start`; one of no bytes is the end
 * of a stretch (state->next_end).  Without `has_3byte` there are no characters of three bytes or more. */
typedef struct {
    const uint8_t *text;
    size_t n, start;
    const size_t *ends;
    size_t count;
    bool has_3byte;
} bbpe_pretokens;

/* Write the ids of pretokens, at most BBPE_LOOKUP_BATCH of them; returns the end of the ids. */
uint32_t *bbpe_encode_pretokens(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pretokens *block,
                                uint32_t *ids);
/* Write the ids of n bytes of UTF-8. */
bbpe_status bbpe_encode_utf8(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                             uint32_t *ids, size_t *count);
/* Add to `*count` how many these are, as bbpe_encode_count does. */
bbpe_status bbpe_encode_count_utf8(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                   size_t limit, bool keeps, size_t *count);

/* -- miss.c ------------------------------------------------------------------------------------------------------ */

/* Hash the pieces of a lookup batch that have more than 32 bytes, and fetch their records. */
void bbpe_encode_fetch_longer(const bbpe_encoder *self, const bbpe_encode_state *state, bbpe_lookup_batch *batch,
                              const uint8_t *text);
/* Write the ids of piece i of a lookup batch, which are not in its primary slot as they are; returns the end of the ids.  A
 * failure is left in state->status. */
uint32_t *bbpe_encode_miss(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_lookup_batch *batch, size_t i,
                           const uint8_t *text, uint32_t *ids);
/* Write the ids of all pieces that wait, and close the gaps that they leave; returns the end of the ids. */
uint32_t *bbpe_miss_queue_flush(const bbpe_encoder *self, bbpe_encode_state *state, uint32_t *end);

/* -- by_model.c and miss_gaps.c ---------------------------------------------------------------------------------- */

/* Write the ids of a piece by the model; returns how many.  A failure is left in state->status. */
size_t bbpe_encode_by_model(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n, bool is_part,
                            uint32_t *ids);

/* Fill the gaps with ids, and move up the ids between them; returns the new end.  Gaps are then where their ids are; ends of
 * stretches go to `*known`. */
uint32_t *bbpe_miss_gaps_close(bbpe_miss_queue *queue, const bbpe_miss_ids *from, uint32_t *end,
                               bbpe_stretch_end **known);

/* -- prefill.c --------------------------------------------------------------------------------------------------- */

/* Put the next tokens of the vocabulary where their primary slots are free: an English text or code will have a third of them.
 * It takes 1.3 ms for 100,000, and 7 % off 8 MB of English, whose new pieces need not be merged; CSV and logs, which have few
 * pieces, call it only once or twice. */
void bbpe_encode_prefill(const bbpe_bpe *model, bbpe_encode_state *state);

#endif
