from libc.stdint cimport uint32_t

from bbpe.core.c_id_array cimport bbpe_id_array
from bbpe.core.c_token_bytes cimport bbpe_text_size, bbpe_token_bytes

cdef extern from "decode/token_text.h" nogil:
    unsigned bbpe_text_unit(const bbpe_text_size *size)
    bint bbpe_token_text_fill(
        const bbpe_token_bytes *table, const bbpe_id_array *ids, size_t start, size_t stop, void *out, size_t chars,
        unsigned unit, uint32_t *seen)
