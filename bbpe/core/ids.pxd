from libc.stdint cimport uint32_t

from bbpe.core.c_decode cimport bbpe_id_array, bbpe_text_size, bbpe_token_bytes
from bbpe.core.id_source cimport IdSource


cdef struct row:
    bbpe_id_array ids
    bbpe_text_size size
    void *out
    bint good


cdef class TokenBytes:
    cdef bbpe_token_bytes table

    cdef list _texts(self, row *rows, Py_ssize_t n, object errors, object id_at)
    cdef object _measure(self, IdSource ids, object run, bbpe_text_size *size)
    cdef object _measure_parts(self, IdSource ids, object run, bbpe_text_size *size)
    cdef bint _fill(
        self, const bbpe_id_array *ids, size_t start, size_t stop, const bbpe_text_size *size, void *out,
        size_t chars, uint32_t *seen,
    ) noexcept nogil
    cdef bytes _join(self, IdSource ids, object run)
