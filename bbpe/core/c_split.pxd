from libc.stdint cimport uint8_t

cdef extern from "split.h" nogil:
    ctypedef size_t (*bbpe_split_fill)(const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit) noexcept nogil

    bbpe_split_fill bbpe_split_find(const char *name)
    const char *bbpe_split_unicode_version()
