/* How a unit of text is merged. */
#include "bpe.h"
#include "symbols.h"

void bbpe_bpe_work_free(bbpe_bpe_work *self) {
    bbpe_memory_free(self->slots);
    bbpe_heap_free(&self->queue);
    bbpe_heap_free(&self->skipped);
    bbpe_memory_free(self->dead);
    memset(self, 0, sizeof *self);
}

size_t bbpe_bpe_merge_short(const bbpe_bpe *self, const uint8_t *text, size_t n, size_t enough, uint32_t *ids) {
    uint32_t made[BBPE_BPE_SHORT + 1]; /* by the pair that begins at each symbol */
    for (size_t i = 0; i < n; i++) ids[i] = text[i];
    for (size_t i = 1; i < n; i++) made[i - 1] = self->byte_pairs[text[i - 1] << 8 | text[i]];
    while (n > enough) {
        size_t at = 0;
        uint32_t best = made[0];
        for (size_t i = 1; i + 1 < n; i++) {
            at = made[i] < best ? i : at;
            best = made[i] < best ? made[i] : best;
        }
        if (best == BBPE_MERGE_TABLE_NONE) break;
        n--;
        ids[at] = best;
        for (size_t i = at + 1; i < n; i++) {
            ids[i] = ids[i + 1];
            made[i - 1] = made[i];
        }
        if (at > 0) made[at - 1] = bbpe_merge_table_find(&self->table, ids[at - 1], best);
        if (at + 1 < n) made[at] = bbpe_merge_table_find(&self->table, best, ids[at + 1]);
    }
    for (size_t i = 0; i < n; i++) ids[i] = self->ids[ids[i]];
    return n;
}

void bbpe_bpe_lane_begin(const bbpe_bpe *self, bbpe_bpe_lane *lane, const uint8_t *text, size_t n) {
    for (size_t i = 0; i < n; i++) lane->symbols[i] = text[i];
    for (size_t i = 1; i < n; i++) lane->made[i - 1] = self->byte_pairs[text[i - 1] << 8 | text[i]];
    lane->count = n;
    lane->changed = BBPE_BPE_LANE;
    lane->is_done = false;
}

/* One merge of a lane; what its new pairs make is looked up in its next turn. */
static void take_turn(const bbpe_bpe *self, bbpe_bpe_lane *lane, size_t enough) {
    uint32_t *symbols = lane->symbols, *made = lane->made;
    size_t at = lane->changed, n = lane->count;
    if (at != BBPE_BPE_LANE) {
        if (at > 0) made[at - 1] = bbpe_merge_table_find(&self->table, symbols[at - 1], symbols[at]);
        if (at + 1 < n) made[at] = bbpe_merge_table_find(&self->table, symbols[at], symbols[at + 1]);
    }
    uint32_t best = BBPE_MERGE_TABLE_NONE;
    for (size_t i = 0; i + 1 < n; i++) {
        at = made[i] < best ? i : at;
        best = made[i] < best ? made[i] : best;
    }
    if (best == BBPE_MERGE_TABLE_NONE || n <= enough) {
        for (size_t i = 0; i < n; i++) symbols[i] = self->ids[symbols[i]];
        lane->is_done = true;
        return;
    }
    lane->count = --n;
    lane->changed = at;
    symbols[at] = best;
    for (size_t i = at + 1; i < n; i++) {
        symbols[i] = symbols[i + 1];
        made[i - 1] = made[i];
    }
    if (at > 0) bbpe_merge_table_prefetch(&self->table, symbols[at - 1], best);
    if (at + 1 < n) bbpe_merge_table_prefetch(&self->table, best, symbols[at + 1]);
}

void bbpe_bpe_merge_lanes(const bbpe_bpe *self, bbpe_bpe_lane *lanes, size_t count, size_t enough) {
    for (size_t left = count; left > 0;) {
        left = 0;
        for (size_t i = 0; i < count; i++) {
            if (lanes[i].is_done) continue;
            take_turn(self, lanes + i, enough);
            left += !lanes[i].is_done;
        }
    }
}

/* Queue the symbol at `left` and its right neighbour, if they merge. */
static void push(const bbpe_bpe *self, bbpe_bpe_work *work, size_t left) {
    const uint32_t left_id = work->slots[left], right_id = work->slots[left + self->lengths[left_id]];
    if (right_id == BBPE_SYMBOLS_BORDER) return;
    const uint64_t value = bbpe_bpe_value(self, left_id, right_id);
    if (value == BBPE_BPE_NONE) return;
    const bbpe_heap_item item = {value, left, bbpe_pair_key(left_id, right_id)};
    bbpe_heap_push(&work->queue, item, bbpe_heap_less_plain, NULL);
}

static bbpe_status begin(const bbpe_bpe *self, bbpe_bpe_work *work, const uint8_t *text, size_t n) {
    uint32_t *slots = bbpe_memory_reserve(work->slots, &work->capacity, n + 2, sizeof *slots);
    if (slots == NULL) return BBPE_NO_MEMORY;
    work->slots = slots;
    work->queue.count = 0;
    /* each merge takes a pair away and makes at most two */
    if (bbpe_heap_reserve(&work->queue, 3 * n) != BBPE_OK) return BBPE_NO_MEMORY;
    slots[0] = slots[n + 1] = BBPE_SYMBOLS_BORDER;
    for (size_t p = 0; p < n; p++) slots[p + 1] = self->byte_ids[text[p]];
    for (size_t p = 1; p < n; p++) push(self, work, p);
    return BBPE_OK;
}

/* Whether both symbols of a pair are still there; `*right` is where the second one begins. */
BBPE_INLINE bool is_valid(const bbpe_bpe *self, const uint32_t *slots, bbpe_heap_item item, size_t *right) {
    const size_t left = (size_t)item.tie;
    if (slots[left] != (uint32_t)(item.payload >> 32)) return false;
    *right = left + self->lengths[slots[left]];
    return slots[*right] == (uint32_t)item.payload;
}

/* Make a pair one symbol, and queue it with its neighbours. */
static void merge(const bbpe_bpe *self, bbpe_bpe_work *work, bbpe_heap_item item, size_t right) {
    uint32_t *slots = work->slots;
    const size_t left = (size_t)item.tie;
    bbpe_symbols_splice(slots, left, right, right + self->lengths[slots[right]], (uint32_t)item.primary);
    push(self, work, left);
    if (slots[left - 1] != BBPE_SYMBOLS_BORDER) push(self, work, left - self->lengths[slots[left - 1]]);
}

static size_t put_symbols(const bbpe_bpe *self, const bbpe_bpe_work *work, size_t n, uint32_t *ids) {
    size_t count = 0;
    for (size_t p = 1; p <= n; p += self->lengths[work->slots[p]]) ids[count++] = work->slots[p];
    return count;
}

bbpe_status bbpe_bpe_merge_long(const bbpe_bpe *self, bbpe_bpe_work *work, const uint8_t *text, size_t n,
                                size_t enough, uint32_t *ids, size_t *count) {
    *count = 0;
    if (n == 0) return BBPE_OK;
    const bbpe_status status = begin(self, work, text, n);
    if (status != BBPE_OK) return status;
    for (size_t symbols = n, right; symbols > enough && work->queue.count > 0;) {
        const bbpe_heap_item item = bbpe_heap_pop(&work->queue, bbpe_heap_less_plain, NULL);
        if (!is_valid(self, work->slots, item, &right)) continue;
        merge(self, work, item, right);
        symbols--;
    }
    *count = put_symbols(self, work, n, ids);
    return BBPE_OK;
}

bbpe_status bbpe_bpe_merge_dropout(const bbpe_bpe *self, bbpe_bpe_work *work, const uint8_t *text, size_t n,
                                   bbpe_bpe_dropout *dropout, uint32_t *ids, size_t *count) {
    *count = 0;
    if (n == 0) return BBPE_OK;
    bbpe_heap *skipped = &work->skipped;
    skipped->count = 0;
    bbpe_status status = begin(self, work, text, n);
    if (status == BBPE_OK) status = bbpe_heap_reserve(skipped, 3 * n);
    if (status != BBPE_OK) return status;
    for (size_t right; work->queue.count > 0;) {
        const bbpe_heap_item item = bbpe_heap_pop(&work->queue, bbpe_heap_less_plain, NULL);
        if (!is_valid(self, work->slots, item, &right)) continue;
        if (item.primary >> 32 >= self->fixed_ranks && bbpe_bpe_dropout_next(dropout)) {
            skipped->items[skipped->count++] = item;
            continue;
        }
        merge(self, work, item, right);
        while (skipped->count > 0)
            bbpe_heap_push(&work->queue, skipped->items[--skipped->count], bbpe_heap_less_plain, NULL);
    }
    *count = put_symbols(self, work, n, ids);
    return BBPE_OK;
}

size_t bbpe_bpe_put_outputs(const bbpe_bpe *self, uint32_t *ids, size_t count) {
    const uint32_t *starts = self->output_starts;
    size_t total = 0;
    for (size_t i = 0; i < count; i++) total += starts[ids[i] + 1] - starts[ids[i]];
    /* from the right, as there are never fewer than before */
    for (size_t end = total; count-- > 0;) {
        const uint32_t id = ids[count];
        for (size_t k = starts[id + 1]; k-- > starts[id];) ids[--end] = self->outputs[k];
    }
    return total;
}
