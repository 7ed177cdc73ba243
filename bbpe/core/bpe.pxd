from libc.stdint cimport uint8_t, uint32_t

from bbpe.core.c_models cimport bbpe_bpe
from bbpe.core.model cimport Model


cdef class CompiledBPE(Model):
    cdef bbpe_bpe c
    # what `c` points into; if there is none, `c` owns its arrays
    cdef const uint8_t[::1] data_of_image
    cdef bint is_opened
    cdef int _open(self, const uint8_t[::1] data) except -1
    cdef int _set_levels(self, object levels, size_t count) except -1
    cdef int _set_outputs(self, const uint32_t[::1] starts, const uint32_t[::1] written) except -1
