from libc.stdint cimport int64_t

cdef extern from "text/offsets.h" nogil:
    ctypedef enum bbpe_offsets_unit:
        BBPE_OFFSETS_CHAR
        BBPE_OFFSETS_UTF16

    void bbpe_offsets_map(
        const void *text, unsigned unit_size, size_t n, bbpe_offsets_unit unit, int64_t *spans, size_t count)
