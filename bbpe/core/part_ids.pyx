"""Ids of parts of a work on their way to the room that all threads fill (`bbpe.parts`)."""
cimport cython
from libc.stdint cimport uint32_t
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
        self.parts, self.states, self.worker = parts, states, worker
        self.state = states.borrow(parts.share, worker)

    def __dealloc__(self):
        if self.state != NULL:
            self.states.give_back(self.state, self.worker)

    cdef bint take(self) except -1:
        """Take the next part; False, once all parts have their places, when there is none."""
        number = self.parts.take(self.worker)
        if number is None:
            self.parts.finish()
            return False
        self.number, self.most = number, self.parts.most[number]
        return True

    cdef uint32_t *memory(self) except NULL:
        """Where the part's ids are to be written."""
        cdef IdRoom room = self.parts.room
        cdef size_t size
        if not self._has_room():
            self.parts.copy(self.may_begin)
        place = self.parts.place(self.number)
        self.is_placed = place is not None
        if self.is_placed:
            return room.ids + <size_t>place
        if self.waiting == 0:
            self.used = 0
            size = max(self.most, <size_t>self.parts.most_waiting) + BBPE_ENCODE_SLACK
            if not bbpe_room_open(&self.state.early, size * sizeof(uint32_t)):
                raise MemoryError("bbpe could not allocate memory")
        return <uint32_t *>self.state.early.start + self.used

    cdef bint _has_room(self) noexcept:
        return (self.used + self.most + BBPE_ENCODE_SLACK) * sizeof(uint32_t) <= self.state.early.size

    def may_begin(self):
        """Whether there is memory for the part: none that somebody may copy from, or its place."""
        return self.waiting == 0 or self.parts.place(self.number) is not None

    cdef int add(self, size_t count) except -1:
        """The part has been encoded to so many ids."""
        if self.is_placed:
            self.parts.add(self.number, count)
        else:
            self.parts.add(self.number, count, self, self.used)
            self.used += count
        self.parts.copy(at_once)
        return 0

    def copy(self, size_t start, size_t count, IdRoom room, size_t to):
        """Copy ids that have waited to their place."""
        with nogil:
            memcpy(room.ids + to, <uint32_t *>self.state.early.start + start, count * sizeof(uint32_t))


def at_once():
    return True
