#include "models/bpe/merge_table.h"

#include "memory/memory.h"

bbpe_status bbpe_merge_table_init(bbpe_merge_table *self, size_t merges) {
    unsigned lg = 8;
    while (((size_t)1 << lg) / 5 * 4 < merges) lg++;
    self->mask = ((size_t)1 << lg) - BBPE_MERGE_TABLE_WAYS;
    self->shift = 64 - lg;
    self->bloom_shift = 64 - (lg + 3);
    self->slots = bbpe_memory_table((size_t)1 << lg, sizeof *self->slots);
    self->bloom = bbpe_memory_table((size_t)1 << (lg + 3 - 6), sizeof *self->bloom);
    if (self->slots == NULL || self->bloom == NULL) {
        bbpe_merge_table_free(self);
        return BBPE_NO_MEMORY;
    }
    memset(self->slots, 0xFF, sizeof *self->slots << lg);
    return BBPE_OK;
}

void bbpe_merge_table_free(bbpe_merge_table *self) {
    bbpe_memory_table_free(self->slots);
    bbpe_memory_table_free(self->bloom);
    memset(self, 0, sizeof *self);
}

void bbpe_merge_table_add(bbpe_merge_table *self, uint32_t left, uint32_t right, uint32_t made) {
    const uint64_t pair = (uint64_t)left << BBPE_MERGE_TABLE_BITS | right, hash = bbpe_merge_table_hash(pair);
    self->bloom[hash >> self->bloom_shift >> 6] |= bbpe_merge_table_bloom_bits(self, hash);
    BBPE_ASSERT(left < BBPE_MERGE_TABLE_EMPTY >> 43 && right < BBPE_MERGE_TABLE_EMPTY >> 43);
    for (size_t i = bbpe_merge_table_home(self, hash);; i = (i + BBPE_MERGE_TABLE_WAYS) & self->mask)
        for (size_t way = 0; way < BBPE_MERGE_TABLE_WAYS; way++) {
            uint64_t *slot = self->slots + i + way;
            if (*slot != BBPE_MERGE_TABLE_EMPTY && *slot >> (BBPE_MERGE_TABLE_BITS + 1) != pair) continue;
            *slot = pair << (BBPE_MERGE_TABLE_BITS + 1) | made;
            return;
        }
}
