from libc.stdint cimport uint8_t

from bbpe.core.c_models cimport bbpe_vocab
from bbpe.core.c_tables cimport bbpe_pretoken_entry
from bbpe.core.c_text cimport bbpe_utf8_decode


cdef inline bint is_character(const uint8_t *token, size_t n) noexcept nogil:
    """Whether a token is one character."""
    cdef size_t next = 0
    # BBPE_UTF8_INVALID is no code point
    return 0 < n <= 4 and bbpe_utf8_decode(token, 0, n, &next) <= 0x10FFFF and next == n


cdef inline bint is_utf8(const uint8_t *text, size_t n) noexcept nogil:
    """Whether bytes are a text."""
    cdef size_t i = 0, next = 0
    while i < n:
        if text[i] >= 0x80 and bbpe_utf8_decode(text, i, n, &next) > 0x10FFFF:
            return False
        i = i + 1 if text[i] < 0x80 else next
    return True


cdef class Marks:
    cdef uint8_t *marks


cdef class TokenTable:
    cdef bbpe_vocab c
    # what `c` points into; if there is none, `c` owns its arrays
    cdef const uint8_t[::1] data_of_image
    cdef bint is_opened
    cdef const bbpe_pretoken_entry *_entry(self, key) except? NULL
    cdef int _add(self, token_id, token) except -1
