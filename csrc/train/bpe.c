#include "train/internal.h"

#include "memory/memory.h"

bbpe_status bbpe_train_init(bbpe_train *self, size_t pretokens, size_t bytes, const uint8_t *byte_order,
                            bbpe_train_options options) {
    int64_t offsets[257];
    for (int64_t i = 0; i <= 256; i++) offsets[i] = i;
    const bbpe_status status = bbpe_train_init_from(self, pretokens, bytes, byte_order, offsets, 256, options);
    for (uint32_t i = 0; i < 256; i++) self->byte_ids[byte_order[i]] = i;
    return status;
}

bbpe_status bbpe_train_init_from(bbpe_train *self, size_t pretokens, size_t bytes, const uint8_t *tokens,
                                 const int64_t *offsets, size_t count, bbpe_train_options options) {
    memset(self, 0, sizeof *self);
    /* a border before the first pretoken and after each; positions are 32 bits wide */
    if (pretokens >= UINT32_MAX || bytes >= UINT32_MAX - 2 - pretokens) return BBPE_TOO_LARGE;
    if (options.merge_limit > bytes) options.merge_limit = bytes; /* each merge takes at least one symbol away */
    const size_t ids = count + options.merge_limit;
    self->options = options;
    self->base = count;
    self->slot_limit = bytes + pretokens + 1;
    self->slots = bbpe_memory_table(self->slot_limit, sizeof *self->slots);
    self->merges = bbpe_memory_new(options.merge_limit, sizeof *self->merges);
    self->merge_counts = bbpe_memory_new(options.merge_limit, sizeof *self->merge_counts);
    if (self->slots == NULL || self->merges == NULL || self->merge_counts == NULL) return BBPE_NO_MEMORY;
    self->slots[0] = BBPE_SYMBOLS_BORDER;
    self->slot_count = 1;
    bbpe_status status = bbpe_token_strings_init(&self->tokens, ids, tokens, offsets, count);
    if (status == BBPE_OK && options.allows != NULL) status = bbpe_pair_table_init(&self->forbidden, 0);
    if (status == BBPE_OK) status = bbpe_neighbours_init(&self->lefts, ids);
    if (status == BBPE_OK) status = bbpe_neighbours_init(&self->rights, ids);
    return status;
}

bbpe_status bbpe_train_init_symbols(bbpe_train *self, size_t pretokens, size_t symbols, const uint8_t *tokens,
                                    const int64_t *offsets, size_t count, bbpe_train_options options) {
    const bbpe_status status = bbpe_train_init_from(self, pretokens, symbols, tokens, offsets, count, options);
    for (size_t i = 0; i < count && status == BBPE_OK; i++) self->tokens.lengths[i] = 1;
    return status;
}

void bbpe_train_free(bbpe_train *self) {
    bbpe_memory_table_free(self->slots);
    bbpe_segments_free(&self->weights);
    bbpe_token_strings_free(&self->tokens);
    bbpe_pair_counts_free(&self->pairs);
    bbpe_heap_free(&self->queue);
    bbpe_neighbours_free(&self->lefts);
    bbpe_neighbours_free(&self->rights);
    bbpe_memory_free(self->found);
    bbpe_memory_free(self->merges);
    bbpe_memory_free(self->merge_counts);
    bbpe_pair_table_free(&self->forbidden);
    bbpe_memory_free(self->asked);
    memset(self, 0, sizeof *self);
}

bbpe_status bbpe_train_add(bbpe_train *self, const uint8_t *bytes, size_t n, int64_t count) {
    if (n < 2 || count <= 0) return BBPE_OK; /* it has no pair */
    if (n >= self->slot_limit - self->slot_count) return BBPE_TOO_LARGE;
    const bbpe_status status = bbpe_segments_append(&self->weights, (uint32_t)self->slot_count, count);
    if (status != BBPE_OK) return status;
    uint32_t *slot = self->slots + self->slot_count;
    for (size_t i = 0; i < n; i++) slot[i] = self->byte_ids[bytes[i]];
    slot[n] = BBPE_SYMBOLS_BORDER;
    self->slot_count += n + 1;
    self->total += count * (int64_t)(n - 1);
    return BBPE_OK;
}

bbpe_status bbpe_train_add_tokens(bbpe_train *self, const uint32_t *ids, size_t n, int64_t count, size_t *used) {
    const uint32_t *lengths = self->tokens.lengths;
    size_t symbols = 0;
    for (size_t done = 0; done < n; done += lengths[ids[symbols++]]) {}
    *used = symbols;
    if (symbols < 2 || count <= 0) return BBPE_OK; /* it has no pair */
    if (n >= self->slot_limit - self->slot_count) return BBPE_TOO_LARGE;
    const bbpe_status status = bbpe_segments_append(&self->weights, (uint32_t)self->slot_count, count);
    if (status != BBPE_OK) return status;
    uint32_t *slot = self->slots + self->slot_count;
    for (size_t i = 0; i < symbols; i++) {
        const uint32_t length = lengths[ids[i]];
        for (uint32_t k = 1; k + 1 < length; k++) slot[k] = BBPE_SYMBOLS_INSIDE;
        slot[0] = slot[length - 1] = ids[i];
        slot += length;
    }
    *slot = BBPE_SYMBOLS_BORDER;
    self->slot_count += n + 1;
    self->total += count * (int64_t)(symbols - 1);
    return BBPE_OK;
}

/* How counts of the best pair fall, within a fifth in each of five corpora: the 256th merge takes 1 in 1900 of the pairs of
 * bytes; from one power of two to the next they fall to a part in 2.3 at 256 merges, and to one in 3 at 131,072, nine
 * doublings later. */
enum { PREDICTED_FROM = 256, PAIRS_FOR_ONE = 1900, FALL_PERCENT = 230, FALL_MORE_PERCENT = 8 };

/* A quarter less than what counts will have fallen to after so many merges, from what they were after `from` merges, at
 * least PREDICTED_FROM. */
static int64_t predict(size_t from, int64_t count, size_t merges) {
    size_t part = FALL_PERCENT;
    for (size_t step = PREDICTED_FROM; step < merges && count > 1; step *= 2, part += FALL_MORE_PERCENT) {
        if (2 * step <= from) continue;
        const size_t low = from > step ? from : step, high = merges < 2 * step ? merges : 2 * step;
        const double fall = 1 + ((double)part / 100 - 1) * (double)(high - low) / (double)step;
        count = (int64_t)((double)count / fall);
    }
    count -= count / 4;
    return count > 1 ? count : 1;
}

/* The count that `predict` gives for the last merge, and 2 if that may be 1.  One search more costs less than lists
 * and items for the pairs that occur once. */
static int64_t next_threshold(const bbpe_train *self) {
    const size_t limit = self->options.merge_limit, done = self->merge_count > PREDICTED_FROM ? self->merge_count : PREDICTED_FROM;
    const int64_t least = self->options.min_frequency;
    int64_t threshold = 1;
    if (self->threshold) {
        const int64_t last = predict(done, self->threshold, limit);
        threshold = last < self->threshold / 2 ? last : self->threshold / 2;
    } else if (self->options.threshold) {
        threshold = self->options.threshold;
    } else {
        const int64_t last = predict(PREDICTED_FROM, self->total / PAIRS_FOR_ONE, limit);
        threshold = last > 2 ? last : 2;
    }
    return threshold > least ? threshold : least;
}

bbpe_status bbpe_train_step(bbpe_train *self, size_t visits, bool *done) {
    const int64_t least = self->options.min_frequency;
    *done = false;
    for (size_t seen = 0; seen < visits;) {
        if (self->merge_count == self->options.merge_limit || self->options.max_length < 2) {
            *done = true;
            return BBPE_OK;
        }
        size_t best;
        bbpe_status status = bbpe_train_take_best(self, &best);
        if (status != BBPE_OK) return status;
        if (best != BBPE_PAIR_COUNTS_NONE) {
            seen += self->pairs.lists[best].born;
            status = bbpe_train_merge(self, best);
        } else if (self->threshold == 0 || self->threshold > least) {
            self->threshold = next_threshold(self);
            status = bbpe_train_find(self);
            seen += self->slot_count;
        } else {
            *done = true;
            return BBPE_OK;
        }
        if (status != BBPE_OK) return status;
    }
    return BBPE_OK;
}
