cimport cython
from libc.stdint cimport uint32_t

from bbpe.core.automaton cimport host_call
from bbpe.core.c_encode cimport bbpe_encode_state, bbpe_encode_text, bbpe_encode_want
from bbpe.core.c_models cimport bbpe_bpe_dropout
from bbpe.core.c_pipeline cimport (
    bbpe_pipeline, bbpe_pipeline_call, bbpe_pipeline_run, bbpe_stretch, bbpe_stretch_source, bbpe_token_codes,
    bbpe_token_search,
)
from bbpe.core.encoder cimport Encoder
from bbpe.core.matcher cimport Policy, TokenLevels
from bbpe.core.normalizer cimport Normalizer
from bbpe.core.pre_tokenizer cimport PreTokenizer
from bbpe.core.text_group cimport TextGroup
from bbpe.core.token_table cimport TokenTable


ctypedef enum result_kind:
    COUNT, LIST, ARRAY


cdef class Codes:
    cdef bbpe_token_codes c
    cdef bytes opens, closes
    cdef TokenTable tokens


cdef class Pipeline:
    cdef bbpe_pipeline c
    cdef bytes prefix
    cdef Codes codes
    cdef Normalizer normalizer
    cdef readonly PreTokenizer pre_tokenizer  # stub: PreTokenizer | None


cdef class Dropout:
    cdef bbpe_bpe_dropout c


@cython.final
cdef class Call:
    cdef readonly Encoder encoder
    cdef Pipeline pipeline
    cdef Policy tokens, normalized, refused
    cdef TokenLevels levels  # or None: tokens count everywhere
    cdef Dropout dropout
    cdef uint32_t *around
    cdef size_t before_count, after_count
    cdef bint is_bare  # plain, without a template
    # the encoder gets texts as they are; a template may be around their ids
    cdef readonly bint is_plain    # stub: bool
    # threads may encode parts of a long text
    cdef readonly bint is_divided  # stub: bool

    cdef int encode(
        self, bbpe_encode_state *state, const bbpe_encode_text *texts, const size_t *lengths, size_t count, size_t total,
        const bbpe_encode_want *want, size_t *counts, object given, size_t first
    ) except -1
    cpdef list to_list(self, text)
    cdef list _plain_list(self, text)
    cdef object _one(self, text, result_kind kind, size_t limit)
    cdef bbpe_encode_want _want(self, size_t limit, bint keeps) noexcept
    cdef size_t _group(
        self, TextGroup group, bbpe_encode_state *state, object texts, size_t start, size_t end, const bbpe_encode_want *want
    ) except 0
    cdef tuple _part(self, const bbpe_stretch *stretch, const bbpe_stretch_source *source)


# A call as C has it, with the searches as they are now.
ctypedef struct call_view:
    bbpe_pipeline_call c
    bbpe_token_search tokens, normalized, refused


cdef void view_call(call_view *self, Call call, host_call *host) noexcept
cdef int solve(const bbpe_pipeline_run *run, Call call, const call_view *view, object text) except -1
cdef object array_of(const uint32_t *ids, size_t count)
