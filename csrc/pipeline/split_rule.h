/* A rule that splits spans of a text at the matches of a regex, each span as a text of its own. */
#ifndef BBPE_PIPELINE_SPLIT_RULE_H
#define BBPE_PIPELINE_SPLIT_RULE_H

#include "pipeline/automaton.h"

/* What becomes of the matches. */
typedef enum {
    BBPE_SPLIT_REMOVED,
    BBPE_SPLIT_ISOLATED,
    BBPE_SPLIT_MERGED_WITH_PREVIOUS,
    BBPE_SPLIT_MERGED_WITH_NEXT,
    BBPE_SPLIT_CONTIGUOUS,
} bbpe_split_behavior;

typedef struct {
    const bbpe_automaton *automaton;
    bbpe_split_behavior behavior;
    bool inverts; /* the text between matches takes their role */
} bbpe_split_rule;

/* How far a text is split; zeroed at its beginning. */
typedef struct {
    size_t done; /* what is before belongs to parts */
    size_t from; /* where the next search begins */
    bool refuses_empty, is_over;
} bbpe_split_cursor;

/* Add spans of a whole text, n > 0, until `out` has `limit` or the text is over; for behaviors that merge nothing.  The scratch
 * is for this text alone until then. */
bbpe_status bbpe_split_rule_next(const bbpe_split_rule *self, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n,
                                 bbpe_split_cursor *cursor, size_t limit, bbpe_spans *out);
/* Split the spans of `in`, which are in order, and none of which is empty; `out` has what becomes of them. */
bbpe_status bbpe_split_rule_apply(const bbpe_split_rule *self, bbpe_automaton_scratch *scratch, const uint8_t *text,
                                  const bbpe_spans *in, bbpe_spans *out);

#endif
