from bbpe.core.c_split cimport bbpe_split_fill


cdef class Splitter:
    cdef bbpe_split_fill fill
    cdef readonly str name
