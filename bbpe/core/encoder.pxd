from libc.stdint cimport uint32_t

from bbpe.core.c_encode cimport bbpe_encode_state
from bbpe.core.int_objects cimport IntObjects
from bbpe.core.model cimport Model
from bbpe.core.split cimport Splitter
from bbpe.core.states cimport States
from bbpe.core.text_view cimport text_view


cdef class Encoder:
    cdef readonly Model model
    cdef readonly Splitter splitter  # stub: Splitter | None
    cdef readonly States states
    cdef IntObjects ints

    cdef bbpe_encode_state *_state_for_cuts(self, size_t length) except NULL
    cdef size_t _stretch_end(self, const text_view *view, size_t start) except? 0
    cdef int encode_range(self, const text_view *view, size_t start, size_t stop, uint32_t *ids, size_t *count) except -1
