/* Making a model: tokens, merges, and which of them happen. */
#include "bpe.h"

bbpe_status bbpe_bpe_init(bbpe_bpe *self, size_t id_count, bool by_rank, bool whole_pretokens) {
    memset(self, 0, sizeof *self);
    self->id_count = id_count;
    self->by_rank = by_rank;
    self->whole_pretokens = whole_pretokens;
    self->lengths = bbpe_memory_zeroed(id_count, sizeof *self->lengths);
    self->parts = bbpe_memory_new(id_count, sizeof *self->parts);
    self->byte_pairs = bbpe_memory_new(1 << 16, sizeof *self->byte_pairs);
    bbpe_status status = bbpe_pair_table_init(&self->merges, 0);
    if (status == BBPE_OK) status = bbpe_pretoken_table_init(&self->tokens);
    if (!self->lengths || !self->parts || !self->byte_pairs) status = BBPE_NO_MEMORY;
    if (status != BBPE_OK) bbpe_bpe_free(self);
    return status;
}

void bbpe_bpe_free(bbpe_bpe *self) {
    bbpe_pair_table_free(&self->merges);
    bbpe_pretoken_table_free(&self->tokens);
    bbpe_memory_free(self->lengths);
    bbpe_memory_free(self->parts);
    bbpe_memory_free(self->byte_pairs);
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

static void fill_byte_pairs(bbpe_bpe *self) {
    if (self->merges.count == 0)
        memset(self->byte_pairs, 0xFF, sizeof(uint64_t) << 16);
    else
        for (size_t i = 0; i < 1 << 16; i++)
            self->byte_pairs[i] = bbpe_bpe_value(self, self->byte_ids[i >> 8], self->byte_ids[i & 255]);
}

/* Numbers of the entries of `tokens`, the shorter tokens first; NULL without memory. */
static uint32_t *by_length(const bbpe_bpe *self) {
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

/* Look for the live merge of one token, when all shorter ones have theirs; `ids` has room for its bytes. */
static bbpe_status settle_token(bbpe_bpe *self, bbpe_bpe_work *work, bbpe_pretoken_entry *entry, uint32_t *ids) {
    const uint32_t id = (uint32_t)entry->value;
    const uint8_t *bytes = self->tokens.arena + entry->start;
    bbpe_status status = BBPE_OK;
    size_t count;
    /* stop at two symbols: a listed merge of these would hide which they were */
    if (entry->length <= BBPE_BPE_SHORT)
        count = bbpe_bpe_merge_short(self, bytes, entry->length, 2, ids);
    else
        status = bbpe_bpe_merge_long(self, work, bytes, entry->length, 2, ids, &count);
    if (status != BBPE_OK) return status;
    if (count != 2 || (!self->by_rank && (uint32_t)bbpe_bpe_value(self, ids[0], ids[1]) != id)) {
        self->unmade_count++;
        if (entry->length > self->longest_unmade) self->longest_unmade = entry->length;
        return BBPE_OK;
    }
    entry->value |= BBPE_BPE_MADE;
    self->parts[id] = (bbpe_bpe_parts){ids[0], ids[1]};
    if (!self->by_rank) return BBPE_OK;
    if (entry->length == 2) self->byte_pairs[bytes[0] << 8 | bytes[1]] = (uint64_t)id << 32 | id;
    return bbpe_bpe_add_merge(self, ids[0], ids[1], id, id);
}

bbpe_status bbpe_bpe_settle(bbpe_bpe *self) {
    uint32_t *order = by_length(self), *ids = bbpe_memory_new(self->longest, sizeof *ids);
    bbpe_bpe_work work = {0};
    bbpe_status status = order != NULL && ids != NULL ? BBPE_OK : BBPE_NO_MEMORY;
    if (status == BBPE_OK && self->by_rank) status = bbpe_pair_table_reserve(&self->merges, self->tokens.count);
    if (status == BBPE_OK) fill_byte_pairs(self);
    for (size_t i = 0; i < self->tokens.count && status == BBPE_OK; i++) {
        bbpe_pretoken_entry *entry = self->tokens.entries + order[i];
        if (entry->length == 1)
            entry->value |= BBPE_BPE_MADE;
        else if (entry->length > 1)
            status = settle_token(self, &work, entry, ids);
    }
    bbpe_bpe_work_free(&work);
    bbpe_memory_free(order);
    bbpe_memory_free(ids);
    return status;
}
