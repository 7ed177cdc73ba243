/* Vocabularies and lists of merges, and the texts that they are read from: what callers of this folder include. */
#ifndef BBPE_MODELS_VOCAB_H
#define BBPE_MODELS_VOCAB_H

#include "models/vocab/key_file.h"
#include "models/vocab/merge_list.h"
#include "models/vocab/rank_file.h"
#include "models/vocab/scored_rows.h"
#include "models/vocab/tekken_rows.h"
#include "models/vocab/token_table.h"

#endif
