cdef extern from "pages.h" nogil:
    void bbpe_pages_expect(void *memory, size_t size)
