#include "models/bpe/merge_table.h"

#include "memory/memory.h"

enum { LEAST_LG = 8, MOST_LG = 48 };

static size_t slot_count(size_t lg) {
    return (size_t)1 << lg;
}

/* Eight bits a slot. */
static size_t bloom_words(size_t lg) {
    return (size_t)1 << (lg + 3 - 6);
}

static void set_sizes(bbpe_merge_table *self, size_t lg) {
    self->mask = slot_count(lg) - BBPE_MERGE_TABLE_WAYS;
    self->shift = (unsigned)(64 - lg);
    self->bloom_shift = (unsigned)(64 - (lg + 3));
}

bbpe_status bbpe_merge_table_init(bbpe_merge_table *self, size_t merges) {
    size_t lg = LEAST_LG;
    while (((size_t)1 << lg) / 5 * 4 < merges) lg++;
    set_sizes(self, lg);
    self->slots = bbpe_memory_table(slot_count(lg), sizeof *self->slots);
    self->bloom = bbpe_memory_table(bloom_words(lg), sizeof *self->bloom);
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

void bbpe_merge_table_visit(bbpe_merge_table *self, bbpe_image *image) {
    size_t lg = 64 - self->shift;
    bbpe_image_number(image, &lg);
    bbpe_image_expect(image, lg >= LEAST_LG && lg <= MOST_LG);
    if (image->is_broken) lg = LEAST_LG;
    set_sizes(self, lg);
    bbpe_image_array(image, &self->slots, slot_count(lg), sizeof *self->slots);
    bbpe_image_array(image, &self->bloom, bloom_words(lg), sizeof *self->bloom);
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
