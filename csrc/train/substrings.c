/* Sort suffixes by the first symbols, then read substrings off the order. */
#include "train/substrings.h"

#include "memory/memory.h"

enum { FEW = 12 };

/* A suffix, and as many of its symbols as are being compared: the first one highest, zeros after the end. */
typedef struct {
    uint64_t key;
    uint32_t start;
} suffix;

typedef struct {
    const uint32_t *symbols;
    unsigned bits, width, depth; /* of a symbol; symbols in a key; compared at all */
} sorter;

/* The key after `depth` symbols, none of which is an end. */
static uint64_t key_at(const sorter *self, uint32_t start, unsigned depth) {
    const uint32_t *at = self->symbols + start + depth;
    uint64_t key = 0;
    unsigned i = 0;
    for (; i < self->width && depth + i < self->depth && at[i] != 0; i++) key = key << self->bits | at[i];
    for (; i < self->width; i++) key <<= self->bits;
    return key;
}

static void swap(suffix *a, suffix *b) {
    const suffix moved = *a;
    *a = *b;
    *b = moved;
}

static uint64_t middle(uint64_t a, uint64_t b, uint64_t c) {
    return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
}

/* Whether suffixes of this key go on after it. */
static bool goes_on(const sorter *self, uint64_t key, unsigned depth) {
    return depth + self->width < self->depth && (key & (((uint64_t)1 << self->bits) - 1)) != 0;
}

static void sort(const sorter *self, suffix *all, size_t n, unsigned depth);

/* Sort a few by insertion, then those of equal keys by what follows. */
static void sort_few(const sorter *self, suffix *all, size_t n, unsigned depth) {
    for (size_t i = 1; i < n; i++) {
        const suffix moved = all[i];
        size_t at = i;
        for (; at > 0 && all[at - 1].key > moved.key; at--) all[at] = all[at - 1];
        all[at] = moved;
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && all[end].key == all[i].key; end++) {}
        if (end - i < 2 || !goes_on(self, all[i].key, depth)) continue;
        for (size_t k = i; k < end; k++) all[k].key = key_at(self, all[k].start, depth + self->width);
        sort(self, all + i, end - i, depth + self->width);
    }
}

/* Sort suffixes whose keys are those at `depth`; the smaller parts by recursion, so that the stack stays low. */
static void sort(const sorter *self, suffix *all, size_t n, unsigned depth) {
    while (n > FEW) {
        const uint64_t pivot = middle(all[0].key, all[n / 2].key, all[n - 1].key);
        size_t less = 0, at = 0, more = n;
        while (at < more) {
            if (all[at].key < pivot) swap(all + less++, all + at++);
            else if (all[at].key > pivot) swap(all + at, all + --more);
            else at++;
        }
        if (goes_on(self, pivot, depth)) {
            for (size_t k = less; k < more; k++) all[k].key = key_at(self, all[k].start, depth + self->width);
            sort(self, all + less, more - less, depth + self->width);
        }
        if (less < n - more) {
            sort(self, all, less, depth);
            all += more;
            n -= more;
        } else {
            sort(self, all + more, n - more, depth);
            n = less;
        }
    }
    sort_few(self, all, n, depth);
}

/* How many symbols two suffixes begin with alike. */
static unsigned alike(const sorter *self, uint32_t a, uint32_t b) {
    unsigned i = 0;
    while (i < self->depth && self->symbols[a + i] != 0 && self->symbols[a + i] == self->symbols[b + i]) i++;
    return i;
}

static unsigned length_of(const sorter *self, uint32_t start) {
    unsigned i = 0;
    while (i < self->depth && self->symbols[start + i] != 0) i++;
    return i;
}

static bool add(bbpe_substrings *self, uint64_t weight, uint32_t start, unsigned length) {
    if (length < 2 || weight < 2) return true;
    if (!bbpe_memory_grow(&self->found, &self->capacity, self->count + 1, sizeof *self->found)) return false;
    self->found[self->count++] = (bbpe_substring){weight, start, length};
    return true;
}

/* A substring that suffixes so far begin with, while others may follow. */
typedef struct {
    uint64_t weight;
    uint32_t start;
    unsigned length;
} open_run;

/* Walk over sorted suffixes with a stack of runs, each longer than the one below it; at most 64 deep. */
static bool read_off(bbpe_substrings *self, const sorter *order, const suffix *all, size_t n, const uint32_t *text_of,
                     const uint64_t *weights) {
    open_run stack[66];
    size_t top = 0;
    stack[0] = (open_run){0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        const uint32_t start = all[i].start;
        const unsigned common = i > 0 ? alike(order, all[i - 1].start, start) : 0;
        uint64_t carried = 0;
        while (stack[top].length > common) {
            if (!add(self, stack[top].weight + carried, stack[top].start, stack[top].length)) return false;
            carried += stack[top--].weight;
        }
        if (stack[top].length < common) stack[++top] = (open_run){carried, all[i - 1].start, common};
        else stack[top].weight += carried;
        const unsigned length = length_of(order, start);
        if (length > common) stack[++top] = (open_run){weights[text_of[start]], start, length};
        else stack[top].weight += weights[text_of[start]];
    }
    for (uint64_t carried = 0; top > 0; top--) {
        carried += stack[top].weight;
        if (!add(self, carried, stack[top].start, stack[top].length)) return false;
    }
    return true;
}

bbpe_status bbpe_substrings_find(bbpe_substrings *self, const uint32_t *symbols, size_t n, uint32_t highest,
                                 const uint64_t *weights, unsigned depth) {
    sorter order = {symbols, 1, 0, depth < 64 ? depth : 64};
    if (n >= UINT32_MAX) return BBPE_TOO_LARGE;
    while (highest >> order.bits) order.bits++;
    order.width = 64 / order.bits;
    suffix *all = bbpe_memory_new(n, sizeof *all);
    uint32_t *text_of = bbpe_memory_new(n, sizeof *text_of);
    bbpe_status status = BBPE_NO_MEMORY;
    if (all != NULL && text_of != NULL) {
        size_t count = 0, text = 0;
        for (size_t i = 0; i < n; i++) {
            text_of[i] = (uint32_t)text;
            if (symbols[i] == 0) text++;
            else all[count++].start = (uint32_t)i;
        }
        for (size_t i = 0; i < count; i++) all[i].key = key_at(&order, all[i].start, 0);
        sort(&order, all, count, 0);
        if (read_off(self, &order, all, count, text_of, weights)) status = BBPE_OK;
    }
    bbpe_memory_free(all);
    bbpe_memory_free(text_of);
    return status;
}

void bbpe_substrings_free(bbpe_substrings *self) {
    bbpe_memory_free(self->found);
    memset(self, 0, sizeof *self);
}
