from libc.stdint cimport int64_t, uint8_t

from bbpe.core.call cimport Call
from bbpe.core.c_encode cimport bbpe_encode_state, bbpe_places, bbpe_places_rules
from bbpe.core.c_pipeline cimport bbpe_place_trims, bbpe_token_lengths, bbpe_token_range
from bbpe.core.split cimport Splitter
from bbpe.core.text_view cimport text_view


cdef class TokenLengths:
    cdef bbpe_token_lengths c
    cdef object kept


cdef class PlaceTrims:
    cdef bbpe_place_trims c
    cdef const uint8_t[::1] is_added
    cdef object kept


cdef class TextRanges:
    cdef const int64_t[::1] ends
    cdef const uint8_t[::1] levels

    cdef bbpe_token_range *in_bytes(self, const uint8_t *text, size_t n, size_t length, size_t level_count) except? NULL


cdef class PlacesCall:
    cdef Call call
    cdef TokenLengths lengths
    cdef PlaceTrims trims
    cdef Splitter splitter
    cdef bbpe_places_rules rules
    cdef object slow, new_array, dtype, id_dtype  # the last three are numpy's

    cpdef tuple encode(self, text, str unit)
    cdef tuple _encode(self, text, str unit, bint has_words, TextRanges ranges, bint in_arrays)
    cdef bint _run(
        self, bbpe_encode_state *state, text, const text_view *view, TextRanges ranges, bbpe_places *found
    ) except -1
    cdef bint _run_on(
        self, bbpe_encode_state *state, text, const text_view *view, const bbpe_token_range *ranges, size_t range_count,
        bbpe_places *found
    ) except -1
    cdef tuple _result(self, const bbpe_places *found, bint in_arrays)
