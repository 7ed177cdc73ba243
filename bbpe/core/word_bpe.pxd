from bbpe.core.bpe cimport CompiledBPE
from bbpe.core.c_models cimport bbpe_word_bpe
from bbpe.core.model cimport Model


cdef class WordBPE(Model):
    cdef bbpe_word_bpe c
    cdef readonly CompiledBPE bpe
