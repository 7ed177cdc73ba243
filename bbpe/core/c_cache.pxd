from libc.stdint cimport uint64_t

cdef extern from "encode/cache.h" nogil:
    ctypedef struct bbpe_cache_budget:
        uint64_t limit, used

    ctypedef struct bbpe_hot_cache:
        size_t entry_count, slot_mask, slots_taken

    ctypedef struct bbpe_shared_cache:
        size_t mask

    bint bbpe_cache_budget_take(bbpe_cache_budget *self, uint64_t bytes)
    void bbpe_cache_budget_give(bbpe_cache_budget *self, uint64_t bytes)
    size_t bbpe_hot_cache_bytes(size_t entries, size_t slots)
    bbpe_shared_cache *bbpe_shared_cache_new(size_t slots)
    void bbpe_shared_cache_hold(bbpe_shared_cache *self)
    bint bbpe_shared_cache_drop(bbpe_shared_cache *self)
    size_t bbpe_shared_cache_bytes(size_t slots)

cdef extern from "base/atomic.h" nogil:
    uint64_t BBPE_ATOMIC_LOAD(uint64_t *place)
    uint64_t BBPE_ATOMIC_ADD(uint64_t *place, uint64_t value)
    void *BBPE_ATOMIC_ACQUIRE(void **place)
    void BBPE_ATOMIC_STORE(uint64_t *place, uint64_t value)
    void *BBPE_ATOMIC_EXCHANGE(void **place, void *value)
    bint BBPE_ATOMIC_SWAP(void **place, void **expected, void *value)
