/* The step BBPE_STEP_MARK of a chain (pipeline/pre_tokenizer.h). */
#ifndef BBPE_PIPELINE_MARK_STEP_H
#define BBPE_PIPELINE_MARK_STEP_H

#include "pipeline/pre_tokenizer.h"

/* Write the spans of a text, and with `with_places` where in it they come from.  `*head` bytes of it come from the first character
 * of the whole text, and afterwards so many of what is written. */
bbpe_status bbpe_mark_step_apply(const bbpe_pre_tokenizer_step *step, const uint8_t *text, const bbpe_spans *in, size_t *head,
                                 bool with_places, bbpe_spans *out, bbpe_rewritten *written);

#endif
