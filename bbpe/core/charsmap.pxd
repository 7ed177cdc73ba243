from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_pipeline cimport bbpe_charsmap, bbpe_charsmap_output
from bbpe.core.text_view cimport text_view

# The memory that normalizing needs: zeroed before, freed by normal_free.
ctypedef struct normal_buffers:
    bbpe_charsmap_output copied, output


cdef class SentencePieceNormalizer:
    cdef bbpe_charsmap c
    cdef bytes _table
    cdef bbpe_status normalize(self, text_view *views, size_t count, normal_buffers *buffer) noexcept nogil
    cdef bbpe_status _append(self, const text_view *view, normal_buffers *buffer) noexcept nogil

cdef void normal_free(normal_buffers *buffer) noexcept
