from libc.stdint cimport uint32_t

from bbpe.core.automaton cimport host_call
from bbpe.core.c_encode cimport bbpe_encode_state, bbpe_encode_text, bbpe_encode_want
from bbpe.core.c_pipeline cimport bbpe_pipeline, bbpe_pipeline_call, bbpe_pipeline_run, bbpe_token_search
from bbpe.core.encoder cimport Encoder
from bbpe.core.int_objects cimport IntObjects
from bbpe.core.matcher cimport Policy
from bbpe.core.normalizer cimport Normalizer
from bbpe.core.pre_tokenizer cimport PreTokenizer
from bbpe.core.text_group cimport TextGroup


cdef class Pipeline:
    cdef bbpe_pipeline c
    cdef bytes prefix
    cdef Normalizer normalizer
    cdef readonly PreTokenizer pre_tokenizer  # stub: PreTokenizer | None


cdef class Call:
    cdef Pipeline pipeline
    cdef readonly Policy tokens      # stub: Policy | None
    cdef readonly Policy normalized  # stub: Policy | None
    cdef readonly Policy refused     # stub: Policy | None
    cdef uint32_t *around
    cdef size_t before_count, after_count
    cdef uint32_t highest  # of these ids


# A call as C has it, with the searches as they are now.
ctypedef struct call_view:
    bbpe_pipeline_call c
    bbpe_token_search tokens, normalized, refused


cdef void view_call(call_view *self, Call call, host_call *host) noexcept
cdef int solve(const bbpe_pipeline_run *run, Call call, const call_view *view, object text) except -1


cdef class Piped:
    cdef Encoder encoder
    cdef IntObjects ints

    cdef int _encode(
        self, bbpe_encode_state *state, Call call, const bbpe_encode_text *texts, const size_t *lengths, size_t count,
        size_t total, const bbpe_encode_want *want, size_t *counts, object given, size_t first
    ) except -1
    cpdef list to_list(self, text, Call call)
    cdef object _array(self, text, Call call, size_t limit, bint keeps)
    cdef size_t _group(
        self, TextGroup group, bbpe_encode_state *state, Call call, object texts, size_t start, size_t end,
        const bbpe_encode_want *want
    ) except 0
