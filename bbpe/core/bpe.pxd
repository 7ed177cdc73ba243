from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_pair_table cimport bbpe_pair_table
from bbpe.core.c_pretoken_table cimport bbpe_pretoken_table
from bbpe.core.heap cimport heap

# What one call mutates while it merges; zeroed before use, freed with scratch_free.
ctypedef struct scratch:
    uint32_t *slots
    size_t capacity
    heap queue

cdef void scratch_free(scratch *self) noexcept nogil


cdef class Model:
    cdef bbpe_pair_table merges       # pair of ids -> rank << 32 | id
    cdef bbpe_pretoken_table tokens   # bytes -> id
    cdef uint32_t byte_ids[256]
    cdef uint32_t *lengths            # by id; 0 where there is no token
    cdef readonly bint whole_pretokens
    cdef size_t longest

    cdef int _add_token(self, uint32_t token_id, bytes token) except -1
    cdef int _add_all_splits(self) except -1
    cdef bbpe_status encode(
        self, scratch *work, const uint8_t *pretoken, size_t n, uint64_t limit, uint32_t *ids, size_t *count
    ) noexcept nogil
    cdef uint64_t _value(self, uint32_t left, uint32_t right, uint64_t limit) noexcept nogil
    cdef size_t _merge_short(self, const uint8_t *pretoken, size_t n, uint64_t limit, uint32_t *ids) noexcept nogil
    cdef bbpe_status _merge_long(
        self, scratch *work, const uint8_t *pretoken, size_t n, uint64_t limit, uint32_t *ids, size_t *count
    ) noexcept nogil
    cdef bint _push(self, scratch *work, size_t left, uint64_t limit) noexcept nogil
