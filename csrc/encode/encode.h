/* Text -> ids: split into pretokens, look each up, merge what is new.  For callers; internal.h is the rest.
 *
 * An encoder refers to its model and splitter, and is shared by any number of threads.  A state is scratch memory and
 * caches for one call at a time; ids never depend on it.  A call that fails leaves its state fit for the next call. */
#ifndef BBPE_ENCODE_H
#define BBPE_ENCODE_H

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
enum { BBPE_ENCODE_SLACK = 4 }; /* ids after the last one that may be overwritten */

/* `scheme` and `fill` may be NULL: then the caller splits every text.  The model's parts must outlive the encoder. */
bbpe_status bbpe_encoder_new(bbpe_encoder **self, const bbpe_model *model, const bbpe_scheme *scheme, bbpe_split_fill fill);
void bbpe_encoder_delete(bbpe_encoder *self);

/* The fields of a state that belong to its owner. */
typedef struct {
    uint32_t *ids; /* memory for ids: bbpe_encode_state_reserve */
    bbpe_reusable_buffer out_of_order; /* ids whose place is not yet known, when threads encode parts of a text */
    uint64_t seen; /* bytes of text that it was lent for */
    uint64_t generation; /* the owner's mark */
    bbpe_pipeline_run run; /* memory for the pipeline */
} bbpe_encode_loan;
/* The size of a state's tables, and what they took in since they have that size. */
typedef struct {
    size_t entries, slots, slots_taken;
    uint64_t kept; /* short pieces that are new among the entries */
    bool is_grown; /* not the small tables that every state contains */
} bbpe_encode_tables;
/* The memory of tables of such a size. */
size_t bbpe_hot_cache_bytes(size_t entries, size_t slots);
/* With the small tables that it contains; NULL without memory. */
bbpe_encode_state *bbpe_encode_state_new(void);
void bbpe_encode_state_delete(bbpe_encode_state *self);
bbpe_encode_loan *bbpe_encode_state_loan(bbpe_encode_state *self);
bbpe_encode_tables bbpe_encode_state_tables(const bbpe_encode_state *self);
/* Move to larger tables, with the contents of the present ones; false without memory, and nothing changes. */
bool bbpe_encode_state_grow(bbpe_encode_state *self, size_t entries, size_t slots);
/* Keep the memory of the lists that were just made for the next ones, or no longer.  (state.c) */
void bbpe_encode_state_guard_heap_top(bbpe_encode_state *self, bool guards);
/* Reserve `count` ids and BBPE_ENCODE_SLACK more in the loan's `ids`. */
bbpe_status bbpe_encode_state_reserve(bbpe_encode_state *self, size_t count);

/* An upper bound of the ids of so many code units: a token is at least one byte. */
BBPE_INLINE size_t bbpe_encode_bound(unsigned unit_size, size_t units) {
    return (unit_size == 0 ? 1 : unit_size == 1 ? 2 : unit_size == 2 ? 3 : 4) * units;
}
/* The ids of code units [start, end) of a text as if they were all of it; `ids` has BBPE_ENCODE_SLACK more than the bound. */
bbpe_status bbpe_encode_range(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, uint32_t *ids, size_t *count);
/* The ids of many texts, one after another, and how many each has.  With NULL for `ids` only the numbers are wanted. */
bbpe_status bbpe_encode_texts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_text *texts,
                              const size_t *lengths, size_t count, uint32_t *ids, size_t *counts);
/* As bbpe_encode_texts, of what the pipeline makes of texts: each stretch's ids, and the id that follows it. */
bbpe_status bbpe_encode_stretches(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_stretch *stretches,
                                  size_t count, uint32_t *ids, size_t *counts);
/* As bbpe_encode_texts, of texts that pass a pipeline; the ids are in the loan's `ids`.  If it has a problem, which is in the
 * loan's `run`, `*failed` is the text that has it, else `count`. */
typedef struct {
    size_t limit; /* of ids, soon after which to stop */
    bool keeps;   /* the ids too, not only their numbers */
} bbpe_encode_want;
bbpe_status bbpe_encode_piped(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pipeline_call *call,
                              const bbpe_encode_text *texts, const size_t *lengths, size_t count,
                              const bbpe_encode_want *want, size_t *counts, size_t *failed);
/* The ids of n bytes of UTF-8 that the caller has split; another thread may write to the ends of the pretokens:
 * BBPE_CHANGED if they fall or pass n.  With `dropout`, not NULL, each merge is skipped at random, and nothing is cached. */
bbpe_status bbpe_encode_given(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                              const int64_t *ends, size_t pretokens, bbpe_bpe_dropout *dropout, uint32_t *ids, size_t *count);
/* Count the ids of code units [start, end), stopping soon after `limit`.  With `keeps` they stay in the loan's `ids`. */
bbpe_status bbpe_encode_count(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, size_t limit, bool keeps, size_t *count);
/* A place in [start, n) where both parts encode to the ids of the whole, or BBPE_SPLIT_NO_CUT; looks about `window` far. */
size_t bbpe_encode_cut(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start, size_t n,
                       size_t window);

/* Code units cuts[k] to cuts[k + 1] are part k; with `has_head` the head is part 0.  Others may write to the cuts. */
typedef struct {
    bbpe_encode_text text, head;
    size_t length, head_length;
    bool has_head;
    const int64_t *cuts;
} bbpe_encode_cut_text;
/* Write the bounds of parts of `chunk` or more, from 0 to n; returns how many parts.  Room for n / chunk + 2 bounds. */
size_t bbpe_encode_cuts(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t n, size_t chunk,
                        int64_t *cuts);
/* Encode the next parts that a thread takes.  False when none are left, or after a failure: BBPE_CHANGED when the cuts are
 * not within the text, or a part may have more ids than were reserved. */
bool bbpe_encode_next_parts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_cut_text *text,
                            bbpe_ordered_output *parts, size_t thread, bbpe_status *status);

#endif
