/* Unigram models: what callers of this folder include. */
#ifndef BBPE_MODELS_UNIGRAM_H
#define BBPE_MODELS_UNIGRAM_H

#include "models/unigram/model.h"
#include "models/unigram/nbest.h"

#endif
