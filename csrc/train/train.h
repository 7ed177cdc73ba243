/* Learning: what callers of this folder include. */
#ifndef BBPE_TRAIN_H
#define BBPE_TRAIN_H

#include "train/bpe.h"
#include "train/substrings.h"
#include "train/unigram.h"
#include "train/words.h"

#endif
