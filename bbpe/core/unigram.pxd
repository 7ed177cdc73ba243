from libc.stdint cimport uint8_t

from bbpe.core.c_models cimport bbpe_unigram
from bbpe.core.model cimport Model


cdef class CompiledUnigram(Model):
    cdef bbpe_unigram c
    cdef bint is_opened         # its arrays are in an image
    cdef object data_of_image
    cdef void _close(self) noexcept
    cdef int _open(self, const uint8_t[::1] data) except -1


cdef class UnknownBytes(Model):
    cdef bbpe_unigram c
    cdef CompiledUnigram owner
