/* How a piece of text is merged. */
#include "models/bpe/model.h"
#include "tables/symbols.h"

void bbpe_bpe_work_free(bbpe_bpe_work *self) {
    bbpe_memory_free(self->slots);
    bbpe_heap_free(&self->queue);
    bbpe_heap_free(&self->skipped);
    bbpe_memory_free(self->dead);
    bbpe_memory_free(self->runs.items);
    memset(self, 0, sizeof *self);
}

/* The bytes of a piece as symbols, and as one those two that surely merge: about half of what merges. */
static size_t put_symbols_of(const bbpe_bpe *self, uint32_t *symbols, const uint8_t *text, size_t n) {
    uint64_t before = UINT64_MAX, pair = bbpe_bpe_byte_pair(self, text[0], text[1]);
    bool was_sure = false;
    size_t count = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        const uint64_t after = i + 2 < n ? bbpe_bpe_byte_pair(self, text[i + 1], text[i + 2]) : UINT64_MAX;
        const bool is_sure = bbpe_bpe_is_sure(before, pair, after);
        symbols[count] = is_sure ? (uint32_t)bbpe_bpe_made_of(pair) : text[i];
        count += !was_sure; /* the right one of two is overwritten */
        was_sure = is_sure;
        before = pair;
        pair = after;
    }
    symbols[count] = text[n - 1];
    return count + !was_sure;
}

/* Symbols of a piece, each below the number that it makes with its right neighbour: the least cell is the next merge. */
static size_t put_cells(const bbpe_bpe *self, uint64_t *cells, const uint8_t *text, size_t n, size_t enough) {
    uint32_t symbols[BBPE_BPE_SHORT];
    if (n > enough) {
        n = put_symbols_of(self, symbols, text, n);
    } else {
        for (size_t i = 0; i < n; i++) symbols[i] = text[i];
    }
    for (size_t i = 0; i + 1 < n; i++)
        cells[i] = (uint64_t)bbpe_merge_table_find(&self->table, symbols[i], symbols[i + 1]) << 32 | symbols[i];
    cells[n - 1] = (uint64_t)BBPE_MERGE_TABLE_NONE << 32 | symbols[n - 1];
    return n;
}

/* Make the symbol at `at` and its right neighbour, one of n, the symbol `made`. */
BBPE_INLINE void merge_cells(const bbpe_merge_table *table, uint64_t *cells, size_t n, size_t at, uint32_t made) {
    uint64_t moved = 0;
    const bool has_right = at + 2 < n;
    /* while cells move: 4 % of cold English, code and multilingual text */
    if (at > 0) bbpe_merge_table_prefetch(table, (uint32_t)cells[at - 1], made);
    if (has_right) bbpe_merge_table_prefetch(table, made, (uint32_t)cells[at + 2]);
    /* from the end: forwards a compiler calls memmove for what is three cells or so, which takes half as long again */
    for (size_t i = n - 1; i > at; i--) {
        const uint64_t cell = cells[i];
        cells[i] = moved;
        moved = cell;
    }
    if (at > 0) {
        const uint32_t left = (uint32_t)cells[at - 1];
        cells[at - 1] = (uint64_t)bbpe_merge_table_find(table, left, made) << 32 | left;
    }
    const uint32_t next = has_right ? bbpe_merge_table_find(table, made, (uint32_t)cells[at + 1]) : BBPE_MERGE_TABLE_NONE;
    cells[at] = (uint64_t)next << 32 | made;
}

size_t bbpe_bpe_merge_short(const bbpe_bpe *self, const uint8_t *text, size_t n, size_t enough, uint32_t *ids) {
    uint64_t cells[BBPE_BPE_SHORT];
    BBPE_ASSERT(bbpe_bpe_is_short(self, n));
    if (n > 0) n = put_cells(self, cells, text, n, enough);
    for (; n > enough; n--) {
        size_t at = 0;
        uint64_t least = cells[0];
        for (size_t i = 1; i + 1 < n; i++) {
            at = cells[i] < least ? i : at;
            least = cells[i] < least ? cells[i] : least;
        }
        if (least >> 32 == BBPE_MERGE_TABLE_NONE) break;
        merge_cells(&self->table, cells, n, at, (uint32_t)(least >> 32));
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t number = (uint32_t)cells[i];
        ids[i] = number < self->plain_start ? self->ids[number] : number + self->plain_distance;
    }
    return n;
}

/* Queue the symbol at `left` and its right neighbour, if they merge. */
static void push(const bbpe_bpe *self, bbpe_bpe_work *work, size_t left) {
    const uint32_t left_id = work->slots[left], right_id = work->slots[left + self->lengths[left_id]];
    if (right_id == BBPE_SYMBOLS_BORDER) return;
    const uint64_t value = bbpe_bpe_value(self, left_id, right_id);
    if (value == BBPE_BPE_NONE) return;
    /* without levels the id is at hand when the pair comes up */
    const uint64_t primary = self->levels == NULL ? value : (uint64_t)bbpe_bpe_level(self, value) << 32;
    const bbpe_heap_item item = {primary, left, bbpe_pair_key(left_id, right_id)};
    bbpe_heap_push(&work->queue, item, bbpe_heap_less_plain, NULL);
}

static bbpe_status begin(const bbpe_bpe *self, bbpe_bpe_work *work, const uint8_t *text, size_t n) {
    if (!bbpe_memory_grow(&work->slots, &work->capacity, n + 2, sizeof *work->slots)) return BBPE_NO_MEMORY;
    uint32_t *const slots = work->slots;
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
    const uint64_t value = self->levels == NULL ? item.primary : *bbpe_pair_table_find(&self->merges, item.payload);
    bbpe_symbols_splice(slots, left, right, right + self->lengths[slots[right]], (uint32_t)value);
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
    if (starts == NULL) return count;
    for (size_t i = 0; i < count; i++) total += starts[ids[i] + 1] - starts[ids[i]];
    /* from the right, as there are never fewer than before */
    for (size_t end = total; count-- > 0;) {
        const uint32_t id = ids[count];
        for (size_t k = starts[id + 1]; k-- > starts[id];) ids[--end] = self->outputs[k];
    }
    return total;
}
