from bbpe.core.c_bpe cimport bbpe_bpe


cdef class Model:
    cdef bbpe_bpe c
    cdef size_t written_count  # more than any id that encoding writes
    cdef int _set_outputs(self, list outputs) except -1
