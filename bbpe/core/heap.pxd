"""A binary heap of 24-byte items; the smallest by `less` is on top.  Reserve first: a push cannot fail."""
from libc.stdint cimport uint64_t

from bbpe.core.c_common cimport BBPE_NO_MEMORY, BBPE_OK, bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_reserve

ctypedef struct heap_item:
    uint64_t primary  # what is compared first
    uint64_t tie      # what is compared next
    uint64_t payload  # carried along

ctypedef bint (*heap_less)(const void *context, const heap_item *a, const heap_item *b) noexcept nogil

ctypedef struct heap:
    heap_item *items
    size_t count
    size_t capacity


cdef inline bint less_plain(const void *context, const heap_item *a, const heap_item *b) noexcept nogil:
    return a.primary < b.primary or (a.primary == b.primary and a.tie < b.tie)


cdef inline void heap_free(heap *self) noexcept nogil:
    bbpe_memory_free(self.items)
    self.items = NULL
    self.count = self.capacity = 0


cdef inline bbpe_status heap_reserve(heap *self, size_t more) noexcept nogil:
    cdef void *items = bbpe_memory_reserve(self.items, &self.capacity, self.count + more, sizeof(heap_item))
    if items == NULL:
        return BBPE_NO_MEMORY
    self.items = <heap_item *>items
    return BBPE_OK


cdef inline void heap_push(heap *self, heap_item item, heap_less less, const void *context) noexcept nogil:
    cdef size_t i = self.count, parent
    self.count += 1
    while i > 0:
        parent = (i - 1) // 2
        if not less(context, &item, &self.items[parent]):
            break
        self.items[i] = self.items[parent]
        i = parent
    self.items[i] = item


cdef inline heap_item heap_pop(heap *self, heap_less less, const void *context) noexcept nogil:
    cdef heap_item top = self.items[0], last
    cdef size_t i = 0, child
    self.count -= 1
    last = self.items[self.count]
    while True:
        child = 2 * i + 1
        if child >= self.count:
            break
        if child + 1 < self.count and less(context, &self.items[child + 1], &self.items[child]):
            child += 1
        if not less(context, &self.items[child], &last):
            break
        self.items[i] = self.items[child]
        i = child
    self.items[i] = last
    return top
