/* Finding all pairs that reach the threshold, from nothing but the symbols: before the first merge, when symbols are
 * bytes and a pair is an index, and whenever the threshold is lowered.  Then most pairs are rare, and a table of
 * all would be large: counts by hash, which are never too low, show which pairs are worth an exact one. */
#include "memory/memory.h"
#include "train/internal.h"

enum {
    BYTE_PAIRS = 1 << 16,
    BATCH = 64,               /* windows whose table lines are fetched before they are looked at */
    BETWEEN_QUESTIONS = 1 << 20, /* positions, or slots of a table, until the caller is asked again whether to go on */
    COUNT_MIN_BITS_LEAST = 12,
    COUNT_MIN_BITS_MOST = 24, /* 64 MiB of counts */
};

/* Two neighbours. */
typedef struct {
    uint64_t key;
    int64_t weight;
    uint32_t position;
} window;

/* How far the search is; `segment` is that of `position` or an earlier one, and at `asked` the caller was asked. */
typedef struct {
    size_t position, segment, asked;
} walk;

/* Ask the caller whether to go on if it has been long since it was asked, at `*asked`. */
static bool is_interrupted(const bbpe_train *self, size_t position, size_t *asked) {
    if (position - *asked < BETWEEN_QUESTIONS || self->options.interrupted == NULL) return false;
    *asked = position;
    return self->options.interrupted();
}

/* The next neighbours that may become a token, fewer than `BATCH` at the end only. */
static size_t next_windows(const bbpe_train *self, walk *at, window *windows) {
    const uint32_t *lengths = self->tokens.lengths;
    size_t p = at->position, found = 0;
    while (found < BATCH && p + 1 < self->slot_count) {
        const uint32_t left = self->slots[p];
        if (left == BBPE_SYMBOLS_BORDER) {
            p++;
            continue;
        }
        const size_t next = p + lengths[left];
        const uint32_t right = self->slots[next];
        if (right != BBPE_SYMBOLS_BORDER && (uint64_t)lengths[left] + lengths[right] <= self->options.max_length) {
            at->segment = bbpe_segments_find(&self->weights, (uint32_t)p, at->segment);
            windows[found++] = (window){bbpe_pair_key(left, right), self->weights.counts[at->segment], (uint32_t)p};
        }
        p = next;
    }
    at->position = p;
    return found;
}

/* A list for a pair that is in the table, and its item, once its positions are there. */
static bbpe_status give_list(bbpe_train *self, size_t slot, size_t born) {
    uint32_t *positions = bbpe_position_arena_new(&self->pairs.arena, born);
    if (positions == NULL) return BBPE_NO_MEMORY;
    self->pairs.lists[slot] = (bbpe_pair_list){positions, (uint32_t)born, 0};
    return BBPE_OK;
}

static bbpe_status queue_all(bbpe_train *self) {
    self->queue.count = 0;
    const bbpe_status status = bbpe_heap_reserve(&self->queue, self->pairs.count + 1);
    if (status != BBPE_OK) return status;
    size_t asked = 0;
    for (size_t slot = 0; slot <= self->pairs.mask; slot++) {
        if (self->pairs.slots[slot].count >= self->threshold) bbpe_train_queue(self, slot);
        if (is_interrupted(self, slot, &asked)) return BBPE_INTERRUPTED;
    }
    return BBPE_OK;
}

/* Weights and numbers of all pairs of bytes; a pair is an index into `by_pair`. */
static bbpe_status count_bytes(const bbpe_train *self, bbpe_neighbour *by_pair) {
    size_t asked = 0, segment = 0;
    uint32_t left = BBPE_SYMBOLS_BORDER;
    for (size_t p = 1, stop; p < self->slot_count;) {
        segment = bbpe_segments_find(&self->weights, (uint32_t)p, segment);
        const int64_t weight = self->weights.counts[segment];
        const bool is_last = segment + 1 == self->weights.count;
        stop = is_last ? self->slot_count : self->weights.starts[segment + 1];
        if (stop - p > BETWEEN_QUESTIONS) stop = p + BETWEEN_QUESTIONS;
        if (is_interrupted(self, p, &asked)) return BBPE_INTERRUPTED;
        for (; p < stop; p++) {
            const uint32_t right = self->slots[p];
            if (left != BBPE_SYMBOLS_BORDER && right != BBPE_SYMBOLS_BORDER) {
                by_pair[left << 8 | right].count += weight;
                by_pair[left << 8 | right].at.born++;
            }
            left = right;
        }
    }
    return BBPE_OK;
}

static bbpe_status add_bytes(bbpe_train *self, bbpe_neighbour *by_pair) {
    size_t pairs = 0, positions = 0;
    for (size_t i = 0; i < BYTE_PAIRS; i++) {
        if (by_pair[i].count < self->threshold) by_pair[i] = (bbpe_neighbour){0, {0}};
        pairs += by_pair[i].count > 0;
        positions += by_pair[i].at.born;
    }
    bbpe_status status = bbpe_pair_counts_reserve(&self->pairs, pairs, self->threshold);
    /* the sizes are rounded up, by an eighth on average, and a few more lists will come */
    if (status == BBPE_OK) status = bbpe_position_arena_reserve(&self->pairs.arena, positions + positions / 4);
    for (size_t i = 0; i < BYTE_PAIRS && status == BBPE_OK; i++) {
        if (by_pair[i].count == 0) {
            by_pair[i].at.next = NULL;
            continue;
        }
        const size_t slot = bbpe_pair_counts_add(&self->pairs, bbpe_pair_key((uint32_t)(i >> 8), i & 255));
        self->pairs.slots[slot].count = by_pair[i].count;
        status = give_list(self, slot, by_pair[i].at.born);
        by_pair[i].at.next = self->pairs.lists[slot].positions;
    }
    return status;
}

static bbpe_status place_bytes(const bbpe_train *self, bbpe_neighbour *by_pair) {
    size_t asked = 0;
    uint32_t left = BBPE_SYMBOLS_BORDER;
    for (size_t p = 1; p < self->slot_count;) {
        const size_t left_over = self->slot_count - p, stop = p + (left_over < BETWEEN_QUESTIONS ? left_over : BETWEEN_QUESTIONS);
        if (is_interrupted(self, p, &asked)) return BBPE_INTERRUPTED;
        for (; p < stop; p++) {
            const uint32_t right = self->slots[p];
            if (left != BBPE_SYMBOLS_BORDER && right != BBPE_SYMBOLS_BORDER) {
                bbpe_neighbour *pair = by_pair + (left << 8 | right);
                if (pair->at.next != NULL) *pair->at.next++ = (uint32_t)(p - 1);
            }
            left = right;
        }
    }
    return BBPE_OK;
}

static bbpe_status find_bytes(bbpe_train *self) {
    bbpe_neighbour *by_pair = bbpe_memory_table(BYTE_PAIRS, sizeof *by_pair);
    if (by_pair == NULL) return BBPE_NO_MEMORY;
    bbpe_status status = count_bytes(self, by_pair);
    if (status == BBPE_OK) status = add_bytes(self, by_pair);
    if (status == BBPE_OK) status = place_bytes(self, by_pair);
    bbpe_memory_table_free(by_pair);
    return status;
}

static size_t count_min_slot(uint64_t key, unsigned bits) {
    return (size_t)(bbpe_hash_fibonacci(key ^ key >> 29) >> (64 - bits));
}

/* Add the weights of all pairs to a count-min sketch of one row, whose sums stop at the highest number: never too low. */
static bbpe_status fill_count_min(const bbpe_train *self, uint32_t *count_min, unsigned bits) {
    window windows[BATCH];
    walk at = {1, 0, 0};
    for (size_t n; (n = next_windows(self, &at, windows)) > 0;) {
        if (is_interrupted(self, at.position, &at.asked)) return BBPE_INTERRUPTED;
        for (size_t i = 0; i < n; i++) BBPE_PREFETCH(count_min + count_min_slot(windows[i].key, bits));
        for (size_t i = 0; i < n; i++) {
            uint32_t *sum = count_min + count_min_slot(windows[i].key, bits);
            *sum = windows[i].weight < UINT32_MAX - (int64_t)*sum ? *sum + (uint32_t)windows[i].weight : UINT32_MAX;
        }
    }
    return BBPE_OK;
}

/* Count exactly the pairs that by the sketch may reach the threshold. */
static bbpe_status count_likely(bbpe_train *self, const uint32_t *count_min, unsigned bits) {
    const int64_t worth = self->threshold < UINT32_MAX ? self->threshold : UINT32_MAX;
    window windows[BATCH];
    walk at = {1, 0, 0};
    for (size_t n; (n = next_windows(self, &at, windows)) > 0;) {
        if (is_interrupted(self, at.position, &at.asked)) return BBPE_INTERRUPTED;
        const bbpe_status status = bbpe_pair_counts_reserve(&self->pairs, n, 0);
        if (status != BBPE_OK) return status;
        for (size_t i = 0; i < n; i++) BBPE_PREFETCH(count_min + count_min_slot(windows[i].key, bits));
        for (size_t i = 0; i < n; i++) {
            if (count_min[count_min_slot(windows[i].key, bits)] < worth) continue;
            const size_t slot = bbpe_pair_counts_add(&self->pairs, windows[i].key);
            self->pairs.slots[slot].count += windows[i].weight;
            self->pairs.lists[slot].born++;
        }
    }
    return BBPE_OK;
}

/* Lists for the pairs that reach the threshold; nothing of the others is kept. */
static bbpe_status place_likely(bbpe_train *self) {
    bbpe_status status = bbpe_pair_counts_compact(&self->pairs, self->threshold);
    size_t asked = 0;
    for (size_t slot = 0; slot <= self->pairs.mask && status == BBPE_OK; slot++) {
        if (is_interrupted(self, slot, &asked)) return BBPE_INTERRUPTED;
        if (self->pairs.slots[slot].key == BBPE_PAIR_NONE) continue;
        status = give_list(self, slot, self->pairs.lists[slot].born);
    }
    if (status != BBPE_OK) return status;
    window windows[BATCH];
    walk at = {1, 0, 0};
    for (size_t n; (n = next_windows(self, &at, windows)) > 0;) {
        if (is_interrupted(self, at.position, &at.asked)) return BBPE_INTERRUPTED;
        for (size_t i = 0; i < n; i++) bbpe_pair_counts_prefetch(&self->pairs, windows[i].key);
        for (size_t i = 0; i < n; i++) {
            const size_t slot = bbpe_pair_counts_find(&self->pairs, windows[i].key);
            if (slot == BBPE_PAIR_COUNTS_NONE) continue;
            bbpe_pair_list *list = self->pairs.lists + slot;
            list->positions[list->first++] = windows[i].position;
        }
    }
    for (size_t slot = 0; slot <= self->pairs.mask; slot++) self->pairs.lists[slot].first = 0;
    return BBPE_OK;
}

static bbpe_status find_later(bbpe_train *self) {
    unsigned bits = COUNT_MIN_BITS_LEAST;
    while (bits < COUNT_MIN_BITS_MOST && (size_t)1 << bits < self->slot_count) bits++;
    uint32_t *count_min = bbpe_memory_table((size_t)1 << bits, sizeof *count_min);
    if (count_min == NULL) return BBPE_NO_MEMORY;
    bbpe_status status = fill_count_min(self, count_min, bits);
    if (status == BBPE_OK) status = count_likely(self, count_min, bits);
    bbpe_memory_table_free(count_min);
    if (status == BBPE_OK) status = place_likely(self);
    return status;
}

bbpe_status bbpe_train_find(bbpe_train *self) {
    bbpe_status status = bbpe_pair_counts_init(&self->pairs, 0);
    const bool are_bytes = self->merge_count == 0 && self->base == 256;
    if (status == BBPE_OK) status = are_bytes ? find_bytes(self) : find_later(self);
    return status == BBPE_OK ? queue_all(self) : status;
}
