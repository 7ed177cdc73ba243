/* Up to sixteen pieces of up to 24 bytes merged at once, with AVX-512 each in a lane of vectors.  Merging one after the other
 * waits for branches that cannot be predicted, and for memory in turn; here nothing branches, and all wait together: 100
 * instead of 177 ns a piece of multilingual text, 126 instead of 230 of English; with AVX2 (Zen 3) 107 instead of 164, and
 * 115 instead of 167.  The ids are those of bbpe_bpe_merge_short. */
#ifndef BBPE_MODELS_BPE_MERGE_BATCH_H
#define BBPE_MODELS_BPE_MERGE_BATCH_H

#include "models/bpe/model.h"

enum { BBPE_MERGE_BATCH = 16, BBPE_MERGE_BATCH_BYTES = 24 };

/* A piece of 1 to BBPE_MERGE_BATCH_BYTES bytes; those after its last one may be any. */
typedef struct {
    uint8_t bytes[31], n;
} bbpe_merge_batch_piece;

/* Merge up to 16 pieces; those of a group had better be of nearly one length, as all take as long as the longest.  `ids` is
 * where each piece's are written: there is room for BBPE_MERGE_BATCH_BYTES. */
typedef void (*bbpe_merge_batch)(const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count,
                                 uint32_t *const *ids, size_t *counts);

/* NULL where the processor lacks the instructions, or several ranks of the model are one level. */
bbpe_merge_batch bbpe_merge_batch_select(const bbpe_bpe *model);

void bbpe_merge_batch_avx2(const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count, uint32_t *const *ids,
                     size_t *counts);
void bbpe_merge_batch_neon(const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count, uint32_t *const *ids,
                     size_t *counts);

/* Merge one piece of 1 to BBPE_BPE_SHORT bytes; writes n ids at most, and returns how many.  What it merges next is the least
 * of a few vectors, and its pairs are looked up as those of a batch: lines of 70 letters of DNA take 16 instead of 38 ns a
 * byte by the longest compatible token, and 43 by bbpe_bpe_merge_short. */
typedef size_t (*bbpe_merge_one)(const bbpe_bpe *model, const uint8_t *text, size_t n, uint32_t *ids);

/* As bbpe_merge_batch_select. */
bbpe_merge_one bbpe_merge_one_select(const bbpe_bpe *model);

size_t bbpe_merge_one_avx2(const bbpe_bpe *model, const uint8_t *text, size_t n, uint32_t *ids);
size_t bbpe_merge_one_neon(const bbpe_bpe *model, const uint8_t *text, size_t n, uint32_t *ids);

#endif
