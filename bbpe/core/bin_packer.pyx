"""Documents into rows of at most n ids.

"Best fit" takes the documents of a block by falling length, and puts each into the row with the least room that has
enough.  Room is a whole number below n, so that rows are found by their room:

    stacks[room]    the last row with so much room, which links to the one before
    bits, words     which stacks have rows, and which words of `bits` are not 0: the next stack is found by a few words
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from bbpe.lazy import np

cdef enum:
    BLOCK = 1 << 16  # documents that are packed together, whose numbers have 16 bits
    FULL = 31        # the bit of the second number of a row that one document fills

cdef extern from "base/bits.h" nogil:
    unsigned bbpe_bits_lowest(uint64_t x)


cdef class BinPacker:
    """Packs blocks of documents into rows of `n` ids, by best fit or, next fit, in order.

    A document of n ids or more fills rows of its own, and its rest is packed, unless longer ones are left out (`drops`).
    """
    cdef int64_t n
    cdef bint is_best, drops
    cdef int32_t[::1] stacks, rooms, links, of_document
    cdef uint64_t[::1] bits, words

    def __init__(self, int64_t n, bint is_best, bint drops):
        if n < 1:
            raise ValueError(f"n is {n}; expected at least 1")
        self.n, self.is_best, self.drops = n, is_best, drops
        if is_best:
            self.stacks = np.full(n, -1, np.int32)
            self.bits, self.words = np.zeros(n // 64 + 1, np.uint64), np.zeros(n // 4096 + 1, np.uint64)
            self.rooms, self.links, self.of_document = (np.empty(BLOCK, np.int32) for _ in range(3))

    def pack(self, const int32_t[::1] lengths not None) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint16]]:
        """The rows of a block, uint32[rows, 2], and its documents in the order of rows, uint16[m].

        A row is its first place in that order and how many documents it has, or, with the highest bit of the second
        number, a document and which of its full rows this is.
        """
        cdef int64_t i, most = 0, count = 0, length
        cdef Py_ssize_t documents = lengths.shape[0]
        cdef uint32_t[:, ::1] rows
        cdef uint16_t[::1] order
        if documents > BLOCK:
            raise ValueError(f"a block has {documents} documents; expected at most {BLOCK}")
        for i in range(documents):
            length = lengths[i]
            if length < 0:
                raise ValueError(f"document {i} of the block has {length} ids; expected at least 0")
            if not self.left_out(length):
                most += length // self.n + (length % self.n > 0)
        table, numbers = np.empty((most, 2), np.uint32), np.empty(documents, np.uint16)
        rows, order = table, numbers
        cdef int64_t items = 0
        with nogil:
            if self.is_best:
                count = self.full_rows(lengths, rows)
                items = self.best_fit(lengths, rows, order, &count)
            else:
                items = self.next_fit(lengths, rows, order, &count)
        return table[:count].copy(), numbers[:items].copy()

    cdef inline bint left_out(self, int64_t length) noexcept nogil:
        return self.drops and length > self.n

    cdef int64_t full_rows(self, const int32_t[::1] lengths, uint32_t[:, ::1] rows) noexcept nogil:
        """Write the rows that one document fills; returns their number."""
        cdef int64_t i, piece, count = 0
        for i in range(lengths.shape[0]):
            if not self.left_out(lengths[i]):
                for piece in range(lengths[i] // self.n):
                    rows[count, 0], rows[count, 1] = <uint32_t>i, <uint32_t>1 << FULL | <uint32_t>piece
                    count += 1
        return count

    cdef int64_t next_fit(
        self, const int32_t[::1] lengths, uint32_t[:, ::1] rows, uint16_t[::1] order, int64_t *count
    ) noexcept nogil:
        """Write rows of documents in order; returns the number of documents in them."""
        cdef int64_t i, piece, length, room = 0, made = 0, items = 0
        for i in range(lengths.shape[0]):
            length = lengths[i]
            if length == 0 or self.left_out(length):
                continue
            if length >= self.n:
                for piece in range(length // self.n):
                    rows[made, 0], rows[made, 1] = <uint32_t>i, <uint32_t>1 << FULL | <uint32_t>piece
                    made += 1
                length, room = length % self.n, 0
                if length == 0:
                    continue
            if length > room:
                rows[made, 0], rows[made, 1], room = <uint32_t>items, 0, self.n
                made += 1
            rows[made - 1, 1] += 1
            room -= length
            order[items] = <uint16_t>i
            items += 1
        count[0] = made
        return items

    cdef int64_t best_fit(
        self, const int32_t[::1] lengths, uint32_t[:, ::1] rows, uint16_t[::1] order, int64_t *count
    ) noexcept nogil:
        """Write rows of documents, each where the least room is left; returns the number of documents in them."""
        cdef int64_t i, items, row, room, length, first = count[0], made = 0, at = 0
        items = self.by_length(lengths, order)
        for i in range(items):
            length = lengths[order[i]] % self.n
            room = self.least_room(length)
            if room < 0:
                row, room = made, self.n
                made += 1
            else:
                row = self.stacks[room]
                self.stacks[room] = self.links[row]
                if self.stacks[room] < 0:
                    self.clear(room)
            room -= length
            self.of_document[order[i]] = <int32_t>row
            self.rooms[row] = <int32_t>room
            if room:
                self.links[row], self.stacks[room] = self.stacks[room], <int32_t>row
                self.bits[room >> 6] |= <uint64_t>1 << (room & 63)
                self.words[room >> 12] |= <uint64_t>1 << (room >> 6 & 63)
        for row in range(made):
            if self.rooms[row]:
                self.stacks[self.rooms[row]] = -1
                self.clear(self.rooms[row])
            self.links[row] = 0
        # documents of a row in the order of the corpus
        for i in range(items):
            self.links[self.of_document[order[i]]] += 1
        for row in range(made):
            rows[first + row, 0], rows[first + row, 1] = <uint32_t>at, <uint32_t>self.links[row]
            at += self.links[row]
            self.links[row] = <int32_t>(at - self.links[row])
        for i in range(lengths.shape[0]):
            if lengths[i] % self.n and not self.left_out(lengths[i]):
                row = self.of_document[i]
                order[self.links[row]] = <uint16_t>i
                self.links[row] += 1
        count[0] = first + made
        return items

    cdef int64_t by_length(self, const int32_t[::1] lengths, uint16_t[::1] order) noexcept nogil:
        """Write the documents that have a rest by falling length of it, equal ones in order; returns their number.

        Two passes over 16 bits each, the low ones first: `links` and `rooms` have room for a count of each value.
        """
        cdef int64_t i, value, items = 0, at
        cdef int32_t shift, held, rest, most = 0
        for i in range(lengths.shape[0]):
            rest = <int32_t>(lengths[i] % self.n)
            if rest and not self.left_out(lengths[i]):
                order[items] = <uint16_t>i
                items += 1
                most = max(most, rest)
        for shift in range(0, 32 if most >> 16 else 16, 16):
            for value in range(BLOCK):
                self.links[value] = 0
            for i in range(items):
                self.links[(lengths[order[i]] % self.n) >> shift & (BLOCK - 1)] += 1
            at = 0
            for value in range(BLOCK - 1, -1, -1):
                held = self.links[value]
                self.links[value] = <int32_t>at
                at += held
            for i in range(items):
                value = (lengths[order[i]] % self.n) >> shift & (BLOCK - 1)
                self.rooms[self.links[value]] = order[i]
                self.links[value] += 1
            for i in range(items):
                order[i] = <uint16_t>self.rooms[i]
        return items

    cdef inline void clear(self, int64_t room) noexcept nogil:
        self.bits[room >> 6] &= ~(<uint64_t>1 << (room & 63))
        if self.bits[room >> 6] == 0:
            self.words[room >> 12] &= ~(<uint64_t>1 << (room >> 6 & 63))

    cdef int64_t least_room(self, int64_t length) noexcept nogil:
        """Return the least room of a row that is no less than a length; -1 when no row has it."""
        cdef int64_t word = length >> 6, group
        cdef uint64_t found = self.bits[word] & ~<uint64_t>0 << (length & 63)
        if found:
            return word << 6 | bbpe_bits_lowest(found)
        word += 1
        group = word >> 6
        if group >= self.words.shape[0]:
            return -1
        found = self.words[group] & ~<uint64_t>0 << (word & 63)
        while found == 0:
            group += 1
            if group >= self.words.shape[0]:
                return -1
            found = self.words[group]
        word = group << 6 | bbpe_bits_lowest(found)
        return word << 6 | bbpe_bits_lowest(self.bits[word])
