/* Encoders, and the memory that calls borrow; a part of encode.h. */
#ifndef BBPE_ENCODE_STATE_H
#define BBPE_ENCODE_STATE_H

#include "memory/memory.h"
#include "models/model.h"
#include "pipeline/pipeline.h"
#include "split/split.h"
#include "threads/threads.h"

typedef struct bbpe_encoder bbpe_encoder;
typedef struct bbpe_encode_state bbpe_encode_state;

/* A text in memory: bytes of UTF-8 (unit_size 0), or a str's code units of 1, 2 or 4 bytes. */
typedef struct {
    const void *units;
    unsigned unit_size;
} bbpe_encode_text;
enum { BBPE_ENCODE_SLACK = 16 }; /* ids after the last one that may be overwritten */

/* `scheme` and `fill` may be NULL: then the caller splits every text.  The model's parts must outlive the encoder.  A light
 * one gives the same ids and can use the same states; it lacks the tables by which long pieces take no longer than short
 * ones, and which take longer to make than short texts to encode. */
bbpe_status bbpe_encoder_new(bbpe_encoder **self, const bbpe_model *model, const bbpe_scheme *scheme, bbpe_split_fill fill,
                             bool is_light);
/* One that is not light, whose cut points bbpe_encoder_write_cuts has written for the same model; it is to be deleted unless
 * the image is whole then. */
bbpe_status bbpe_encoder_open(bbpe_encoder **self, const bbpe_model *model, const bbpe_scheme *scheme, bbpe_split_fill fill,
                              bbpe_image *image);
/* Use the matching of long pieces of BPE that bbpe_encoder_write_match has written for the same model, if the image is whole and
 * there is none yet. */
bbpe_status bbpe_encoder_open_match(const bbpe_encoder *self, bbpe_image *image);
/* Measure or write either.  The second is made if it is not there; BBPE_TOO_LARGE where an id is. */
void bbpe_encoder_write_cuts(const bbpe_encoder *self, bbpe_image *image);
bbpe_status bbpe_encoder_write_match(const bbpe_encoder *self, bbpe_image *image);
/* Whom calls ask for the matching of long pieces before they make it themselves: it may be opened then. */
typedef void (*bbpe_encoder_ask)(void *owner);
void bbpe_encoder_set_ask(bbpe_encoder *self, bbpe_encoder_ask ask, void *owner);
void bbpe_encoder_delete(bbpe_encoder *self);

/* Whom a call asks for larger tables between two blocks of pieces when those of its state have filled up. */
typedef void (*bbpe_encode_ask_room)(void *owner, bbpe_encode_state *state);
/* The fields of a state that belong to its owner. */
typedef struct {
    uint32_t *ids; /* memory for ids: bbpe_encode_state_reserve */
    bbpe_reusable_buffer out_of_order; /* ids whose place is not yet known, when threads encode parts of a text */
    uint64_t seen; /* bytes of text that it was lent for */
    uint64_t generation; /* the owner's mark */
    uint64_t table_bytes; /* of tables other than those that it contains */
    bbpe_memory_budget *budget; /* of long pieces; NULL: none are remembered */
    bbpe_encode_ask_room ask_room; /* or NULL */
    void *owner;                   /* is asked */
    uint64_t sized_at; /* what `seen` is when the size of its tables is considered again */
    bbpe_pipeline_run run; /* memory for the pipeline */
    bbpe_place_scratch places; /* and for calls with offsets */
} bbpe_encode_loan;
/* The size of a state's tables, and what they took in since they have that size. */
typedef struct {
    size_t entries, slots, slots_taken;
    uint64_t kept; /* short pieces that are new among the entries */
    bool is_grown; /* not the small tables that every state contains */
} bbpe_encode_tables;
/* The memory of tables of such a size. */
size_t bbpe_hot_cache_bytes(size_t entries, size_t slots);
/* With the small tables that it contains, for ids below `id_count`: with larger ones it gives the same, and takes longer.  NULL
 * without memory. */
bbpe_encode_state *bbpe_encode_state_new(size_t id_count);
void bbpe_encode_state_delete(bbpe_encode_state *self);
bbpe_encode_loan *bbpe_encode_state_loan(bbpe_encode_state *self);
bbpe_encode_tables bbpe_encode_state_tables(const bbpe_encode_state *self);
/* The memory of long pieces, which it has taken from the budget. */
size_t bbpe_encode_state_long_bytes(const bbpe_encode_state *self);
/* Whether tables are large enough for what they took in: more would be overwritten, and merged again when the text comes
 * again. */
BBPE_INLINE bool bbpe_encode_entries_are_full(uint64_t kept, size_t entries) {
    return kept > entries / 2;
}
BBPE_INLINE bool bbpe_encode_slots_are_full(size_t taken, size_t slots) {
    return taken > slots / 2;
}
/* Move to larger tables, with the contents of the present ones; false without memory, and nothing changes. */
bool bbpe_encode_state_grow(bbpe_encode_state *self, size_t entries, size_t slots);
/* Keep the memory of the lists that were just made for the next ones, or no longer.  (state.c) */
void bbpe_encode_state_guard_heap_top(bbpe_encode_state *self, bool guards);
/* Reserve `count` ids and BBPE_ENCODE_SLACK more in the loan's `ids`. */
bbpe_status bbpe_encode_state_reserve(bbpe_encode_state *self, size_t count);

#endif
