"""What one merge does to the pairs with its neighbours, gathered by neighbour id.

Hashing and heap work then happen once a distinct neighbour and not once an occurrence.
"""
from libc.stdint cimport int64_t, uint32_t

from bbpe.core.c_common cimport BBPE_NO_MEMORY, BBPE_OK, bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new, bbpe_memory_zeroed

ctypedef struct change:
    int64_t count         # the weight of the occurrences
    uint32_t born         # how many there are
    uint32_t filled       # how many positions have been placed
    uint32_t *positions   # of the new pair; NULL when it can never be merged; owned by the pair

ctypedef struct neighbours:
    change *by_id
    uint32_t *ids         # those that have a change, in order of appearance
    size_t count


cdef inline bbpe_status neighbours_init(neighbours *self, size_t ids) noexcept nogil:
    self.by_id = <change *>bbpe_memory_zeroed(ids, sizeof(change))
    self.ids = <uint32_t *>bbpe_memory_new(ids, sizeof(uint32_t))
    self.count = 0
    return BBPE_OK if self.by_id != NULL and self.ids != NULL else BBPE_NO_MEMORY


cdef inline void neighbours_free(neighbours *self) noexcept nogil:
    bbpe_memory_free(self.by_id)
    bbpe_memory_free(self.ids)


cdef inline void neighbours_note(neighbours *self, uint32_t token, int64_t weight) noexcept nogil:
    """One more occurrence beside `token`."""
    cdef change *made = &self.by_id[token]
    if made.born == 0:
        self.ids[self.count] = token
        self.count += 1
    made.born += 1
    made.count += weight


cdef inline void neighbours_place(neighbours *self, uint32_t token, uint32_t position) noexcept nogil:
    """Write where the new pair with `token` is, if it has a list."""
    cdef change *made = &self.by_id[token]
    if made.positions != NULL:
        made.positions[made.filled] = position
        made.filled += 1


cdef inline void neighbours_clear(neighbours *self) noexcept nogil:
    cdef size_t i
    for i in range(self.count):
        self.by_id[self.ids[i]] = change(0, 0, 0, NULL)
    self.count = 0
