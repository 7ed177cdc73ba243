#include "tables/pair_table.h"

#include "memory/memory.h"

static bbpe_status make(bbpe_pair_table *self, size_t capacity) {
    self->slots = bbpe_memory_table(capacity, sizeof *self->slots);
    if (self->slots == NULL) return BBPE_NO_MEMORY;
    memset(self->slots, 0xFF, capacity * sizeof *self->slots);
    self->mask = capacity - 1;
    self->count = 0;
    return BBPE_OK;
}

/* The smallest power of two that `keys` keys fill to at most a half; 0 when there is none. */
static size_t capacity_for(size_t keys) {
    size_t capacity = 16;
    while (capacity / 2 < keys) {
        if (capacity > SIZE_MAX / 2) return 0;
        capacity *= 2;
    }
    return capacity;
}

bbpe_status bbpe_pair_table_init(bbpe_pair_table *self, size_t expected) {
    const size_t capacity = capacity_for(expected);
    return capacity ? make(self, capacity) : BBPE_TOO_LARGE;
}

void bbpe_pair_table_free(bbpe_pair_table *self) {
    bbpe_memory_table_free(self->slots);
    self->slots = NULL;
}

bbpe_status bbpe_pair_table_reserve(bbpe_pair_table *self, size_t more) {
    if (BBPE_LIKELY(more <= (self->mask + 1) / 2 - self->count)) return BBPE_OK;
    if (more > SIZE_MAX / 4 - self->count) return BBPE_TOO_LARGE;
    const size_t capacity = capacity_for(self->count + more);
    bbpe_pair_table grown;
    if (capacity == 0) return BBPE_TOO_LARGE;
    const bbpe_status status = make(&grown, capacity);
    if (status != BBPE_OK) return status;
    for (size_t i = 0; i <= self->mask; i++)
        if (self->slots[i].key != BBPE_PAIR_NONE)
            bbpe_pair_table_set(&grown, self->slots[i].key, self->slots[i].value);
    bbpe_pair_table_free(self);
    *self = grown;
    return BBPE_OK;
}

void bbpe_pair_table_visit(bbpe_pair_table *self, bbpe_image *image) {
    bbpe_image_number(image, &self->count);
    bbpe_image_number(image, &self->mask);
    bbpe_image_expect(image, (self->mask & (self->mask + 1)) == 0 && self->count <= self->mask);
    bbpe_image_array(image, &self->slots, self->mask + 1, sizeof *self->slots);
}
