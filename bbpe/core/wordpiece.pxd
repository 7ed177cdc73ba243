from bbpe.core.c_wordpiece cimport bbpe_wordpiece
from bbpe.core.model cimport Model

cdef unsigned rules_of(bert) except? 0


cdef class WordPiece(Model):
    cdef bbpe_wordpiece c
