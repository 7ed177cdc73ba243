"""The weights of positions: runs of positions that share one count, so that a weight is a short search."""
from libc.stdint cimport int64_t, uint32_t

from bbpe.core.c_common cimport BBPE_NO_MEMORY, BBPE_OK, bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new

ctypedef struct segments:
    uint32_t *starts
    int64_t *counts
    size_t count


cdef inline bbpe_status segments_init(segments *self, size_t limit) noexcept nogil:
    self.starts = <uint32_t *>bbpe_memory_new(limit, sizeof(uint32_t))
    self.counts = <int64_t *>bbpe_memory_new(limit, sizeof(int64_t))
    self.count = 0
    return BBPE_OK if self.starts != NULL and self.counts != NULL else BBPE_NO_MEMORY


cdef inline void segments_free(segments *self) noexcept nogil:
    bbpe_memory_free(self.starts)
    bbpe_memory_free(self.counts)


cdef inline void segments_append(segments *self, uint32_t start, int64_t count) noexcept nogil:
    """From position `start` on the weight is `count`."""
    if self.count == 0 or self.counts[self.count - 1] != count:
        self.starts[self.count] = start
        self.counts[self.count] = count
        self.count += 1


cdef inline size_t segments_find(const segments *self, uint32_t p, size_t at) noexcept nogil:
    """The segment of position p, which is segment `at` or a later one: gallop, then bisect."""
    cdef size_t step = 1, high, middle
    while at + step < self.count and self.starts[at + step] <= p:
        at += step
        step *= 2
    high = min(at + step, self.count)
    while high - at > 1:
        middle = at + (high - at) // 2
        if self.starts[middle] <= p:
            at = middle
        else:
            high = middle
    return at
