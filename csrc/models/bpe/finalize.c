/* Which merges happen, and the numbers of what they make. */
#include "models/bpe/merge_batch.h"

/* Give a token the next number. */
static void number_token(bbpe_bpe *self, uint32_t id) {
    const uint32_t number = (uint32_t)self->number_count;
    if (id - number != self->plain_distance) {
        self->plain_distance = id - number;
        self->plain_start = number;
    }
    self->numbers[id] = number;
    self->ids[self->number_count++] = id;
}

/* Make a field of the pair of two bytes no more than a number. */
static void lower_field(bbpe_bpe *self, unsigned x, unsigned y, unsigned field, uint32_t number) {
    uint64_t *pair = self->byte_pairs + (x << 8 | y);
    const unsigned shift = field * BBPE_MERGE_TABLE_BITS;
    if ((*pair >> shift & BBPE_BPE_NO_NUMBER) <= number) return;
    *pair = (*pair & ~(BBPE_BPE_NO_NUMBER << shift)) | (uint64_t)number << shift;
}

/* Note that a token is part of another one. */
static void note_part(bbpe_bpe *self, uint32_t part, uint32_t made) {
    if (self->lengths[part] == 2 && made < self->numbers[part]) self->byte_pairs[self->ends[part]] |= (uint64_t)1 << 63;
}

/* Add a merge by the numbers of its symbols. */
static void add_numbered(bbpe_bpe *self, uint32_t left, uint32_t right, uint32_t id) {
    const uint32_t a = self->numbers[left], b = self->numbers[right], made = self->numbers[id];
    const unsigned last = self->ends[left] & 0xFF, first = self->ends[right] >> 8;
    if (a == UINT32_MAX || b == UINT32_MAX) return; /* what nothing makes merges with nothing */
    bbpe_merge_table_add(&self->table, a, b, made);
    if ((a | b) < 256) lower_field(self, a, b, 2, made);
    if (b < 256) lower_field(self, last, b, 1, made);
    if (a < 256) lower_field(self, a, first, 0, made);
    note_part(self, left, made);
    note_part(self, right, made);
}

/* The first and the last byte of each token. */
static uint16_t *ends_of(const bbpe_bpe *self) {
    uint16_t *ends = bbpe_memory_zeroed(self->id_count, sizeof *ends);
    if (ends == NULL) return NULL;
    for (size_t i = 0; i < self->tokens.count; i++) {
        const bbpe_pretoken_entry *entry = self->tokens.entries + i;
        const uint8_t *bytes = self->tokens.arena + entry->start;
        if (entry->length > 0) ends[(uint32_t)entry->value] = (uint16_t)(bytes[0] << 8 | bytes[entry->length - 1]);
    }
    return ends;
}

/* Arrays for so many tokens that merges make, and the numbers of bytes. */
static bbpe_status begin_numbers(bbpe_bpe *self, size_t made, size_t merges) {
    const uint64_t no_pair = ((uint64_t)1 << 63) - 1;
    if (made >= ((size_t)1 << BBPE_MERGE_TABLE_BITS) - 256) return BBPE_TOO_LARGE;
    self->numbers = bbpe_memory_new(self->id_count, sizeof *self->numbers);
    self->ids = bbpe_memory_new(256 + made, sizeof *self->ids);
    self->byte_pairs = bbpe_memory_table(1 << 16, sizeof *self->byte_pairs);
    self->ends = ends_of(self);
    if (!self->numbers || !self->ids || !self->byte_pairs || !self->ends) return BBPE_NO_MEMORY;
    memset(self->numbers, 0xFF, self->id_count * sizeof *self->numbers);
    for (size_t i = 0; i < 1 << 16; i++) self->byte_pairs[i] = no_pair;
    for (int byte = 0; byte < 256; byte++) number_token(self, self->byte_ids[byte]);
    return bbpe_merge_table_init(&self->table, merges);
}

/* Number the tokens that merges make in the order of ranks; false in *is_clear when merges of one token have others between
 * them.  Where they follow each other one number is enough: when its turn comes all lower merges are done, so wherever the
 * bytes of the token are whole symbols, these are the same two. */
static bbpe_status number_listed(bbpe_bpe *self, const bbpe_pair_table *merges, bool *is_clear) {
    const bbpe_pair_slot *slot = merges->slots, *end = slot + merges->mask + 1;
    uint64_t last = 0;
    for (; slot < end; slot++)
        if (slot->key != BBPE_PAIR_NONE && slot->value >> 32 > last) last = slot->value >> 32;
    uint32_t *by_rank = bbpe_memory_new((size_t)last + 1, sizeof *by_rank), before = UINT32_MAX;
    if (by_rank == NULL) return BBPE_NO_MEMORY;
    memset(by_rank, 0xFF, ((size_t)last + 1) * sizeof *by_rank);
    for (slot = merges->slots; slot < end; slot++)
        if (slot->key != BBPE_PAIR_NONE) by_rank[slot->value >> 32] = (uint32_t)slot->value;
    const size_t most = merges->count < self->tokens.count ? merges->count : self->tokens.count;
    const bbpe_status status = begin_numbers(self, merges->count, most);
    *is_clear = true;
    for (size_t rank = 0; rank <= last && status == BBPE_OK; rank++) {
        const uint32_t made = by_rank[rank];
        if (made == UINT32_MAX || made == before) continue;
        if (self->numbers[made] != UINT32_MAX) *is_clear = false;
        number_token(self, made);
        before = made;
    }
    bbpe_memory_free(by_rank);
    return status;
}

static bbpe_status number_by_id(bbpe_bpe *self) {
    const bbpe_status status = begin_numbers(self, self->tokens.count, self->tokens.count);
    for (size_t id = 0; id < self->id_count && status == BBPE_OK; id++)
        if (self->lengths[id] > 1) number_token(self, (uint32_t)id);
    return status;
}

/* Where a token is made by several listed merges, only the live ones are numbered. */
static bbpe_status number_live(bbpe_bpe *self) {
    bbpe_pair_table live;
    bool is_clear;
    bbpe_status status = bbpe_pair_table_init(&live, self->tokens.count);
    if (status != BBPE_OK) return status;
    for (size_t i = 0; i < self->tokens.count; i++) {
        const bbpe_pretoken_entry *entry = self->tokens.entries + i;
        if (entry->length < 2 || !(entry->value & BBPE_BPE_MADE)) continue;
        const bbpe_bpe_parts parts = self->parts[(uint32_t)entry->value];
        bbpe_pair_table_set(&live, bbpe_pair_key(parts.left, parts.right), bbpe_bpe_value(self, parts.left, parts.right));
    }
    bbpe_bpe_forget_numbers(self);
    status = number_listed(self, &live, &is_clear);
    for (size_t i = 0; i <= live.mask && status == BBPE_OK; i++)
        if (live.slots[i].key != BBPE_PAIR_NONE)
            add_numbered(self, (uint32_t)(live.slots[i].key >> 32), (uint32_t)live.slots[i].key, (uint32_t)live.slots[i].value);
    bbpe_pair_table_free(&live);
    return status;
}

/* Note the two symbols that a token is made of, or that no merge makes it. */
static bbpe_status finalize_token(bbpe_bpe *self, bbpe_pretoken_entry *entry, bool is_numbered, const uint32_t *ids,
                                  size_t count) {
    const uint32_t id = (uint32_t)entry->value;
    if (count != 2 || (!self->by_rank && (uint32_t)bbpe_bpe_value(self, ids[0], ids[1]) != id)) {
        self->unmade_count++;
        return BBPE_OK;
    }
    entry->value |= BBPE_BPE_MADE;
    self->parts[id] = (bbpe_bpe_parts){ids[0], ids[1]};
    if (is_numbered) add_numbered(self, ids[0], ids[1], id);
    return self->by_rank ? bbpe_bpe_add_merge(self, ids[0], ids[1], id, id) : BBPE_OK;
}

/* Look for the live merge of a token when all shorter ones have theirs; `ids` has room for one a byte.  It stops at two
 * symbols: a listed merge of these would hide which they were.  Numbered merges are the live ones of shorter tokens. */
static bbpe_status finalize_entry(bbpe_bpe *self, bbpe_bpe_work *work, bbpe_pretoken_entry *entry, bool is_numbered,
                                uint32_t *ids) {
    const uint8_t *bytes = self->tokens.arena + entry->start;
    size_t count;
    if (is_numbered && bbpe_bpe_is_short(self, entry->length)) {
        count = bbpe_bpe_merge_short(self, bytes, entry->length, 2, ids);
    } else {
        const bbpe_status status = bbpe_bpe_merge_long(self, work, bytes, entry->length, 2, ids, &count);
        if (status != BBPE_OK) return status;
    }
    return finalize_token(self, entry, is_numbered, ids, count);
}

/* Tokens of one length at once: none is part of another, and no numbered pair makes one before it is finalized.
 * 100,000 tokens take 12 ms less. */
static bbpe_status finalize_batch(bbpe_bpe *self, bbpe_merge_batch merge, const uint32_t *order, size_t count) {
    bbpe_merge_batch_piece pieces[BBPE_MERGE_BATCH];
    uint32_t ids[BBPE_MERGE_BATCH][BBPE_MERGE_BATCH_BYTES], *rows[BBPE_MERGE_BATCH] = {NULL};
    size_t counts[BBPE_MERGE_BATCH];
    memset(pieces, 0, sizeof pieces);
    for (size_t i = 0; i < count; i++) {
        const bbpe_pretoken_entry *entry = self->tokens.entries + order[i];
        memcpy(pieces[i].bytes, self->tokens.arena + entry->start, entry->length);
        pieces[i].n = (uint8_t)entry->length;
        rows[i] = ids[i];
    }
    merge(self, pieces, count, rows, counts);
    for (size_t i = 0; i < count; i++) {
        bbpe_pair_table_prefetch(&self->merges, bbpe_pair_key(ids[i][0], ids[i][1]));
        bbpe_merge_table_prefetch(&self->table, self->numbers[ids[i][0]], self->numbers[ids[i][1]]);
    }
    bbpe_status status = BBPE_OK;
    for (size_t i = 0; i < count && status == BBPE_OK; i++)
        status = finalize_token(self, self->tokens.entries + order[i], true, ids[i], counts[i]);
    return status;
}

/* How many of the next tokens can be finalized together. */
static size_t group_length(const bbpe_bpe *self, const uint32_t *order, size_t n) {
    const uint32_t length = self->tokens.entries[order[0]].length;
    size_t count = 0;
    if (length < 2 || length > BBPE_MERGE_BATCH_BYTES) return 0;
    while (count < n && count < BBPE_MERGE_BATCH && self->tokens.entries[order[count]].length == length) count++;
    return count;
}

/* Finalize all tokens, in order of length. */
static bbpe_status finalize_all(bbpe_bpe *self, const uint32_t *order, bool is_numbered, uint32_t *ids) {
    const bbpe_merge_batch merge = is_numbered ? bbpe_merge_batch_select(self) : NULL;
    bbpe_bpe_work work = {0};
    bbpe_status status = BBPE_OK;
    for (size_t i = 0, count; i < self->tokens.count && status == BBPE_OK; i += count > 0 ? count : 1) {
        bbpe_pretoken_entry *entry = self->tokens.entries + order[i];
        count = merge != NULL ? group_length(self, order + i, self->tokens.count - i) : 0;
        if (count > 0) status = finalize_batch(self, merge, order + i, count);
        else if (entry->length > 1) status = finalize_entry(self, &work, entry, is_numbered, ids);
        else entry->value |= BBPE_BPE_MADE;
    }
    bbpe_bpe_work_free(&work);
    return status;
}

bbpe_status bbpe_bpe_finalize(bbpe_bpe *self) {
    uint32_t *order = bbpe_bpe_by_length(self), *ids = bbpe_memory_new(self->longest, sizeof *ids);
    bool is_numbered = true;
    bbpe_status status = order != NULL && ids != NULL ? BBPE_OK : BBPE_NO_MEMORY;
    if (status == BBPE_OK && self->by_rank) status = bbpe_pair_table_reserve(&self->merges, self->tokens.count);
    if (status == BBPE_OK) status = self->by_rank ? number_by_id(self) : number_listed(self, &self->merges, &is_numbered);
    if (status == BBPE_OK) status = finalize_all(self, order, is_numbered, ids);
    if (status == BBPE_OK && !is_numbered) status = number_live(self);
    bbpe_memory_free(self->ends);
    self->ends = NULL;
    bbpe_memory_free(order);
    bbpe_memory_free(ids);
    return status;
}
