from bbpe.core.c_wordpiece cimport bbpe_wordpiece
from bbpe.core.model cimport Model


cdef class WordPiece(Model):
    cdef bbpe_wordpiece c
