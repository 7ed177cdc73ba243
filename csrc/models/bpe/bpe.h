/* Byte-level BPE: what callers of this folder include. */
#ifndef BBPE_MODELS_BPE_H
#define BBPE_MODELS_BPE_H

#include "models/bpe/match.h"
#include "models/bpe/merge_batch.h"
#include "models/bpe/model.h"

#endif
