/* A text on its way to the model: tokens are found, the text between them is normalized, tokens are found in what that gives,
 * prefixes are added, pretokens are split, and the result is stretches for the encoder.
 *
 * A pipeline is a view of what its owner has made, and shared by threads.  A run is one thread's memory for it, zeroed before
 * its first use.  What a text is made to stays valid until the run is emptied. */
#ifndef BBPE_COMPILED_H
#define BBPE_COMPILED_H

#include "memory/memory.h"
#include "pipeline/normalizer.h"
#include "pipeline/pre_tokenizer.h"
#include "pipeline/token_search.h"
#include "text/text.h"

/* What a tokenizer does with every text. */
typedef struct {
    const uint8_t *prefix; /* a piece of text that is not empty and does not begin with it gets it, */
    size_t prefix_length;
    bool prefix_first;     /* only one that begins with the first character of the text, or what it became */
    bool finds_head;       /* a rule asks for that, and the normalizer may drop the first character or make several of it */
    bool unmarks;          /* U+2581 becomes a blank, before the prefix, */
    bool unmarks_pretokens; /* or after pretokens are split */
    bool replaces_invalid; /* bytes that are not UTF-8 become U+FFFD */
    bool fuses;            /* unknown ids in a row, `fused`, become one, of all pretokens of a stretch */
    uint32_t fused;
    const bbpe_token_codes *codes;           /* or NULL */
    const bbpe_normalizer *normalizer;       /* or NULL */
    const bbpe_pre_tokenizer *pre_tokenizer; /* or NULL: the encoder splits */
} bbpe_pipeline;

/* What a call adds. */
typedef struct {
    const bbpe_pipeline *pipeline;
    const bbpe_token_search *tokens;     /* in the text as given, or NULL */
    const bbpe_token_search *normalized; /* in the text as normalized, or NULL */
    const bbpe_token_search *refused;    /* or NULL */
    const uint32_t *before, *after;      /* ids of a template around those of each text */
    size_t before_count, after_count;
    /* the ranges of the text, in bytes of its UTF-8, and the tokens of their levels, for `tokens` and for `normalized`; a
     * call with ranges has no `refused` */
    bbpe_token_levels in_text, in_normalized;
    bool with_places; /* the sources of stretches are wanted; with ranges they are needed */
    void *host;      /* that regexes without an automaton are asked of */
} bbpe_pipeline_call;

/* Whether a call leaves texts to the encoder as they are. */
BBPE_INLINE bool bbpe_pipeline_call_is_plain(const bbpe_pipeline_call *self) {
    const bbpe_pipeline *rules = self->pipeline;
    return self->tokens == NULL && self->normalized == NULL && self->refused == NULL && self->before_count == 0
           && self->after_count == 0 && rules->prefix_length == 0 && !rules->unmarks && !rules->unmarks_pretokens
           && !rules->replaces_invalid && !rules->fuses && rules->codes == NULL && rules->normalizer == NULL
           && rules->pre_tokenizer == NULL;
}

/* Why a run has stopped in a text: the caller solves it, and the run goes on. */
typedef enum { BBPE_PIPELINE_FINE, BBPE_PIPELINE_NEEDS_LINEAR, BBPE_PIPELINE_REFUSED } bbpe_pipeline_problem;

/* A part of a text on its way, and where it comes from. */
typedef struct {
    const uint8_t *text;
    size_t n, at;
    bbpe_source_view sources; /* as in bbpe_stretch_source */
    bool is_exact;
    size_t head; /* how many of its first bytes come from the first character of the text; 1 for all, if not `finds_head` */
} bbpe_part;

typedef struct {
    bbpe_stretch *stretches;
    size_t count, capacity;
    bbpe_stretch_source *sources; /* of each, if the call wants them */
    size_t source_capacity;
    size_t bytes;     /* of the stretches */
    bbpe_arena arena; /* what they point to, unless it is the text */
    bbpe_token_cursor tokens, normalized;
    bbpe_sources written, composed; /* of a step, and of all so far */
    bbpe_normalizer_scratch normalizer;
    bbpe_pre_tokenizer_scratch pre_tokenizer;
    bool is_begun, is_cut, is_done; /* the present text: the ids before it are added, all pieces are begun, all is added */
    bool in_piece;          /* `normalized` is within a piece, after which the next id follows */
    uint32_t next_id;
    bbpe_part piece;        /* that `normalized` is in */
    size_t next_start, next_end; /* the token of `next_id` */
    bbpe_pipeline_problem problem;
    const bbpe_token_search *problem_search; /* that has it */
    size_t refused_start, refused_end;       /* the token of BBPE_PIPELINE_REFUSED, bytes of UTF-8 */
} bbpe_pipeline_run;

/* Begin a text of n code units (unit_size bytes each, 0: UTF-8), which must outlive the stretches. */
bbpe_status bbpe_pipeline_begin(bbpe_pipeline_run *self, const void *units, unsigned unit_size, size_t n);
/* Add stretches of the text, some thousands at most at a time.  The text is done when `is_done` is set; the last stretch then
 * ends it.  With a problem none were added that depend on it. */
bbpe_status bbpe_pipeline_next(bbpe_pipeline_run *self, const bbpe_pipeline_call *call);
/* Forget the stretches that were added, but go on with a text that is not done. */
void bbpe_pipeline_empty(bbpe_pipeline_run *self);
void bbpe_pipeline_free(bbpe_pipeline_run *self);

#endif
