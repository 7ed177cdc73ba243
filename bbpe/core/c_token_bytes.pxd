from libc.stdint cimport uint8_t, uint32_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_id_array cimport bbpe_id_array

cdef extern from "decode/token_bytes.h" nogil:
    ctypedef struct bbpe_token_bytes:
        size_t id_count

    ctypedef struct bbpe_text_size:
        size_t bytes
        size_t chars
        uint32_t leads

    size_t bbpe_token_bytes_arena(size_t length)
    bbpe_status bbpe_token_bytes_init(bbpe_token_bytes *self, size_t id_count, size_t arena)
    void bbpe_token_bytes_free(bbpe_token_bytes *self)
    void bbpe_token_bytes_set(bbpe_token_bytes *self, size_t id, const uint8_t *bytes, size_t length)
    const uint8_t *bbpe_token_bytes_get(const bbpe_token_bytes *self, size_t id, size_t *length)
    size_t bbpe_token_bytes_measure(
        const bbpe_token_bytes *self, const bbpe_id_array *ids, size_t start, size_t stop, bbpe_text_size *size)
    bint bbpe_token_bytes_join(
        const bbpe_token_bytes *self, const bbpe_id_array *ids, size_t start, size_t stop, uint8_t *out, size_t size,
        bint ascii)
