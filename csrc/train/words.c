#include "train/words.h"

#include "memory/memory.h"

#define NONE BBPE_TRAIN_WORDS_NONE

typedef bbpe_train_words_position position;
typedef bbpe_train_words_pair pair;
typedef bbpe_train_words_cell cell;

/* The items of an array. */
#define ITEMS(type, array) ((type *)(array).items)

static bbpe_status reserve(bbpe_train_words_array *self, size_t more, size_t size) {
    if (more >= NONE - self->count) return BBPE_TOO_LARGE;
    if (!bbpe_memory_grow(&self->items, &self->capacity, self->count + more, size)) return BBPE_NO_MEMORY;
    return BBPE_OK;
}

bbpe_status bbpe_train_words_init(bbpe_train_words *self, bool by_pmi, uint64_t min_frequency) {
    memset(self, 0, sizeof *self);
    self->by_pmi = by_pmi;
    self->min_frequency = min_frequency ? min_frequency : 1;
    return bbpe_pair_table_init(&self->index, 0);
}

void bbpe_train_words_free(bbpe_train_words *self) {
    bbpe_train_words_array *const arrays[] = {&self->positions, &self->weights, &self->pairs,   &self->heap, &self->cells,
                                              &self->changed, &self->found,  &self->symbols, &self->lists};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) bbpe_memory_free(arrays[i]->items);
    bbpe_pair_table_free(&self->index);
    bbpe_token_strings_free(&self->strings);
    memset(self, 0, sizeof *self);
}

/* Room for a symbol by its id. */
static bbpe_status know_symbol(bbpe_train_words *self, uint32_t id) {
    if (id < self->symbols.count) return BBPE_OK;
    const size_t more = id + 1 - self->symbols.count;
    bbpe_status status = reserve(&self->symbols, more, sizeof(uint64_t));
    if (status == BBPE_OK) status = reserve(&self->lists, more, sizeof(uint32_t));
    if (status != BBPE_OK) return status;
    memset(ITEMS(uint64_t, self->symbols) + self->symbols.count, 0, more * sizeof(uint64_t));
    memset(ITEMS(uint32_t, self->lists) + self->lists.count, 0xFF, more * sizeof(uint32_t));
    self->symbols.count += more;
    self->lists.count += more;
    return BBPE_OK;
}

bbpe_status bbpe_train_words_add(bbpe_train_words *self, const uint32_t *symbols, size_t n, uint64_t weight) {
    bbpe_status status = reserve(&self->positions, n, sizeof(position));
    if (status == BBPE_OK) status = reserve(&self->weights, 1, sizeof(uint64_t));
    for (size_t i = 0; i < n && status == BBPE_OK; i++) status = know_symbol(self, symbols[i]);
    if (status != BBPE_OK) return status;
    const uint32_t first = (uint32_t)self->positions.count;
    for (size_t i = 0; i < n; i++) {
        const uint32_t at = first + (uint32_t)i;
        ITEMS(position, self->positions)[at] = (position){symbols[i], i ? at - 1 : NONE, i + 1 < n ? at + 1 : NONE,
                                                 (uint32_t)self->weights.count};
        ITEMS(uint64_t, self->symbols)[symbols[i]] += weight;
    }
    self->positions.count += n;
    ITEMS(uint64_t, self->weights)[self->weights.count++] = weight;
    return BBPE_OK;
}

bbpe_status bbpe_train_words_name(bbpe_train_words *self, const uint8_t *strings, const int64_t *offsets,
                                  size_t count) {
    self->string_count = count;
    self->string_limit = count + self->positions.count + 1; /* each merge takes at least one position away */
    return bbpe_token_strings_init(&self->strings, self->string_limit, strings, offsets, count);
}

/* The string of a symbol that two others make. */
static bbpe_status name_made(bbpe_train_words *self, uint32_t symbol, uint32_t left, uint32_t right) {
    if (symbol < self->string_count || self->string_limit == 0) return BBPE_OK;
    if (symbol != self->string_count || symbol == self->string_limit) return BBPE_TOO_LARGE;
    self->string_count++;
    return bbpe_token_strings_join(&self->strings, symbol, left, right);
}

/* -- the heap of pairs ------------------------------------------------------------------------------------- */

static bool is_before(const bbpe_train_words *self, const pair *a, const pair *b) {
    if (a->score > b->score || a->score < b->score) return a->score > b->score;
    if (self->string_limit) {
        const int order = bbpe_token_strings_compare(&self->strings, a->left, b->left);
        return (order ? order : bbpe_token_strings_compare(&self->strings, a->right, b->right)) > 0;
    }
    return bbpe_pair_key(a->left, a->right) < bbpe_pair_key(b->left, b->right);
}

/* Put a pair into slot `at` of the heap, or where it belongs from there. */
static void sift(bbpe_train_words *self, size_t at, uint32_t number) {
    uint32_t *heap = self->heap.items;
    pair *pairs = self->pairs.items;
    const size_t count = self->heap.count;
    for (size_t up; at > 0 && is_before(self, pairs + number, pairs + heap[up = (at - 1) / 2]); at = up) {
        heap[at] = heap[up];
        pairs[heap[at]].at = (uint32_t)at;
    }
    for (size_t down; (down = 2 * at + 1) < count; at = down) {
        if (down + 1 < count && is_before(self, pairs + heap[down + 1], pairs + heap[down])) down++;
        if (!is_before(self, pairs + heap[down], pairs + number)) break;
        heap[at] = heap[down];
        pairs[heap[at]].at = (uint32_t)at;
    }
    heap[at] = number;
    pairs[number].at = (uint32_t)at;
}

static void key_anew(bbpe_train_words *self, uint32_t number) {
    pair *p = ITEMS(pair, self->pairs) + number;
    const uint64_t *symbols = self->symbols.items;
    p->is_changed = false;
    const double count = (double)p->count;
    const double score = p->count < self->min_frequency ? -1.0
                         : self->by_pmi ? count / ((double)symbols[p->left] * (double)symbols[p->right])
                                        : count;
    if (score >= p->score && score <= p->score) return;
    p->score = score;
    sift(self, p->at, number);
}

/* -- pairs ------------------------------------------------------------------------------------------------- */

static bbpe_status add_cell(bbpe_train_words *self, uint32_t item, uint32_t next, uint32_t *made) {
    const bbpe_status status = reserve(&self->cells, 1, sizeof(cell));
    if (status != BBPE_OK) return status;
    *made = (uint32_t)self->cells.count++;
    ITEMS(cell, self->cells)[*made] = (cell){item, next};
    return BBPE_OK;
}

/* List a pair with a symbol of its own. */
static bbpe_status list_pair(bbpe_train_words *self, uint32_t symbol, uint32_t number) {
    uint32_t *first = ITEMS(uint32_t, self->lists) + symbol;
    return add_cell(self, number, *first, first);
}

/* The number of a pair, which is made if it is new. */
static bbpe_status number_of(bbpe_train_words *self, uint32_t left, uint32_t right, uint32_t *number) {
    const uint64_t *found = bbpe_pair_table_find(&self->index, bbpe_pair_key(left, right));
    *number = found == NULL ? NONE : (uint32_t)*found;
    if (found != NULL) return BBPE_OK;
    bbpe_status status = reserve(&self->pairs, 1, sizeof(pair));
    if (status == BBPE_OK) status = reserve(&self->heap, 1, sizeof(uint32_t));
    if (status == BBPE_OK) status = bbpe_pair_table_reserve(&self->index, 1);
    if (status != BBPE_OK) return status;
    *number = (uint32_t)self->pairs.count++;
    ITEMS(pair, self->pairs)[*number] = (pair){-2.0, 0, left, right, NONE, NONE, 0, false};
    bbpe_pair_table_set(&self->index, bbpe_pair_key(left, right), *number);
    self->heap.count++;
    sift(self, self->heap.count - 1, *number);
    if (!self->by_pmi) return BBPE_OK;
    status = list_pair(self, left, *number);
    return status == BBPE_OK && left != right ? list_pair(self, right, *number) : status;
}

static bbpe_status mark(bbpe_train_words *self, uint32_t number) {
    pair *p = ITEMS(pair, self->pairs) + number;
    if (p->is_changed) return BBPE_OK;
    const bbpe_status status = reserve(&self->changed, 1, sizeof(uint32_t));
    if (status != BBPE_OK) return status;
    p->is_changed = true;
    ITEMS(uint32_t, self->changed)[self->changed.count++] = number;
    return BBPE_OK;
}

/* A pair comes into being at a position. */
static bbpe_status gain(bbpe_train_words *self, uint32_t left, uint32_t right, uint32_t at, uint64_t weight) {
    uint32_t number, made;
    bbpe_status status = number_of(self, left, right, &number);
    if (status == BBPE_OK) status = add_cell(self, at, NONE, &made);
    if (status == BBPE_OK) status = mark(self, number);
    if (status != BBPE_OK) return status;
    pair *p = ITEMS(pair, self->pairs) + number;
    if (p->last == NONE) p->first = made;
    else ITEMS(cell, self->cells)[p->last].next = made;
    p->last = made;
    p->count += weight;
    return BBPE_OK;
}

static bbpe_status lose(bbpe_train_words *self, uint32_t left, uint32_t right, uint64_t weight) {
    uint32_t number;
    bbpe_status status = number_of(self, left, right, &number);
    if (status == BBPE_OK) status = mark(self, number);
    if (status == BBPE_OK) ITEMS(pair, self->pairs)[number].count -= weight;
    return status;
}

/* Key all pairs anew that have changed. */
static void key_changed(bbpe_train_words *self) {
    for (size_t i = 0; i < self->changed.count; i++) key_anew(self, ITEMS(uint32_t, self->changed)[i]);
    self->changed.count = 0;
}

bbpe_status bbpe_train_words_begin(bbpe_train_words *self) {
    bbpe_status status = BBPE_OK;
    for (size_t i = 0; i < self->positions.count && status == BBPE_OK; i++) {
        const position *p = ITEMS(position, self->positions) + i;
        if (p->after == NONE) continue;
        status = gain(self, p->symbol, p[1].symbol, (uint32_t)i, ITEMS(uint64_t, self->weights)[p->word]);
    }
    if (status == BBPE_OK) key_changed(self);
    return status;
}

const bbpe_train_words_pair *bbpe_train_words_best(const bbpe_train_words *self) {
    if (self->heap.count == 0) return NULL;
    const pair *best = ITEMS(pair, self->pairs) + *ITEMS(uint32_t, self->heap);
    return best->score > 0 ? best : NULL;
}

/* -- merging ----------------------------------------------------------------------------------------------- */

static int by_position(const void *a, const void *b) {
    const uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return (first > second) - (first < second);
}

/* List where a pair may be, from the left. */
static bbpe_status find_positions(bbpe_train_words *self, const pair *merged) {
    self->found.count = 0;
    for (uint32_t at = merged->first; at != NONE; at = ITEMS(cell, self->cells)[at].next) {
        const bbpe_status status = reserve(&self->found, 1, sizeof(uint32_t));
        if (status != BBPE_OK) return status;
        ITEMS(uint32_t, self->found)[self->found.count++] = ITEMS(cell, self->cells)[at].item;
    }
    if (merged->left == merged->right && self->found.count > 1)
        qsort(self->found.items, self->found.count, sizeof(uint32_t), by_position);
    return BBPE_OK;
}

static bbpe_status merge_at(bbpe_train_words *self, uint32_t at, uint32_t left, uint32_t right, uint32_t symbol) {
    position *positions = self->positions.items, *p = positions + at, *q = positions + p->after;
    const uint64_t weight = ITEMS(uint64_t, self->weights)[p->word];
    uint64_t *symbols = self->symbols.items;
    bbpe_status status = lose(self, left, right, weight);
    if (status == BBPE_OK && p->before != NONE) {
        status = lose(self, positions[p->before].symbol, left, weight);
        if (status == BBPE_OK) status = gain(self, positions[p->before].symbol, symbol, p->before, weight);
    }
    if (status == BBPE_OK && q->after != NONE) {
        status = lose(self, right, positions[q->after].symbol, weight);
        if (status == BBPE_OK) status = gain(self, symbol, positions[q->after].symbol, at, weight);
        positions[q->after].before = at;
    }
    p->symbol = symbol;
    p->after = q->after;
    q->symbol = NONE;
    symbols[left] -= weight;
    symbols[right] -= weight;
    symbols[symbol] += weight;
    return status;
}

/* Have all pairs of a symbol keyed anew. */
static bbpe_status key_symbol(bbpe_train_words *self, uint32_t symbol) {
    uint32_t *link = ITEMS(uint32_t, self->lists) + symbol;
    while (*link != NONE) {
        cell *c = ITEMS(cell, self->cells) + *link;
        const bbpe_status status = mark(self, c->item);
        if (status != BBPE_OK) return status;
        link = &c->next;
    }
    return BBPE_OK;
}

bbpe_status bbpe_train_words_merge(bbpe_train_words *self, uint32_t symbol) {
    const pair *best = bbpe_train_words_best(self);
    if (best == NULL) return BBPE_OK;
    const uint32_t number = *ITEMS(uint32_t, self->heap), left = best->left, right = best->right;
    bbpe_status status = find_positions(self, best);
    if (status == BBPE_OK) status = know_symbol(self, symbol);
    if (status == BBPE_OK) status = name_made(self, symbol, left, right);
    for (size_t i = 0; i < self->found.count && status == BBPE_OK; i++) {
        const uint32_t at = ITEMS(uint32_t, self->found)[i];
        const position *p = ITEMS(position, self->positions) + at;
        if (p->symbol != left || p->after == NONE) continue;
        if (ITEMS(position, self->positions)[p->after].symbol == right) status = merge_at(self, at, left, right, symbol);
    }
    if (status != BBPE_OK) return status;
    ITEMS(pair, self->pairs)[number].first = ITEMS(pair, self->pairs)[number].last = NONE;
    if (self->by_pmi) {
        status = key_symbol(self, left);
        if (status == BBPE_OK) status = key_symbol(self, right);
        if (status == BBPE_OK) status = key_symbol(self, symbol);
    }
    if (status == BBPE_OK) key_changed(self);
    return status;
}
