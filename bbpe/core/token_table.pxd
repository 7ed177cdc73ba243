from libc.stdint cimport uint8_t

from bbpe.core.c_models cimport bbpe_vocab
from bbpe.core.c_tables cimport bbpe_pretoken_entry


cdef class Marks:
    cdef uint8_t *marks


cdef class TokenTable:
    cdef bbpe_vocab c
    # what `c` points into; if there is none, `c` owns its arrays
    cdef const uint8_t[::1] data_of_image
    cdef bint is_opened
    cdef const bbpe_pretoken_entry *_entry(self, key) except? NULL
    cdef int _add(self, token_id, token) except -1
