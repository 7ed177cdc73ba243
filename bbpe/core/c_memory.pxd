cdef extern from "memory/memory.h" nogil:
    ctypedef struct bbpe_reusable_buffer:
        void *start
        size_t size, kept

    void *bbpe_memory_new(size_t count, size_t size)
    void *bbpe_memory_zeroed(size_t count, size_t size)
    void *bbpe_memory_reserve(void *memory, size_t *capacity, size_t need, size_t size)
    void bbpe_memory_free(void *memory)
    void *bbpe_memory_table(size_t count, size_t size)
    void bbpe_memory_table_free(void *table)
    void bbpe_pages_trim()
    void bbpe_pages_keep(size_t size)
    void bbpe_pages_collapse(void *memory, size_t size)
    const void *bbpe_pages_of_file(int file, size_t size)
    void bbpe_pages_unmap(const void *memory, size_t size)
    void bbpe_pages_forget(const void *memory, size_t size)
    bint bbpe_reusable_buffer_open(bbpe_reusable_buffer *self, size_t size)
    bint bbpe_reusable_buffer_extend(bbpe_reusable_buffer *self, size_t bytes)
    void bbpe_reusable_buffer_trim(bbpe_reusable_buffer *self, size_t size)
    void bbpe_reusable_buffer_close(bbpe_reusable_buffer *self)
