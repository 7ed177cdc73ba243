from bbpe.core.c_models cimport bbpe_unigram
from bbpe.core.model cimport Model


cdef class CompiledUnigram(Model):
    cdef bbpe_unigram c


cdef class UnknownBytes(Model):
    cdef bbpe_unigram c
    cdef CompiledUnigram owner
