from libc.stdint cimport uint8_t

from bbpe.core.call cimport Call
from bbpe.core.c_encode cimport bbpe_encode_state, bbpe_places, bbpe_places_rules
from bbpe.core.c_pipeline cimport bbpe_place_trims, bbpe_token_lengths
from bbpe.core.split cimport Splitter
from bbpe.core.text_view cimport text_view


cdef class TokenLengths:
    cdef bbpe_token_lengths c
    cdef object kept


cdef class PlaceTrims:
    cdef bbpe_place_trims c
    cdef const uint8_t[::1] is_added
    cdef object kept


cdef class PlacesCall:
    cdef Call call
    cdef TokenLengths lengths
    cdef PlaceTrims trims
    cdef Splitter splitter
    cdef bbpe_places_rules rules
    cdef object slow, new_array, dtype  # the last two are numpy's

    cpdef tuple encode(self, text, str unit)
    cdef tuple _encode(self, text, str unit, bint has_words)
    cdef bint _run(self, bbpe_encode_state *state, text, const text_view *view, bbpe_places *found) except -1
    cdef tuple _result(self, const bbpe_places *found)
