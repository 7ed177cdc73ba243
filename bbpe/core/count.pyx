"""Counting pretokens: the only step of training whose cost grows with the corpus."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr

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
        """Add all counts of another table, in its order."""
        cdef bbpe_status status = BBPE_OK
        cdef const bbpe_pretoken_entry *entry
        cdef size_t i
        with nogil:
            for i in range(other.table.count):
                entry = other.table.entries + i
                status = self._count(other.table.arena + entry.start, entry.length, entry.value)
                if status != BBPE_OK:
                    break
        check(status)

    def count_text(self, data, size_t start, size_t stop, Splitter splitter not None, bint by_line):
        """Count the pretokens of data[start:stop] that are split as one text, or line by line.

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
                    status = self._count_region(splitter, text, &start, end, pause)
            check(status)
            return start
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

    cdef bbpe_status _count(self, const uint8_t *pretoken, size_t n, uint64_t times) noexcept nogil:
        cdef bbpe_pretoken_entry *entry
        cdef bbpe_status status = bbpe_pretoken_table_add(&self.table, pretoken, n, &entry)
        if status == BBPE_OK:
            if entry.value + times < entry.value:
                return BBPE_TOO_LARGE
            entry.value += times
        return status

    cdef bbpe_status _count_region(self, Splitter splitter, const uint8_t *text, size_t *start, size_t n, size_t stop) noexcept nogil:
        """Count from `*start` on; stops at n, the end of the region, or soon after `stop`."""
        cdef size_t ends[BLOCK]
        cdef size_t found, i
        cdef bbpe_status status
        while start[0] < n and start[0] < stop:
            found = splitter.fill(&splitter.row, text, start[0], n, ends, BLOCK)
            for i in range(found):
                status = self._count(text + start[0], ends[i] - start[0], 1)
                if status != BBPE_OK:
                    return status
                start[0] = ends[i]
        return BBPE_OK
