/* The special and added tokens that a call looks for in a text, with the options of HF's `tokenizers`: a token may take the
 * white space before it (lstrip) or after it (rstrip), or be found only where no word character is next to it (single_word).
 *
 * A search is a view of what its owner has made, and shared by threads; a cursor is one thread's way through one text. */
#ifndef BBPE_TOKEN_SEARCH_H
#define BBPE_TOKEN_SEARCH_H

#include "pipeline/matcher.h"
#include "memory/memory.h"
#include "pipeline/stretch.h"

enum { BBPE_TOKEN_LSTRIP = 1, BBPE_TOKEN_RSTRIP = 2, BBPE_TOKEN_SINGLE_WORD = 4 };

typedef struct {
    uint32_t id, options;
} bbpe_added_token;

typedef struct bbpe_token_search {
    const bbpe_matcher *matcher;
    const uint64_t *policy;         /* of the tokens looked for */
    const bbpe_added_token *tokens; /* by number */
    const size_t *lengths;          /* by number */
    size_t longest;                 /* of those looked for; 0: there are none */
    const uint64_t *word_characters; /* one bit for each code point; NULL: no token has single_word */
    bool has_options;
    const bbpe_matcher_linear *linear; /* NULL until a text needs it: then both are made */
    const uint32_t *best;
    /* NULL, or the search of what is left between these tokens, once they are found in the whole text; then both have all
     * that linear time needs */
    const struct bbpe_token_search *then;
} bbpe_token_search;

/* Zeroed before its first use; `found.items` is the owner's to free. */
typedef struct {
    const uint8_t *text;
    size_t n, done;     /* up to where the caller has it, */
    size_t searched;    /* and up to where it is searched */
    size_t blanks, blanks_end; /* the white space that was last looked at, up to its end: tokens may overlap in it */
    bbpe_token_levels levels;  /* of the text; without ranges all tokens count everywhere */
    bool is_slow;       /* the rest in linear time */
    bbpe_matches found; /* that the caller does not yet have: from `next` on */
    size_t next;
} bbpe_token_cursor;

/* Plain text, and the token after it: without one the id is BBPE_STRETCH_NO_ID. */
typedef struct {
    size_t start, end;
    size_t token_start, token_end; /* with the white space that it takes, of which the token before may have a part too */
    uint32_t id;
} bbpe_token_span;

/* A piece of text between tokens that begins with `opens` and has `closes` begins with a code up to there: the token of this
 * text, or `unknown`. */
typedef struct {
    const uint8_t *opens, *closes;
    size_t opens_length, closes_length; /* of one byte at least */
    const bbpe_pretoken_table *tokens;  /* their ids are its values */
    uint32_t unknown;
} bbpe_token_codes;

/* How long the code is that text[0..n) begins with, and its id; 0 without one. */
size_t bbpe_token_codes_find(const bbpe_token_codes *self, const uint8_t *text, size_t n, uint32_t *id);
/* Add the tokens of text[*at, n) to `found` as `bbpe_matcher_find` does, those of `then` too: about `most`, if `most` are
 * there.  They may be more, but `*at` is where the last one ends. */
bbpe_status bbpe_token_search_in_turn(const bbpe_token_search *self, const uint8_t *text, size_t n, size_t most, size_t *at,
                                      bbpe_matches *found);
void bbpe_token_cursor_begin(bbpe_token_cursor *self, const uint8_t *text, size_t n);
/* Have tokens count in what comes from ranges of another text where they count there: `sources` are those of the cursor's
 * text, which without any is that text from byte `at` on.  The ranges are in memory of an arena. */
bbpe_status bbpe_token_cursor_follow(bbpe_token_cursor *self, bbpe_token_levels of, bbpe_source_view sources, size_t at,
                                     bbpe_arena *arena);
/* The next token of a text, or the plain text at its end, after which `done` is n.  `*needs_linear`: nothing was done, as the
 * search needs what it has not yet got for texts on which walks are long. */
bbpe_status bbpe_token_cursor_next(bbpe_token_cursor *self, const bbpe_token_search *search, bbpe_token_span *span,
                                   bool *needs_linear);

#endif
