from bbpe.core.c_models cimport bbpe_bpe
from bbpe.core.model cimport Model


cdef class BPE(Model):
    cdef bbpe_bpe c
    cdef int _set_levels(self, object levels, size_t count) except -1
    cdef int _set_outputs(self, list outputs) except -1
