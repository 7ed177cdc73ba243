/* One merge: splice at every position, gather what that does, take away the old pairs and make the new ones. */
#include "memory/memory.h"
#include "train/internal.h"

enum {
    AHEAD = 16,      /* positions that are fetched before they are looked at */
    KEYS_AHEAD = 8,  /* the same for pairs */
};

/* The ids beside a pair are often on the next line. */
BBPE_INLINE void fetch(const uint32_t *slot, uint32_t length) {
    BBPE_PREFETCH(slot - 1);
    BBPE_PREFETCH(slot + length);
}

/* Merge at every valid position, left to right. */
static bbpe_status splice_all(bbpe_train *self, size_t slot, uint32_t token) {
    const bbpe_pair_list list = self->pairs.lists[slot];
    const uint64_t key = self->pairs.slots[slot].key;
    const uint32_t left = (uint32_t)(key >> 32), right = (uint32_t)key;
    const uint32_t left_length = self->tokens.lengths[left], length = self->tokens.lengths[token];
    uint32_t *slots = self->slots;
    if (!bbpe_memory_grow(&self->found, &self->found_capacity, list.born, sizeof *self->found)) return BBPE_NO_MEMORY;
    bbpe_train_occurrence *found = self->found;
    size_t segment = 0;
    /* most lists are short: they are fetched at once */
    for (uint32_t i = list.first; i < list.born && i - list.first < AHEAD; i++) fetch(slots + list.positions[i], length);
    for (uint32_t i = list.first; i < list.born; i++) {
        const uint32_t p = list.positions[i];
        if (BBPE_LIKELY(list.born - i > AHEAD)) fetch(slots + list.positions[i + AHEAD], length);
        if (slots[p] != left || slots[p + left_length] != right) continue;
        segment = bbpe_segments_find(&self->weights, p, segment);
        const int64_t weight = self->weights.counts[segment];
        const uint32_t before = slots[p - 1], after = slots[p + length];
        bbpe_symbols_splice(slots, p, p + left_length, p + length, token);
        if (before != BBPE_SYMBOLS_BORDER) bbpe_neighbours_note(&self->lefts, before, weight);
        if (after != BBPE_SYMBOLS_BORDER) bbpe_neighbours_note(&self->rights, after, weight);
        *found++ = (bbpe_train_occurrence){p, before, after};
    }
    self->found_count = (size_t)(found - self->found);
    return BBPE_OK;
}

static void lower(bbpe_train *self, uint64_t key, int64_t count) {
    const size_t slot = bbpe_pair_counts_find(&self->pairs, key);
    /* NONE: the pair was born with no chance to be merged */
    if (slot != BBPE_PAIR_COUNTS_NONE) self->pairs.slots[slot].count -= count;
}

/* Take away the pairs that the merge broke up. */
static void subtract(bbpe_train *self, uint32_t left, uint32_t right, uint32_t token) {
    const bbpe_neighbours *lefts = &self->lefts, *rights = &self->rights;
    for (size_t i = 0; i < lefts->count; i++) {
        const uint32_t other = lefts->ids[i];
        if (i + KEYS_AHEAD < lefts->count)
            bbpe_pair_counts_prefetch(&self->pairs, bbpe_pair_key(lefts->ids[i + KEYS_AHEAD], left));
        if (other != token) lower(self, bbpe_pair_key(other, left), lefts->by_id[other].count);
    }
    for (size_t i = 0; i < rights->count; i++) {
        const uint32_t other = rights->ids[i];
        if (i + KEYS_AHEAD < rights->count)
            bbpe_pair_counts_prefetch(&self->pairs, bbpe_pair_key(right, rights->ids[i + KEYS_AHEAD]));
        lower(self, bbpe_pair_key(right, other), rights->by_id[other].count);
    }
    /* in "abab" the first merge makes the pair (ab, a), which the second one breaks up again */
    if (lefts->by_id[token].at.born) self->rights.by_id[left].count -= lefts->by_id[token].count;
}

/* Make a new pair with room for its positions, if it may yet be merged. */
static bbpe_status add_pair(bbpe_train *self, bbpe_neighbour *made, uint32_t left, uint32_t right, bool *any) {
    const uint64_t length = (uint64_t)self->tokens.lengths[left] + self->tokens.lengths[right];
    const uint64_t born = made->at.born;
    made->at.next = NULL;
    if (made->count < self->threshold || length > self->options.max_length) return BBPE_OK;
    uint32_t *positions = bbpe_position_arena_new(&self->pairs.arena, born);
    if (positions == NULL) return BBPE_NO_MEMORY;
    const size_t slot = bbpe_pair_counts_add(&self->pairs, bbpe_pair_key(left, right));
    self->pairs.slots[slot].count = made->count;
    self->pairs.lists[slot] = (bbpe_pair_list){positions, (uint32_t)born, 0};
    made->at.next = positions;
    *any = true;
    return BBPE_OK;
}

/* The slot of a pair that is made soon, if it is. */
BBPE_INLINE void fetch_new(const bbpe_train *self, const bbpe_neighbours *beside, uint32_t other, bool is_left,
                           uint32_t token) {
    if (beside->by_id[other].count < self->threshold) return;
    const uint64_t key = is_left ? bbpe_pair_key(other, token) : bbpe_pair_key(token, other);
    const size_t home = bbpe_pair_counts_home(&self->pairs, key);
    BBPE_PREFETCH(self->pairs.slots + home);
    BBPE_PREFETCH(self->pairs.lists + home);
}

static bbpe_status add_pairs(bbpe_train *self, uint32_t token, bool *any) {
    bbpe_neighbours *lefts = &self->lefts, *rights = &self->rights;
    bbpe_status status = bbpe_pair_counts_reserve(&self->pairs, lefts->count + rights->count, self->threshold);
    for (size_t i = 0; i < lefts->count && status == BBPE_OK; i++) {
        if (i + KEYS_AHEAD < lefts->count) fetch_new(self, lefts, lefts->ids[i + KEYS_AHEAD], true, token);
        status = add_pair(self, lefts->by_id + lefts->ids[i], lefts->ids[i], token, any);
    }
    for (size_t i = 0; i < rights->count && status == BBPE_OK; i++) {
        if (i + KEYS_AHEAD < rights->count) fetch_new(self, rights, rights->ids[i + KEYS_AHEAD], false, token);
        status = add_pair(self, rights->by_id + rights->ids[i], token, rights->ids[i], any);
    }
    return status;
}

static void place_all(bbpe_train *self) {
    for (size_t i = 0; i < self->found_count; i++) {
        const bbpe_train_occurrence at = self->found[i];
        if (at.left != BBPE_SYMBOLS_BORDER)
            bbpe_neighbours_place(&self->lefts, at.left, at.position - self->tokens.lengths[at.left]);
        if (at.right != BBPE_SYMBOLS_BORDER) bbpe_neighbours_place(&self->rights, at.right, at.position);
    }
}

static bbpe_status queue_all(bbpe_train *self, uint32_t token) {
    const bbpe_neighbours *lefts = &self->lefts, *rights = &self->rights;
    const bbpe_status status = bbpe_heap_reserve(&self->queue, lefts->count + rights->count);
    if (status != BBPE_OK) return status;
    for (size_t i = 0; i < lefts->count; i++)
        if (lefts->by_id[lefts->ids[i]].at.next != NULL)
            bbpe_train_queue(self, bbpe_pair_counts_find(&self->pairs, bbpe_pair_key(lefts->ids[i], token)));
    for (size_t i = 0; i < rights->count; i++)
        if (rights->by_id[rights->ids[i]].at.next != NULL)
            bbpe_train_queue(self, bbpe_pair_counts_find(&self->pairs, bbpe_pair_key(token, rights->ids[i])));
    return BBPE_OK;
}

bbpe_status bbpe_train_merge(bbpe_train *self, size_t slot) {
    const uint64_t key = self->pairs.slots[slot].key;
    const int64_t count = self->pairs.slots[slot].count;
    const uint32_t left = (uint32_t)(key >> 32), right = (uint32_t)key;
    const uint32_t token = (uint32_t)(self->base + self->merge_count);
    bool any = false;
    bbpe_status status = bbpe_token_strings_join(&self->tokens, token, left, right);
    if (status == BBPE_OK) status = splice_all(self, slot, token);
    if (status != BBPE_OK) return status;
    bbpe_pair_counts_drop(&self->pairs, slot);
    subtract(self, left, right, token);
    status = add_pairs(self, token, &any);
    if (status != BBPE_OK) return status;
    if (any) {
        place_all(self);
        status = queue_all(self, token);
    }
    bbpe_neighbours_clear(&self->lefts);
    bbpe_neighbours_clear(&self->rights);
    self->merge_counts[self->merge_count] = count;
    self->merges[self->merge_count++] = key;
    return status;
}
