cdef extern from "memory/pages.h" nogil:
    void bbpe_pages_collapse(void *memory, size_t size)
