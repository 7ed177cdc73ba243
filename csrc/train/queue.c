/* The queue of pairs: a lazy heap, whose items are put right when they come to its top. */
#include "memory/memory.h"
#include "train/internal.h"

static bool is_valid(const bbpe_train *self, uint64_t key, uint32_t p) {
    const uint32_t left = (uint32_t)(key >> 32);
    return self->slots[p] == left && self->slots[p + self->tokens.lengths[left]] == (uint32_t)key;
}

/* The first valid position of a pair; as its count is positive, there is one. */
static uint32_t first_position(const bbpe_train *self, size_t slot) {
    bbpe_pair_list *list = self->pairs.lists + slot;
    const uint64_t key = self->pairs.slots[slot].key;
    while (!is_valid(self, key, list->positions[list->first])) list->first++;
    return list->positions[list->first];
}

static int less_bytes(const void *context, const bbpe_heap_item *a, const bbpe_heap_item *b) {
    const bbpe_token_strings *tokens = context;
    if (a->primary != b->primary) return a->primary < b->primary;
    if (a->tie != b->tie) return a->tie > b->tie;
    const uint32_t left = (uint32_t)(a->payload >> 32), other = (uint32_t)(b->payload >> 32);
    int order = left == other ? 0 : bbpe_token_strings_compare(tokens, left, other);
    if (order == 0) order = bbpe_token_strings_compare(tokens, (uint32_t)a->payload, (uint32_t)b->payload);
    return order > 0;
}

static bbpe_heap_item item_of(const bbpe_train *self, size_t slot) {
    const bbpe_pair_count *pair = self->pairs.slots + slot;
    const uint64_t tie = self->options.ties == BBPE_TRAIN_FIRST ? first_position(self, slot)
                         : self->options.ties == BBPE_TRAIN_BYTES
                             ? bbpe_token_strings_prefix(&self->tokens, (uint32_t)(pair->key >> 32))
                             : pair->key;
    return (bbpe_heap_item){UINT64_MAX - (uint64_t)pair->count, tie, pair->key};
}

void bbpe_train_queue(bbpe_train *self, size_t slot) {
    if (self->options.ties == BBPE_TRAIN_BYTES)
        bbpe_heap_push(&self->queue, item_of(self, slot), less_bytes, &self->tokens);
    else
        bbpe_heap_push(&self->queue, item_of(self, slot), bbpe_heap_less_plain, NULL);
}

static void drop_top(bbpe_train *self) {
    if (self->options.ties == BBPE_TRAIN_BYTES)
        (void)bbpe_heap_pop(&self->queue, less_bytes, &self->tokens);
    else
        (void)bbpe_heap_pop(&self->queue, bbpe_heap_less_plain, NULL);
}

static void replace_top(bbpe_train *self, bbpe_heap_item item) {
    if (self->options.ties == BBPE_TRAIN_BYTES)
        bbpe_heap_replace(&self->queue, item, less_bytes, &self->tokens);
    else
        bbpe_heap_replace(&self->queue, item, bbpe_heap_less_plain, NULL);
}

/* Ask whether a pair may be merged, unless it is known to be forbidden. */
static bbpe_status ask(bbpe_train *self, uint64_t key, bool *is_allowed) {
    const uint32_t left = (uint32_t)(key >> 32), right = (uint32_t)key;
    const bbpe_token_strings *tokens = &self->tokens;
    const size_t n = bbpe_token_strings_size(tokens, left), m = bbpe_token_strings_size(tokens, right);
    *is_allowed = false;
    if (bbpe_pair_table_find(&self->forbidden, key) != NULL) return BBPE_OK;
    if (!bbpe_memory_grow(&self->asked, &self->asked_capacity, n + m, 1)) return BBPE_NO_MEMORY;
    if (n) memcpy(self->asked, tokens->arena + tokens->starts[left], n);
    if (m) memcpy(self->asked + n, tokens->arena + tokens->starts[right], m);
    const bbpe_train_answer answer = self->options.allows(self->options.context, self->asked, n + m);
    if (answer == BBPE_TRAIN_STOP) return BBPE_INTERRUPTED;
    *is_allowed = answer == BBPE_TRAIN_ALLOWED;
    if (*is_allowed) return BBPE_OK;
    const bbpe_status status = bbpe_pair_table_reserve(&self->forbidden, 1);
    if (status == BBPE_OK) bbpe_pair_table_set(&self->forbidden, key, 0);
    return status;
}

bbpe_status bbpe_train_take_best(bbpe_train *self, size_t *best) {
    *best = BBPE_PAIR_COUNTS_NONE;
    const uint64_t worst = UINT64_MAX - (uint64_t)self->threshold;
    while (self->queue.count) {
        const bbpe_heap_item top = self->queue.items[0];
        if (top.primary > worst) break;
        const size_t slot = bbpe_pair_counts_find(&self->pairs, top.payload);
        if (slot != BBPE_PAIR_COUNTS_NONE && self->pairs.slots[slot].count >= self->threshold) {
            const bbpe_heap_item now = item_of(self, slot);
            if (now.primary == top.primary && now.tie == top.tie) {
                drop_top(self);
                if (self->options.allows != NULL) {
                    bool is_allowed;
                    const bbpe_status status = ask(self, top.payload, &is_allowed);
                    if (status != BBPE_OK) return status;
                    if (!is_allowed) {
                        bbpe_pair_counts_drop(&self->pairs, slot);
                        continue;
                    }
                }
                if (self->queue.count) { /* most likely the next one */
                    const size_t home = bbpe_pair_counts_home(&self->pairs, self->queue.items[0].payload);
                    BBPE_PREFETCH(self->pairs.slots + home);
                    BBPE_PREFETCH(self->pairs.lists + home);
                }
                *best = slot;
                return BBPE_OK;
            }
            replace_top(self, now);
        } else {
            drop_top(self);
            if (slot != BBPE_PAIR_COUNTS_NONE) bbpe_pair_counts_drop(&self->pairs, slot);
        }
    }
    return BBPE_OK;
}
