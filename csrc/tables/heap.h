/* A binary heap of 24-byte items; the smallest by `less` is on top.  Reserve first: a push cannot fail.  The struct
 * owns `items`; zeroed, it is empty. */
#ifndef BBPE_TABLES_HEAP_H
#define BBPE_TABLES_HEAP_H

#include "memory/memory.h"

typedef struct {
    uint64_t primary; /* what is compared first */
    uint64_t tie;     /* what is compared next */
    uint64_t payload; /* carried along */
} bbpe_heap_item;

typedef int (*bbpe_heap_less)(const void *context, const bbpe_heap_item *a, const bbpe_heap_item *b);

typedef struct {
    bbpe_heap_item *items;
    size_t count, capacity;
} bbpe_heap;

BBPE_INLINE int bbpe_heap_less_plain(const void *context, const bbpe_heap_item *a, const bbpe_heap_item *b) {
    (void)context;
    return a->primary < b->primary || (a->primary == b->primary && a->tie < b->tie);
}

BBPE_INLINE void bbpe_heap_free(bbpe_heap *self) {
    bbpe_memory_free(self->items);
    memset(self, 0, sizeof *self);
}

BBPE_INLINE bbpe_status bbpe_heap_reserve(bbpe_heap *self, size_t more) {
    if (!bbpe_memory_grow(&self->items, &self->capacity, self->count + more, sizeof *self->items))
        return BBPE_NO_MEMORY;
    return BBPE_OK;
}

BBPE_INLINE void bbpe_heap_push(bbpe_heap *self, bbpe_heap_item item, bbpe_heap_less less, const void *context) {
    BBPE_ASSERT(self->count < self->capacity);
    size_t i = self->count++;
    while (i > 0) {
        const size_t parent = (i - 1) / 2;
        if (!less(context, &item, self->items + parent)) break;
        self->items[i] = self->items[parent];
        i = parent;
    }
    self->items[i] = item;
}

/* Put an item where the top one is: a pop and a push at once. */
BBPE_INLINE void bbpe_heap_replace(bbpe_heap *self, bbpe_heap_item item, bbpe_heap_less less, const void *context) {
    size_t i = 0;
    for (size_t child = 1; child < self->count; child = 2 * i + 1) {
        if (child + 1 < self->count && less(context, self->items + child + 1, self->items + child)) child++;
        if (!less(context, self->items + child, &item)) break;
        self->items[i] = self->items[child];
        i = child;
    }
    self->items[i] = item;
}

BBPE_INLINE bbpe_heap_item bbpe_heap_pop(bbpe_heap *self, bbpe_heap_less less, const void *context) {
    BBPE_ASSERT(self->count > 0);
    const bbpe_heap_item top = self->items[0], last = self->items[--self->count];
    if (self->count) bbpe_heap_replace(self, last, less, context);
    return top;
}

#endif
