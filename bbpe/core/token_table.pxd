from bbpe.core.c_pretoken_table cimport bbpe_pretoken_entry
from bbpe.core.c_vocab cimport bbpe_vocab


cdef class TokenTable:
    cdef bbpe_vocab c
    cdef const bbpe_pretoken_entry *_entry(self, key) except? NULL
    cdef int _add(self, token_id, token) except -1
