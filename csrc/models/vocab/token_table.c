#include "models/vocab/token_table.h"

#include "memory/memory.h"

bbpe_status bbpe_vocab_init(bbpe_vocab *self, uint64_t salt) {
    memset(self, 0, sizeof *self);
    return bbpe_pretoken_table_init(&self->tokens, salt);
}

void bbpe_vocab_free(bbpe_vocab *self) {
    bbpe_pretoken_table_free(&self->tokens);
    bbpe_memory_free(self->numbers);
    memset(self, 0, sizeof *self);
}

bbpe_status bbpe_vocab_reserve(bbpe_vocab *self, size_t tokens, size_t bytes) {
    return bbpe_pretoken_table_reserve(&self->tokens, tokens, bytes);
}

bbpe_status bbpe_vocab_add(bbpe_vocab *self, uint32_t id, const uint8_t *bytes, size_t n, uint32_t *found) {
    const size_t count = self->tokens.count;
    bbpe_pretoken_entry *entry;
    const bbpe_status status = bbpe_pretoken_table_add(&self->tokens, bytes, n, &entry);
    if (status != BBPE_OK) return status;
    if (self->tokens.count > count) {
        entry->value = id;
        if (id >= self->id_count) self->id_count = (size_t)id + 1;
    }
    *found = (uint32_t)entry->value;
    return BBPE_OK;
}

bbpe_status bbpe_vocab_index(bbpe_vocab *self) {
    uint32_t *numbers = bbpe_memory_zeroed(self->id_count, sizeof *numbers);
    if (numbers == NULL) return BBPE_NO_MEMORY;
    self->is_unique = true;
    for (size_t i = 0; i < self->tokens.count; i++) {
        uint32_t *number = numbers + self->tokens.entries[i].value;
        if (*number) self->is_unique = false;
        *number = (uint32_t)(i + 1);
    }
    bbpe_memory_free(self->numbers);
    self->numbers = numbers;
    return BBPE_OK;
}

void bbpe_vocab_visit(bbpe_vocab *self, bbpe_image *image) {
    size_t is_unique = self->is_unique;
    bbpe_image_number(image, &is_unique);
    self->is_unique = is_unique != 0;
    bbpe_image_number(image, &self->id_count);
    bbpe_image_expect(image, self->id_count <= (size_t)BBPE_VOCAB_MAX_ID + 1);
    bbpe_pretoken_table_visit(&self->tokens, image);
    bbpe_image_array(image, &self->numbers, self->id_count, sizeof *self->numbers);
}
