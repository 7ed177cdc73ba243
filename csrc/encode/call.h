/* Texts that pass the pipeline -> ids; a part of encode.h. */
#ifndef BBPE_ENCODE_CALL_H
#define BBPE_ENCODE_CALL_H

#include "encode/state.h"

/* As bbpe_encode_texts, of what the pipeline makes of texts: each stretch's ids, and the id that follows it. */
bbpe_status bbpe_encode_stretches(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_stretch *stretches,
                                  size_t count, uint32_t *ids, size_t *counts);
typedef struct {
    size_t limit; /* of ids, soon after which to stop */
    bool keeps;   /* the ids too, not only their numbers */
    bbpe_bpe_dropout *dropout; /* not NULL: each merge is skipped at random, and nothing is cached; the model merges */
} bbpe_encode_want;
/* As bbpe_encode_texts, of texts that pass a pipeline, which a call without tokens, steps and a template leaves as they are; the
 * ids are in the loan's `ids`.  If the pipeline has a problem, which is in the loan's `run`, `*failed` is the text that has it,
 * else `count`. */
bbpe_status bbpe_encode_call(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pipeline_call *call,
                             const bbpe_encode_text *texts, const size_t *lengths, size_t count,
                             const bbpe_encode_want *want, size_t *counts, size_t *failed);

#endif
