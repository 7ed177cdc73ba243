#include "tables/pretoken_table.h"

#include "memory/memory.h"

bbpe_status bbpe_pretoken_table_init(bbpe_pretoken_table *self, uint64_t salt) {
    memset(self, 0, sizeof *self);
    self->salt = salt;
    self->mask = 1023;
    self->index = bbpe_memory_zeroed(self->mask + 1, sizeof *self->index);
    return self->index ? BBPE_OK : BBPE_NO_MEMORY;
}

void bbpe_pretoken_table_free(bbpe_pretoken_table *self) {
    bbpe_memory_free(self->entries);
    bbpe_memory_free(self->arena);
    bbpe_memory_free(self->index);
    memset(self, 0, sizeof *self);
}

/* The slot that holds the string, or the empty one where it belongs. */
static uint32_t *slot_of(const bbpe_pretoken_table *self, const uint8_t *bytes, size_t n, uint64_t hash) {
    for (size_t i = hash & self->mask;; i = (i + 1) & self->mask) {
        uint32_t *slot = self->index + i;
        if (*slot == 0) return slot;
        const bbpe_pretoken_entry *entry = self->entries + (*slot - 1);
        if (entry->hash == hash >> 32 && entry->length == n
            && (n == 0 || memcmp(self->arena + entry->start, bytes, n) == 0))
            return slot;
    }
}

static bbpe_status grow_index(bbpe_pretoken_table *self, size_t mask) {
    uint32_t *index = bbpe_memory_zeroed(mask + 1, sizeof *index);
    if (index == NULL) return BBPE_NO_MEMORY;
    for (size_t e = 0; e < self->count; e++) {
        const bbpe_pretoken_entry *entry = self->entries + e;
        size_t i = bbpe_hash_bytes(self->arena + entry->start, entry->length, self->salt) & mask;
        while (index[i]) i = (i + 1) & mask;
        index[i] = (uint32_t)(e + 1);
    }
    bbpe_memory_free(self->index);
    self->index = index;
    self->mask = mask;
    return BBPE_OK;
}

bbpe_status bbpe_pretoken_table_reserve(bbpe_pretoken_table *self, size_t strings, size_t bytes) {
    if (strings > UINT32_MAX - 1 - self->count || bytes > SIZE_MAX / 2 - self->arena_used) return BBPE_TOO_LARGE;
    /* one more, so that the arrays exist even when there is nothing to hold */
    if (!bbpe_memory_grow(&self->entries, &self->entries_capacity, self->count + strings + 1, sizeof *self->entries))
        return BBPE_NO_MEMORY;
    if (!bbpe_memory_grow(&self->arena, &self->arena_capacity, self->arena_used + bytes + 1, 1))
        return BBPE_NO_MEMORY;
    size_t mask = self->mask;
    while (mask / 2 < self->count + strings) mask = mask * 2 + 1;
    return mask == self->mask ? BBPE_OK : grow_index(self, mask);
}

bbpe_status bbpe_pretoken_table_copy(bbpe_pretoken_table *self, const bbpe_pretoken_table *other) {
    *self = *other;
    self->entries = bbpe_memory_new(other->count, sizeof *self->entries);
    self->entries_capacity = other->count;
    self->arena = bbpe_memory_new(other->arena_used + 1, 1);
    self->arena_capacity = other->arena_used + 1;
    self->index = bbpe_memory_new(other->mask + 1, sizeof *self->index);
    if (self->entries == NULL || self->arena == NULL || self->index == NULL) {
        bbpe_pretoken_table_free(self);
        return BBPE_NO_MEMORY;
    }
    if (other->count) memcpy(self->entries, other->entries, other->count * sizeof *self->entries);
    if (other->arena_used) memcpy(self->arena, other->arena, other->arena_used);
    memcpy(self->index, other->index, (other->mask + 1) * sizeof *self->index);
    return BBPE_OK;
}

void bbpe_pretoken_table_visit(bbpe_pretoken_table *self, bbpe_image *image) {
    size_t salt = self->salt;
    bbpe_image_number(image, &self->count);
    bbpe_image_number(image, &self->arena_used);
    bbpe_image_number(image, &self->mask);
    bbpe_image_number(image, &salt);
    self->salt = salt;
    bbpe_image_expect(image, (self->mask & (self->mask + 1)) == 0 && self->count <= self->mask);
    bbpe_image_array(image, &self->entries, self->count, sizeof *self->entries);
    bbpe_image_array(image, &self->arena, self->arena_used, 1);
    bbpe_image_array(image, &self->index, self->mask + 1, sizeof *self->index);
    if (image->purpose != BBPE_IMAGE_OPEN) return;
    self->entries_capacity = self->count;
    self->arena_capacity = self->arena_used;
}

const bbpe_pretoken_entry *bbpe_pretoken_table_find(const bbpe_pretoken_table *self, const uint8_t *bytes,
                                                    size_t n) {
    const uint32_t slot = *slot_of(self, bytes, n, bbpe_hash_bytes(bytes, n, self->salt));
    return slot ? self->entries + (slot - 1) : NULL;
}

void bbpe_pretoken_table_find_many(const bbpe_pretoken_table *self, const bbpe_pretoken_string *strings, size_t count,
                                   const bbpe_pretoken_entry **entries) {
    uint64_t hashes[BBPE_PRETOKEN_FIND_MANY];
    BBPE_ASSERT(count <= BBPE_PRETOKEN_FIND_MANY);
    for (size_t i = 0; i < count; i++) {
        hashes[i] = bbpe_hash_bytes(strings[i].bytes, strings[i].n, self->salt);
        BBPE_PREFETCH(self->index + (hashes[i] & self->mask));
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t slot = self->index[hashes[i] & self->mask];
        if (slot) BBPE_PREFETCH(self->entries + (slot - 1));
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t slot = self->index[hashes[i] & self->mask];
        if (slot) BBPE_PREFETCH(self->arena + self->entries[slot - 1].start);
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t slot = *slot_of(self, strings[i].bytes, strings[i].n, hashes[i]);
        entries[i] = slot ? self->entries + (slot - 1) : NULL;
    }
}

bbpe_status bbpe_pretoken_table_add(bbpe_pretoken_table *self, const uint8_t *bytes, size_t n,
                                    bbpe_pretoken_entry **entry) {
    const uint64_t hash = bbpe_hash_bytes(bytes, n, self->salt);
    uint32_t *slot = slot_of(self, bytes, n, hash);
    if (BBPE_LIKELY(*slot)) {
        *entry = self->entries + (*slot - 1);
        return BBPE_OK;
    }
    if (n >= UINT32_MAX) return BBPE_TOO_LARGE;
    const size_t mask = self->mask;
    const bbpe_status status = bbpe_pretoken_table_reserve(self, 1, n);
    if (status != BBPE_OK) return status;
    if (self->mask != mask) slot = slot_of(self, bytes, n, hash);
    if (n) memcpy(self->arena + self->arena_used, bytes, n);
    *entry = self->entries + self->count;
    **entry = (bbpe_pretoken_entry){self->arena_used, 0, (uint32_t)n, (uint32_t)(hash >> 32)};
    self->arena_used += n;
    *slot = (uint32_t)++self->count;
    return BBPE_OK;
}
