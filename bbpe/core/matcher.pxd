from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_pipeline cimport bbpe_added_token, bbpe_matcher, bbpe_matcher_linear, bbpe_matches, bbpe_token_search


cdef class Linear:
    cdef bbpe_matcher_linear c


cdef class Best:
    cdef uint32_t *tokens


cdef class TokenMatcher:
    cdef bbpe_matcher c
    cdef size_t *lengths
    cdef bbpe_added_token *added
    cdef bint has_options, has_words
    cdef bytes words
    cdef readonly object tokens  # stub: tuple[bytes, ...]
    cdef Linear linear  # made when a text needs it


cdef class Policy:
    cdef readonly TokenMatcher matcher
    cdef uint64_t *bits
    cdef Best best  # made when a text needs it
    cdef Policy then
    cdef bbpe_token_search then_search
    cdef size_t own_longest
    cdef readonly size_t longest

    cdef bbpe_token_search search(self) noexcept
    cdef int make_linear(self) except -1
    cdef int _find_linear(self, const uint8_t *text, size_t n, size_t most, size_t *at, bbpe_matches *found) except -1


cdef class TokenLevels:
    cdef const uint64_t **tokens
    cdef const uint64_t **normalized
    cdef readonly size_t count
    cdef tuple kept
