/* Up to sixteen units of up to 24 bytes merged at once, with AVX-512 each in a lane of vectors.  Merging one after the other
 * waits for branches that nothing foretells, and for memory in turn; here nothing branches, and all wait together: 100
 * instead of 177 ns a unit of multilingual text, 126 instead of 230 of English; with AVX2 (Zen 3) 107 instead of 164, and
 * 115 instead of 167.  The ids are those of bbpe_bpe_merge_short. */
#ifndef BBPE_MODELS_BPE_MERGE_BATCH_H
#define BBPE_MODELS_BPE_MERGE_BATCH_H

#include "models/bpe/bpe.h"

enum { BBPE_LANES = 16, BBPE_LANES_BYTES = 24 };

/* A unit of 1 to BBPE_LANES_BYTES bytes; those behind its last one may be any. */
typedef struct {
    uint8_t bytes[31], n;
} bbpe_lanes_unit;

/* Merge up to 16 units; those of a group had better be of nearly one length, as all take as long as the longest.  `ids` is
 * where each unit's are written: there is room for BBPE_LANES_BYTES. */
typedef void (*bbpe_lanes_merge)(const bbpe_bpe *model, const bbpe_lanes_unit *units, size_t count,
                                 uint32_t *const *ids, size_t *counts);

/* NULL where the processor lacks the instructions. */
bbpe_lanes_merge bbpe_lanes_select(void);

/* What it selects. */
void bbpe_lanes_avx512(const bbpe_bpe *model, const bbpe_lanes_unit *units, size_t count, uint32_t *const *ids,
                       size_t *counts);
void bbpe_lanes_avx2(const bbpe_bpe *model, const bbpe_lanes_unit *units, size_t count, uint32_t *const *ids,
                     size_t *counts);

#endif
