/* The steps around the model: what callers of this folder include. */
#ifndef BBPE_PIPELINE_H
#define BBPE_PIPELINE_H

#include "pipeline/automaton.h"
#include "pipeline/charsmap.h"
#include "pipeline/matcher.h"
#include "pipeline/pre_tokenizer.h"

#endif
