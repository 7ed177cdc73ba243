"""Counting pretokens: the only step of training whose cost grows with the corpus."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport rint
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy

import numpy as np

from bbpe.core.c_common cimport BBPE_OK, BBPE_TOO_LARGE, bbpe_status
from bbpe.core.c_pretoken_table cimport (
    bbpe_pretoken_entry, bbpe_pretoken_table_add, bbpe_pretoken_table_free, bbpe_pretoken_table_init,
)
from bbpe.core.split cimport Splitter
from bbpe.core.status cimport check

cdef enum:
    BLOCK = 256


cdef class PretokenTable:
    """Pretokens and their 64-bit counts, in the order of first appearance.

    One thread at a time may change a table; `update` adds up tables that threads filled apart.
    """

    def __cinit__(self):
        check(bbpe_pretoken_table_init(&self.table))

    def __dealloc__(self):
        bbpe_pretoken_table_free(&self.table)

    def __len__(self):
        return self.table.count

    def add(self, bytes pretoken not None, uint64_t times):
        """Count one pretoken `times` times."""
        check(self._count(pretoken, len(pretoken), times))

    def update(self, PretokenTable other not None):
        """Add all counts of another table, in its order; returns the number that each of them has here, int64[n]."""
        cdef bbpe_status status = BBPE_OK
        cdef const bbpe_pretoken_entry *entry
        cdef bbpe_pretoken_entry *mine
        cdef size_t i
        numbers = np.empty(other.table.count, dtype=np.int64)
        cdef int64_t[::1] out = numbers
        with nogil:
            for i in range(other.table.count):
                entry = other.table.entries + i
                status = bbpe_pretoken_table_add(&self.table, other.table.arena + entry.start, entry.length, &mine)
                if status != BBPE_OK:
                    break
                if mine.value + entry.value < mine.value:
                    status = BBPE_TOO_LARGE
                    break
                mine.value += entry.value
                out[i] = mine - self.table.entries
        check(status)
        return numbers

    def count_text(self, data, size_t start, size_t stop, Splitter splitter not None, bint by_line, size_t longest=0):
        """Count the pretokens of data[start:stop] that are split as one text, or line by line.

        With `longest`, a pretoken of more bytes is counted as pieces of so many; `cut` says how many were.
        Returns where the next call goes on: at most about 8 MiB are done at a time, so that Ctrl-C is heard.
        """
        cdef Py_buffer view
        cdef bbpe_status status = BBPE_OK
        cdef const uint8_t *text
        cdef const uint8_t *newline
        cdef size_t pause, end
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if stop > <size_t>view.len or start > stop:
                raise ValueError(f"{start}:{stop} is not within the text of {view.len} bytes")
            text = <const uint8_t *>view.buf
            pause = min(stop, start + (8 << 20))
            with nogil:
                while start < pause and status == BBPE_OK:
                    end = stop
                    if by_line:
                        newline = <const uint8_t *>memchr(text + start, c'\n', stop - start)
                        if newline != NULL:
                            end = <size_t>(newline - text) + 1
                    status = self._count_region(splitter, text, &start, end, pause, longest)
            check(status)
            return start
        finally:
            PyBuffer_Release(&view)

    def count_spans(
        self, data, const int64_t[::1] starts not None, const int64_t[::1] ends not None, Splitter splitter not None,
        bint by_line, size_t longest=0,
    ):
        """Count the pretokens of the texts data[starts[i]:ends[i]], int64[n] each; options as in `count_text`."""
        cdef Py_buffer view
        cdef bbpe_status status = BBPE_OK
        cdef const uint8_t *text
        cdef const uint8_t *newline
        cdef size_t start, stop, end
        cdef Py_ssize_t i
        if starts.shape[0] != ends.shape[0]:
            raise ValueError(f"{starts.shape[0]} starts and {ends.shape[0]} ends; expected one of each a text")
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            for i in range(starts.shape[0]):
                if not 0 <= starts[i] <= ends[i] <= view.len:
                    raise ValueError(f"{starts[i]}:{ends[i]} is not within the texts of {view.len} bytes")
            text = <const uint8_t *>view.buf
            with nogil:
                for i in range(starts.shape[0]):
                    start, stop = <size_t>starts[i], <size_t>ends[i]
                    while start < stop and status == BBPE_OK:
                        end = stop
                        if by_line:
                            newline = <const uint8_t *>memchr(text + start, c'\n', stop - start)
                            if newline != NULL:
                                end = <size_t>(newline - text) + 1
                        status = self._count_region(splitter, text, &start, end, end, longest)
                    if status != BBPE_OK:
                        break
            check(status)
        finally:
            PyBuffer_Release(&view)

    def count_given(self, data, const int64_t[::1] ends not None):
        """Count pretokens whose ends in `data` are given, int64[n]; an empty one is skipped."""
        cdef Py_buffer view
        cdef bbpe_status status = BBPE_OK
        cdef size_t start = 0, i, count = <size_t>ends.shape[0]
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if count and ends[count - 1] > view.len:
                raise ValueError(f"the last pretoken ends at {ends[count - 1]}, the text at {view.len}")
            with nogil:
                for i in range(count):
                    if <size_t>ends[i] > start:
                        status = self._count(<const uint8_t *>view.buf + start, ends[i] - start, 1)
                        if status != BBPE_OK:
                            break
                    start = ends[i]
            check(status)
        finally:
            PyBuffer_Release(&view)

    def items(self):
        """All (pretoken, count), in the order of first appearance."""
        cdef size_t i
        cdef const bbpe_pretoken_entry *entry
        result = []
        for i in range(self.table.count):
            entry = self.table.entries + i
            result.append(((<const char *>self.table.arena)[entry.start:entry.start + entry.length], entry.value))
        return result

    def counts(self):
        """The counts alone, uint64[n]."""
        cdef size_t i
        result = np.empty(self.table.count, dtype=np.uint64)
        cdef uint64_t[::1] out = result
        for i in range(self.table.count):
            out[i] = self.table.entries[i].value
        return result

    def arrays(self):
        """All pretokens in the order of first appearance: (uint8[total], int64[n + 1] offsets, uint64[n] counts)."""
        cdef size_t i, n = self.table.count
        cdef int64_t at = 0
        cdef const bbpe_pretoken_entry *entry
        data, offsets = np.empty(self.table.arena_used, dtype=np.uint8), np.empty(n + 1, dtype=np.int64)
        counts = np.empty(n, dtype=np.uint64)
        cdef uint8_t[::1] bytes_out = data
        cdef int64_t[::1] offsets_out = offsets
        cdef uint64_t[::1] counts_out = counts
        with nogil:
            for i in range(n):
                entry = self.table.entries + i
                offsets_out[i], counts_out[i] = at, entry.value
                if entry.length:
                    memcpy(&bytes_out[at], self.table.arena + entry.start, entry.length)
                at += entry.length
            offsets_out[n] = at
        return data, offsets, counts

    def add_arrays(
        self, const uint8_t[::1] data not None, const int64_t[::1] offsets not None,
        const uint64_t[::1] counts not None,
    ):
        """Add pretokens data[offsets[i]:offsets[i + 1]] times counts[i], in their order; shapes as in `arrays`."""
        cdef bbpe_status status = BBPE_OK
        cdef Py_ssize_t i, n = counts.shape[0]
        cdef const uint8_t *text = &data[0] if data.shape[0] else NULL
        if offsets.shape[0] != n + 1 or (n and not 0 <= offsets[0] <= offsets[n] <= data.shape[0]):
            raise ValueError(f"{offsets.shape[0]} offsets for {n} counts and {data.shape[0]} bytes do not fit together")
        with nogil:
            for i in range(n):
                if offsets[i] > offsets[i + 1]:
                    status = BBPE_TOO_LARGE
                else:
                    status = self._count(text + offsets[i], <size_t>(offsets[i + 1] - offsets[i]), counts[i])
                if status != BBPE_OK:
                    break
        check(status)

    def scale(self, double weight):
        """A new table of the counts times `weight`, rounded half to even, at least 1 where there was one."""
        cdef PretokenTable result = PretokenTable()
        cdef bbpe_status status = BBPE_OK
        cdef const bbpe_pretoken_entry *entry
        cdef size_t i
        cdef double product
        with nogil:
            for i in range(self.table.count):
                entry = self.table.entries + i
                product = rint(<double>entry.value * weight)
                if product >= 18446744073709551616.0:
                    status = BBPE_TOO_LARGE
                    break
                status = result._count(
                    self.table.arena + entry.start, entry.length, max(<uint64_t>product, <uint64_t>1) if entry.value else 0)
                if status != BBPE_OK:
                    break
        check(status)
        return result

    @property
    def nbytes(self):
        """Bytes of memory that the table holds."""
        return (
            self.table.entries_capacity * sizeof(bbpe_pretoken_entry) + self.table.arena_capacity
            + (self.table.mask + 1) * sizeof(uint32_t)
        )

    cdef bbpe_status _count(self, const uint8_t *pretoken, size_t n, uint64_t times) noexcept nogil:
        cdef bbpe_pretoken_entry *entry
        cdef bbpe_status status = bbpe_pretoken_table_add(&self.table, pretoken, n, &entry)
        if status == BBPE_OK:
            if entry.value + times < entry.value:
                return BBPE_TOO_LARGE
            entry.value += times
        return status

    cdef bbpe_status _count_region(self, Splitter splitter, const uint8_t *text, size_t *start, size_t n, size_t stop, size_t longest) noexcept nogil:
        """Count from `*start` on; stops at n, the end of the region, or soon after `stop`."""
        cdef size_t ends[BLOCK]
        cdef size_t found, i
        cdef bbpe_status status
        while start[0] < n and start[0] < stop:
            found = splitter.fill(&splitter.row, text, start[0], n, ends, BLOCK)
            for i in range(found):
                if longest and ends[i] - start[0] > longest:
                    self.cut += 1
                    while ends[i] - start[0] > longest:
                        status = self._count(text + start[0], longest, 1)
                        if status != BBPE_OK:
                            return status
                        start[0] += longest
                status = self._count(text + start[0], ends[i] - start[0], 1)
                if status != BBPE_OK:
                    return status
                start[0] = ends[i]
        return BBPE_OK
