cdef extern from "memory/memory.h" nogil:
    void *bbpe_memory_new(size_t count, size_t size)
    void *bbpe_memory_zeroed(size_t count, size_t size)
    void *bbpe_memory_reserve(void *memory, size_t *capacity, size_t need, size_t size)
    void bbpe_memory_free(void *memory)
    void *bbpe_memory_table(size_t count, size_t size)
    void bbpe_memory_table_free(void *table)
    void bbpe_memory_trim()
