/* The steps around the model: what callers of this folder include. */
#ifndef BBPE_PIPELINE_H
#define BBPE_PIPELINE_H

#include "pipeline/automaton.h"
#include "pipeline/bert_places.h"
#include "pipeline/charsmap.h"
#include "pipeline/compiled.h"
#include "pipeline/fill.h"
#include "pipeline/matcher.h"
#include "pipeline/normalizer.h"
#include "pipeline/pre_tokenizer.h"
#include "pipeline/place_trims.h"
#include "pipeline/split_rule.h"
#include "pipeline/stretch.h"
#include "pipeline/template.h"
#include "pipeline/token_search.h"
#include "pipeline/token_places.h"

#endif
