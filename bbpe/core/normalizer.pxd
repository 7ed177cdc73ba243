from libc.stdint cimport uint8_t

from bbpe.core.c_pipeline cimport bbpe_normalizer, bbpe_normalizer_step


cdef class Normalizer:
    cdef bbpe_normalizer c
    cdef list _kept  # objects that steps borrow from
    cdef tuple _run(self, const uint8_t *text, size_t n, bint with_places)
    cdef int _add(self, bbpe_normalizer_step step) except -1
