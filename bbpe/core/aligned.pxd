from libc.stdint cimport uint8_t

from bbpe.core.call cimport Call
from bbpe.core.c_encode cimport bbpe_encode_state
from bbpe.core.c_pipeline cimport bbpe_span_scratch, bbpe_span_trims, bbpe_token_lengths
from bbpe.core.c_text cimport bbpe_offsets_place
from bbpe.core.split cimport Splitter
from bbpe.core.text_view cimport text_view


cdef class TokenLengths:
    cdef bbpe_token_lengths c
    cdef object kept


cdef class SpanTrims:
    cdef bbpe_span_trims c
    cdef const uint8_t[::1] is_added
    cdef object kept


ctypedef struct found_ids:
    bbpe_span_scratch *memory  # the state's, for the ids and their spans
    size_t count, word_count
    bint has_words, in_chars  # spans become those of characters by counting these in the UTF-8
    bbpe_offsets_place place, begun  # as in text/offsets.h


cdef class AlignedCall:
    cdef Call call
    cdef TokenLengths lengths
    cdef SpanTrims trims
    cdef Splitter splitter
    cdef object slow, new_array, dtype  # the last two are numpy's

    cpdef tuple encode(self, text, str unit)
    cdef tuple _encode(self, text, str unit, bint has_words)
    cdef bint _run(self, bbpe_encode_state *state, text, const text_view *view, found_ids *found) except -1
    cdef tuple _result(self, const found_ids *found)
