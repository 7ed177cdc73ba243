from libc.stdint cimport uint8_t

cdef extern from "text/transcode.h" nogil:
    ctypedef size_t (*bbpe_transcode)(
        const void *text, unsigned kind, size_t start, size_t n, size_t *next, uint8_t *out, size_t room
    ) noexcept nogil

    size_t bbpe_transcode_utf8(
        const void *text, unsigned kind, size_t start, size_t n, size_t *next, uint8_t *out, size_t room
    )
    bbpe_transcode bbpe_transcode_variant(size_t index, const char **name)
