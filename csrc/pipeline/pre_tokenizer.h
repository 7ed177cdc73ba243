/* A chain of steps from a text to spans, which become its pretokens: `bbpe/reference/pre_tokenizers.py` is the definition.
 *
 * The first step gets the text as one span, and each later step the spans of the one before.  A step that writes another text
 * puts it into a buffer of the scratch, and the spans are in that.  GPT-2's byte alphabet is written only where a model or another
 * alphabet needs it: other steps read bytes, and their automatons know the character of each.  The struct is immutable and borrows its steps.
 *
 * If the last steps split alone, the parts of a text between safe pairs (safe_pairs.h) are split one by one.  The spans
 * of short parts are remembered, because most of these parts come again. */
#ifndef BBPE_PIPELINE_PRE_TOKENIZER_H
#define BBPE_PIPELINE_PRE_TOKENIZER_H

#include "pipeline/remembered_spans.h"
#include "pipeline/sources.h"

typedef enum {
    BBPE_STEP_SPLIT,   /* at the matches of a regex */
    BBPE_STEP_LENGTH,  /* after each `length` characters */
    BBPE_STEP_BLANKS,  /* in front of each blank */
    BBPE_STEP_REWRITE, /* a prefix in front of spans, and a mark in place of each blank */
    BBPE_STEP_MARK,    /* the same, and then a split in front of each mark: HF's Metaspace; the prefix is a mark */
    BBPE_STEP_ALPHABET, /* the character of GPT-2's alphabet in place of each byte */
} bbpe_step_kind;

typedef struct {
    bbpe_step_kind kind;
    bbpe_split_rule split;
    size_t length;
    bool counts_bytes; /* each byte is a character */
    const uint8_t *prefix; /* not in front of a span that begins with it */
    size_t prefix_size;    /* 0 for none */
    bool only_first;       /* only in front of spans that begin within the head of the text */
    const uint8_t *mark;   /* before that, this in place of each blank, */
    size_t mark_size;      /* or 0 */
    bool drops_space;      /* BBPE_STEP_MARK: first a split at white space, which is dropped */
    bool unmarks;          /* and then a blank in place of each mark */
} bbpe_pre_tokenizer_step;

typedef struct {
    const bbpe_pre_tokenizer_step *steps;
    size_t count;
    size_t first_parted;   /* of the steps that are applied to parts; `count`: there are none */
    bbpe_safe_pairs pairs; /* where these end */
    uint64_t number;       /* no other one has it */
} bbpe_pre_tokenizer;

typedef struct {
    uint8_t *bytes;
    size_t used, capacity;
    bbpe_sources sources; /* of the bytes, if they are wanted */
} bbpe_rewritten;

/* One for each thread, zeroed before the first use. */
typedef struct {
    bbpe_spans spans[2], whole, parted; /* before and after splitting by parts */
    bbpe_remembered_spans remembered;
    bbpe_rewritten texts[2];
    bbpe_sources composed;
    bbpe_automaton_scratch automaton, first; /* `first` for bbpe_pre_tokenizer_next */
} bbpe_pre_tokenizer_scratch;

/* The spans of a text; they are valid until the next call with the same scratch, and in order; none is empty. */
typedef struct {
    const uint8_t *text; /* the caller's, or in the scratch */
    size_t n;
    const bbpe_span *spans;
    size_t count;
    bbpe_source_view sources; /* if they are wanted; without runs it is the given text */
} bbpe_pre_tokenized;

/* `number`, not 0, tells it from all others that the same scratch is used with. */
bbpe_status bbpe_pre_tokenizer_init(bbpe_pre_tokenizer *self, const bbpe_pre_tokenizer_step *steps, size_t count,
                                    uint64_t number);
void bbpe_pre_tokenizer_scratch_free(bbpe_pre_tokenizer_scratch *self);
/* `head`: how many bytes the text begins with that come from the first character of the whole text.  `with_places`: the sources
 * are wanted; an inserted prefix comes from the byte after it. */
bbpe_status bbpe_pre_tokenizer_split(const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch,
                                     const uint8_t *text, size_t n, size_t head, bool with_places,
                                     bbpe_pre_tokenized *result);
/* The next spans of a text, n > 0, from a cursor that is zeroed at its beginning: those that become of about `limit` spans of
 * the first step, or all at once if that is not a split that merges nothing.  So a text that is split in parts needs memory for
 * one part alone.  `cursor->is_over` after the last ones; there may be none before that. */
bbpe_status bbpe_pre_tokenizer_next(const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch,
                                    bbpe_split_cursor *cursor, const uint8_t *text, size_t n, size_t limit,
                                    bbpe_pre_tokenized *result);

#endif
