from libc.stdint cimport uint64_t

from bbpe.core.c_common cimport bbpe_status

cdef extern from "heap.h" nogil:
    ctypedef struct bbpe_heap_item:
        uint64_t primary, tie, payload

    ctypedef bint (*bbpe_heap_less)(
        const void *context, const bbpe_heap_item *a, const bbpe_heap_item *b
    ) noexcept nogil

    ctypedef struct bbpe_heap:
        bbpe_heap_item *items
        size_t count, capacity

    bint bbpe_heap_less_plain(const void *context, const bbpe_heap_item *a, const bbpe_heap_item *b)
    void bbpe_heap_free(bbpe_heap *self)
    bbpe_status bbpe_heap_reserve(bbpe_heap *self, size_t more)
    void bbpe_heap_push(bbpe_heap *self, bbpe_heap_item item, bbpe_heap_less less, const void *context)
    bbpe_heap_item bbpe_heap_pop(bbpe_heap *self, bbpe_heap_less less, const void *context)
