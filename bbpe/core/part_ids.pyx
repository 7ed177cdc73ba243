"""Ids of parts of a work on their way to the room that all threads fill (`bbpe.parts`)."""
cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from bbpe.core.c_encode cimport BBPE_ENCODE_SLACK
from bbpe.core.c_room cimport bbpe_room_open
from bbpe.core.id_room cimport IdRoom


@cython.no_gc_clear  # what the state is given back to
cdef class PartIds:
    """What one thread encodes: its state, and the ids of parts in that state's memory that wait for their places.

    The state is given back when nobody, not even a thread that is copying, looks at its memory any more.
    """

    def __cinit__(self, parts not None, States states not None, size_t worker):
        self.parts, self.states, self.worker, self.waiting = parts, states, worker, set()
        self.bounds = parts.bounds
        self.state = states.borrow(parts.share, worker)

    def __dealloc__(self):
        if self.state != NULL:
            self.states.give_back(self.state, self.worker)

    cdef bint take(self) except -1:
        """Take the next parts; False, once all parts have their places, when there are none."""
        self.taken = self.parts.take(self.worker)
        if self.taken is None:
            self.parts.finish()
            return False
        self.first, self.stop = self.taken.start, self.taken.stop
        self.most = self.bounds[self.stop] - self.bounds[self.first]
        self.needed = self.most + BBPE_ENCODE_SLACK
        return True

    cdef uint32_t *memory(self) except NULL:
        """Where the ids of these parts are to be written."""
        cdef IdRoom room = self.parts.room
        self.start = self._find()
        if self.start < 0:
            self.parts.copy(self.may_begin)
            self.start = self._find()
        place = self.parts.place(self.taken)
        self.is_placed = place is not None
        if self.is_placed:
            return room.ids + <size_t>place
        if (self.start + self.needed) * sizeof(uint32_t) > self.state.early.size and not bbpe_room_open(
                &self.state.early, max(self.needed, <size_t>self.parts.most_waiting) * sizeof(uint32_t)):
            raise MemoryError("bbpe could not allocate memory")
        return <uint32_t *>self.state.early.start + self.start

    cdef Py_ssize_t _find(self) except -2:
        """The first place in the memory where there is room for them, or -1; 0 if nothing waits, so that it may move."""
        cdef size_t at = 0, start, end, room = self.state.early.size // sizeof(uint32_t)
        for start, end in self.parts.waiting(self):
            if at + self.needed <= start:
                return at
            at = max(at, end)
        return at if at == 0 or at + self.needed <= room else -1

    def may_begin(self):
        """Whether there is memory for these parts, or their place."""
        return self._find() >= 0 or self.parts.place(self.taken) is not None

    cdef int add(self, size_t count) except -1:
        """They have been encoded to so many ids."""
        if self.is_placed:
            self.parts.add(self.taken, count)
        else:
            self.parts.add(self.taken, count, self, self.start)
        self.parts.copy(at_once)
        return 0

    def copy(self, size_t start, size_t count, IdRoom room, size_t to):
        """Copy ids that have waited to their place."""
        with nogil:
            memcpy(room.ids + to, <uint32_t *>self.state.early.start + start, count * sizeof(uint32_t))


def at_once():
    return True
