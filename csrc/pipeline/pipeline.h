/* The steps around the model: what callers of this folder include. */
#ifndef BBPE_PIPELINE_H
#define BBPE_PIPELINE_H

#include "pipeline/charsmap.h"
#include "pipeline/compiled.h"
#include "pipeline/matcher.h"
#include "pipeline/stretch.h"
#include "pipeline/template.h"
#include "pipeline/token_search.h"

#endif
