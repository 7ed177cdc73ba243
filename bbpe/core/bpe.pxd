from bbpe.core.c_bpe cimport bbpe_bpe


cdef class Model:
    cdef bbpe_bpe c
