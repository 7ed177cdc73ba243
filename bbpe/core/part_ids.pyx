"""Ids of parts of a work on their way from a thread's own memory to the room that all threads fill (`bbpe.parts`)."""
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from collections import deque

from bbpe.core.id_room cimport IdRoom

cdef enum:
    MOST_WAITING = 2  # parts, each with up to 1 MB of ids, until a thread that is ahead waits for the others


cdef class PartIds:
    """What one thread has encoded: ids one behind another, `used` of them, of parts whose turn has not come.

    So a thread that is ahead goes on: having waited for the other after each part, two lost 6 % of their time.
    """

    def __cinit__(self, parts not None):
        self.parts = parts
        self.waiting = deque()

    cdef int add(self, const uint32_t *ids, size_t number, size_t count) except -1:
        """A part has been encoded to ids[used:used + count]; those whose turn has come are copied to their places."""
        self.waiting.append((number, self.used, count))
        self.used += count
        return self._move(ids, len(self.waiting) >= MOST_WAITING)

    cdef int finish(self, const uint32_t *ids) except -1:
        """Copy all, once the parts before them have been."""
        return self._move(ids, True)

    cdef int _move(self, const uint32_t *ids, bint waits) except -1:
        cdef size_t start, count, to
        cdef IdRoom room = self.parts.room
        while self.waiting:
            number, start, count = self.waiting[0]
            place = self.parts.place(number, count, waits)
            if place is None:
                return 0
            to = place
            with nogil:
                memcpy(room.ids + to, ids + start, count * sizeof(uint32_t))
            self.waiting.popleft()
        self.used = 0
        return 0
