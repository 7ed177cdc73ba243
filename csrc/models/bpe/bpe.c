/* Making a model: tokens and merges. */
#include "models/bpe/model.h"

void bbpe_bpe_forget_numbers(bbpe_bpe *self) {
    bbpe_merge_table_free(&self->table);
    bbpe_memory_table_free(self->byte_pairs);
    bbpe_memory_free(self->numbers);
    bbpe_memory_free(self->ids);
    bbpe_memory_free(self->ends);
    self->byte_pairs = NULL;
    self->ends = NULL;
    self->numbers = self->ids = NULL;
    self->number_count = 0;
    self->plain_start = self->plain_distance = 0;
}

bbpe_status bbpe_bpe_init(bbpe_bpe *self, size_t id_count, bool by_rank, bool whole_pretokens) {
    memset(self, 0, sizeof *self);
    self->id_count = id_count;
    self->by_rank = by_rank;
    self->whole_pretokens = whole_pretokens;
    self->lengths = bbpe_memory_zeroed(id_count, sizeof *self->lengths);
    self->parts = bbpe_memory_zeroed(id_count, sizeof *self->parts);
    bbpe_status status = bbpe_pair_table_init(&self->merges, 0);
    if (status == BBPE_OK) status = bbpe_pretoken_table_init(&self->tokens, 0);
    if (!self->lengths || !self->parts) status = BBPE_NO_MEMORY;
    if (status != BBPE_OK) bbpe_bpe_free(self);
    return status;
}

void bbpe_bpe_free(bbpe_bpe *self) {
    bbpe_pair_table_free(&self->merges);
    bbpe_pretoken_table_free(&self->tokens);
    bbpe_memory_free(self->lengths);
    bbpe_memory_free(self->parts);
    bbpe_memory_free(self->output_starts);
    bbpe_memory_free(self->outputs);
    bbpe_memory_free(self->levels);
    bbpe_bpe_forget_numbers(self);
    memset(self, 0, sizeof *self);
}

bbpe_status bbpe_bpe_add_token(bbpe_bpe *self, uint32_t id, const uint8_t *bytes, size_t n) {
    bbpe_pretoken_entry *entry;
    const bbpe_status status = bbpe_pretoken_table_add(&self->tokens, bytes, n, &entry);
    if (status != BBPE_OK) return status;
    entry->value = id;
    self->lengths[id] = (uint32_t)n;
    if (n > self->longest) self->longest = n;
    if (n == 1) self->byte_ids[bytes[0]] = id;
    return BBPE_OK;
}

bbpe_status bbpe_bpe_add_merge(bbpe_bpe *self, uint32_t left, uint32_t right, uint32_t rank, uint32_t id) {
    const bbpe_status status = bbpe_pair_table_reserve(&self->merges, 1);
    if (status != BBPE_OK) return status;
    bbpe_pair_table_set(&self->merges, bbpe_pair_key(left, right), (uint64_t)rank << 32 | id);
    return BBPE_OK;
}

bbpe_status bbpe_bpe_add_merges(bbpe_bpe *self, const uint32_t (*rows)[3], size_t count) {
    if (count > UINT32_MAX) return BBPE_TOO_LARGE;
    const bbpe_status status = bbpe_pair_table_reserve(&self->merges, count);
    for (size_t rank = 0; rank < count && status == BBPE_OK; rank++) {
        const uint32_t *row = rows[rank];
        BBPE_ASSERT(row[0] < self->id_count && row[1] < self->id_count && row[2] < self->id_count);
        if (rank + 8 < count) bbpe_pair_table_prefetch(&self->merges, bbpe_pair_key(rows[rank + 8][0], rows[rank + 8][1]));
        bbpe_pair_table_set(&self->merges, bbpe_pair_key(row[0], row[1]), (uint64_t)rank << 32 | row[2]);
    }
    return status;
}

bbpe_status bbpe_bpe_set_levels(bbpe_bpe *self, const uint32_t *levels, size_t count) {
    self->level_count = count;
    self->levels = bbpe_memory_new(count, sizeof *levels);
    if (self->levels == NULL) return BBPE_NO_MEMORY;
    memcpy(self->levels, levels, count * sizeof *levels);
    return BBPE_OK;
}

uint32_t *bbpe_bpe_by_length(const bbpe_bpe *self) {
    const size_t n = self->tokens.count;
    uint32_t *order = bbpe_memory_new(n, sizeof *order);
    size_t *next = bbpe_memory_zeroed(self->longest + 2, sizeof *next);
    if (order != NULL && next != NULL) {
        for (size_t i = 0; i < n; i++) next[self->tokens.entries[i].length + 1]++;
        for (size_t length = 1; length <= self->longest; length++) next[length] += next[length - 1];
        for (size_t i = 0; i < n; i++) order[next[self->tokens.entries[i].length]++] = (uint32_t)i;
    } else {
        bbpe_memory_free(order);
        order = NULL;
    }
    bbpe_memory_free(next);
    return order;
}

bbpe_status bbpe_bpe_set_outputs(bbpe_bpe *self, const uint32_t *starts, const uint32_t *outputs) {
    const size_t total = starts[self->id_count];
    self->output_starts = bbpe_memory_new(self->id_count + 1, sizeof *starts);
    self->outputs = bbpe_memory_new(total, sizeof *outputs);
    if (self->output_starts == NULL || self->outputs == NULL) return BBPE_NO_MEMORY;
    memcpy(self->output_starts, starts, (self->id_count + 1) * sizeof *starts);
    memcpy(self->outputs, outputs, total * sizeof *outputs);
    return BBPE_OK;
}
