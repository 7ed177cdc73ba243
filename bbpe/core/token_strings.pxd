"""The bytes of tokens as a trainer makes them: one arena, and where each id begins and how long it is."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from bbpe.core.c_common cimport BBPE_NO_MEMORY, BBPE_OK, bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new, bbpe_memory_reserve

ctypedef struct token_strings:
    uint8_t *arena
    size_t used
    size_t capacity
    uint64_t *starts
    uint32_t *lengths


cdef inline bbpe_status token_strings_init(token_strings *self, size_t ids, const uint8_t *byte_order) noexcept nogil:
    """Room for `ids` tokens, of which the first 256 are the single bytes."""
    cdef size_t i
    self.starts = <uint64_t *>bbpe_memory_new(ids, sizeof(uint64_t))
    self.lengths = <uint32_t *>bbpe_memory_new(ids, sizeof(uint32_t))
    self.arena = <uint8_t *>bbpe_memory_new(256, 1)
    if self.starts == NULL or self.lengths == NULL or self.arena == NULL:
        return BBPE_NO_MEMORY
    memcpy(self.arena, byte_order, 256)
    self.used = self.capacity = 256
    for i in range(256):
        self.starts[i] = i
        self.lengths[i] = 1
    return BBPE_OK


cdef inline void token_strings_free(token_strings *self) noexcept nogil:
    bbpe_memory_free(self.arena)
    bbpe_memory_free(self.starts)
    bbpe_memory_free(self.lengths)


cdef inline bbpe_status token_strings_join(
    token_strings *self, uint32_t token, uint32_t left, uint32_t right
) noexcept nogil:
    """Make `token` the concatenation of two others."""
    cdef uint32_t n = self.lengths[left], m = self.lengths[right]
    cdef void *arena = bbpe_memory_reserve(self.arena, &self.capacity, self.used + n + m, 1)
    if arena == NULL:
        return BBPE_NO_MEMORY
    self.arena = <uint8_t *>arena
    memcpy(self.arena + self.used, self.arena + self.starts[left], n)
    memcpy(self.arena + self.used + n, self.arena + self.starts[right], m)
    self.starts[token] = self.used
    self.lengths[token] = n + m
    self.used += n + m
    return BBPE_OK


cdef inline int token_strings_compare(const token_strings *self, uint32_t a, uint32_t b) noexcept nogil:
    """Lexicographic order of two tokens: negative, zero or positive."""
    cdef uint32_t n = self.lengths[a], m = self.lengths[b]
    cdef int order = memcmp(self.arena + self.starts[a], self.arena + self.starts[b], min(n, m))
    if order != 0:
        return order
    return <int>(n > m) - <int>(n < m)
