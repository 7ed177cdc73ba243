from libc.stdint cimport uint32_t

cdef extern from "symbols.h" nogil:
    const uint32_t BBPE_SYMBOLS_BORDER
    void bbpe_symbols_splice(uint32_t *slots, size_t left, size_t right, size_t end, uint32_t merged)
