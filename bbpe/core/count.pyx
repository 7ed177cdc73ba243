"""Counting pretokens: the only step of training whose cost grows with the corpus."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from bbpe.core.c_common cimport BBPE_OK, bbpe_status
from bbpe.core.c_count_table cimport (
    bbpe_count_table_add, bbpe_count_table_bytes, bbpe_count_table_copy, bbpe_count_table_counts, bbpe_count_table_free,
    bbpe_count_table_init, bbpe_count_table_memory, bbpe_count_table_order, bbpe_count_table_prefetch,
    bbpe_count_table_prefetch_bytes, bbpe_count_table_update,
)
from bbpe.core.split cimport Splitter
from bbpe.core.status cimport check

cdef enum:
    BLOCK = 512  # ends at a time
    LEAST = 64   # room that the splitter wants for ends


cdef class PretokenTable:
    """Pretokens and their 64-bit counts, in the order of first appearance.

    One thread at a time may change a table; `update` adds up tables that threads filled apart.  Raises
    `OverflowError` beyond 2**32 - 2 different pretokens, 32 GiB of those of more than 15 bytes, or a count of 2**64.
    """

    def __cinit__(self):
        check(bbpe_count_table_init(&self.table))

    def __dealloc__(self):
        bbpe_count_table_free(&self.table)

    def __len__(self):
        return self.table.count

    @property
    def nbytes(self):
        """The bytes of memory that the table holds."""
        return bbpe_count_table_memory(&self.table)

    @property
    def pretoken_bytes(self):
        """The sum of the lengths of the different pretokens."""
        return self.table.bytes

    @property
    def total(self):
        """The sum of all counts, exact where it passes 64 bits."""
        cdef uint64_t low = 0, high = 0
        cdef size_t i
        with nogil:
            for i in range(self.table.mask + 1):  # the counts of empty slots are 0
                low += <uint32_t>self.table.slots[i].count
                high += self.table.slots[i].count >> 32
        return (<object>high << 32) + low

    @property
    def cut(self):
        """How many pretokens were longer than `longest` and counted as pieces."""
        return self.pieces

    def add(self, bytes pretoken not None, uint64_t times):
        """Count one pretoken `times` times."""
        cdef size_t end = len(pretoken)
        check(bbpe_count_table_add(&self.table, pretoken, end, 0, &end, &times, 1, 0, &self.pieces))

    def add_arrays(self, const uint8_t[::1] data not None, const int64_t[::1] offsets not None,
                   const uint64_t[::1] counts not None):
        """Count data[offsets[i]:offsets[i + 1]] counts[i] times, in order: the inverse of `arrays`.

        `data`: uint8[total], `offsets`: int64[n + 1], ascending, `counts`: uint64[n].
        """
        cdef size_t n = <size_t>counts.shape[0], size = <size_t>data.shape[0]
        cdef bbpe_status status = BBPE_OK
        if <size_t>offsets.shape[0] != n + 1:
            raise ValueError(f"there are {offsets.shape[0]} offsets for {n} counts; expected {n + 1}")
        _check_ascending(offsets, size)
        if n:
            with nogil:
                status = bbpe_count_table_add(
                    &self.table, &data[0] if size else NULL, size, <size_t>offsets[0], <const size_t *>&offsets[1],
                    &counts[0], n, 0, &self.pieces)
        check(status)

    def update(self, PretokenTable other not None):
        """Add all counts of another table, in its order; returns the number that each of them has here, int64[n]."""
        cdef bbpe_status status
        if other is self:
            other = self.scale(1)
        numbers = np.empty(other.table.count, dtype=np.int64)
        cdef int64_t[::1] out = numbers
        with nogil:
            status = bbpe_count_table_update(&self.table, &other.table, &out[0] if other.table.count else NULL)
            self.pieces += other.pieces
        check(status)
        return numbers

    def count_text(self, data, size_t start, size_t stop, Splitter splitter not None, size_t longest=0):
        """Count the pretokens of data[start:stop] that are split as one text, or as lines if that is the scheme's way.

        With `longest`, a pretoken of more bytes is counted as pieces of `longest` bytes, and `cut` goes up by one.
        Returns where the next call goes on: at most about 8 MiB are done at a time, so that Ctrl-C is heard.
        """
        cdef Py_buffer view
        cdef bbpe_status status = BBPE_OK
        cdef const uint8_t *text
        cdef size_t pause, begun, found = 0
        cdef size_t ends[BLOCK]
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if stop > <size_t>view.len or start > stop:
                raise ValueError(f"{start}:{stop} is not within the text of {view.len} bytes")
            text = <const uint8_t *>view.buf
            pause = min(stop, start + (8 << 20))
            begun = start
            with nogil:
                while start < pause and status == BBPE_OK:
                    found = splitter.fill(&splitter.row, text, start, stop, ends, BLOCK)
                    start = ends[found - 1]
                    status = bbpe_count_table_add(
                        &self.table, text, <size_t>view.len, begun, ends, NULL, found, longest, &self.pieces)
                    begun = start
            check(status)
            return start
        finally:
            PyBuffer_Release(&view)

    def count_spans(
        self, data, const int64_t[::1] starts not None, const int64_t[::1] ends not None, Splitter splitter not None,
        size_t longest=0,
    ):
        """Count the pretokens of the texts data[starts[i]:ends[i]], int64[n] each; options as in `count_text`."""
        cdef Py_buffer view
        cdef bbpe_status status = BBPE_OK
        cdef const uint8_t *text
        cdef size_t found[BLOCK]
        cdef size_t start, stop, first = 0, filled = 0
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
                        # small texts share a block: it is counted when it is full, or when there is a gap
                        if BLOCK - filled < LEAST or (filled and found[filled - 1] != start):
                            status = bbpe_count_table_add(
                                &self.table, text, <size_t>view.len, first, found, NULL, filled, longest, &self.pieces)
                            filled = 0
                        if filled == 0:
                            first = start
                        filled += splitter.fill(&splitter.row, text, start, stop, found + filled, BLOCK - filled)
                        start = found[filled - 1]
                    if status != BBPE_OK:
                        break
                if status == BBPE_OK and filled:
                    status = bbpe_count_table_add(
                        &self.table, text, <size_t>view.len, first, found, NULL, filled, longest, &self.pieces)
            check(status)
        finally:
            PyBuffer_Release(&view)

    def count_given(self, data, const int64_t[::1] ends not None, size_t longest=0):
        """Count pretokens whose ends in `data` are given, int64[n], ascending; an empty one is skipped."""
        cdef Py_buffer view
        cdef bbpe_status status = BBPE_OK
        cdef size_t n = <size_t>ends.shape[0]
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            _check_ascending(ends, <size_t>view.len)
            if n:
                with nogil:
                    status = bbpe_count_table_add(
                        &self.table, <const uint8_t *>view.buf, <size_t>view.len, 0, <const size_t *>&ends[0], NULL, n,
                        longest, &self.pieces)
            check(status)
        finally:
            PyBuffer_Release(&view)

    def arrays(self):
        """All pretokens and counts, in the order of first appearance.

        Returns `(data, offsets, counts)`: uint8[total], int64[n + 1] and uint64[n]; pretoken i is
        data[offsets[i]:offsets[i + 1]].
        """
        cdef size_t count = self.table.count, i, n
        data = np.empty(self.table.bytes, dtype=np.uint8)
        offsets = np.zeros(count + 1, dtype=np.int64)
        order = self.order()
        cdef const size_t[::1] slots = order
        cdef uint8_t[::1] data_of = data
        cdef int64_t[::1] offsets_of = offsets
        cdef const uint8_t *pretoken
        cdef size_t used = 0
        with nogil:
            for i in range(count):
                if i + 32 < count:
                    bbpe_count_table_prefetch(&self.table, slots[i + 32])
                    bbpe_count_table_prefetch_bytes(&self.table, slots[i + 16])
                pretoken = bbpe_count_table_bytes(&self.table, slots[i], &n)
                if n:
                    memcpy(&data_of[used], pretoken, n)
                used += n
                offsets_of[i + 1] = <int64_t>used
        return data, offsets, self.counts()

    def items(self):
        """All (pretoken, count), in the order of first appearance."""
        cdef const size_t[::1] slots = self.order()
        cdef size_t i, n
        cdef const uint8_t *pretoken
        result = []
        for i in range(self.table.count):
            pretoken = bbpe_count_table_bytes(&self.table, slots[i], &n)
            result.append(((<const char *>pretoken)[:n], self.table.slots[slots[i]].count))
        return result

    def counts(self):
        """The counts alone, uint64[n]."""
        result = np.empty(self.table.count, dtype=np.uint64)
        cdef uint64_t[::1] out = result
        if self.table.count:
            with nogil:
                bbpe_count_table_counts(&self.table, &out[0])
        return result

    def scale(self, double weight):
        """A new table of counts times `weight`, rounded half to even; what occurred still occurs once at least.

        Products are those of floats.  `ValueError` unless the weight is positive and finite, `OverflowError` when a
        product reaches 2**64.
        """
        if not 0 < weight < float("inf"):
            raise ValueError(f"weight is {weight}; expected a positive, finite number")
        cdef PretokenTable result = PretokenTable.__new__(PretokenTable)
        bbpe_count_table_free(&result.table)
        check(bbpe_count_table_copy(&result.table, &self.table))
        counts = self.counts()
        if weight != 1:
            products = np.rint(counts * weight)
            if len(products) and products.max() >= 2.0**64:
                raise OverflowError(f"a count times {weight} is {products.max():.0f}; expected less than 2**64")
            counts = np.maximum(products, counts > 0).astype(np.uint64)
        cdef const uint64_t[::1] scaled = counts
        cdef const size_t[::1] slots = self.order()
        cdef size_t i
        for i in range(self.table.count):
            result.table.slots[slots[i]].count = scaled[i]
        return result

    cdef object order(self):
        """The slots of the pretokens in the order of first appearance, uintp[n]."""
        order = np.empty(self.table.count, dtype=np.uintp)
        cdef size_t[::1] out = order
        if self.table.count:
            with nogil:
                bbpe_count_table_order(&self.table, &out[0])
        return order


cdef int _check_ascending(const int64_t[::1] ends, size_t size) except -1:
    """Refuse ends that would lead out of the text."""
    cdef Py_ssize_t i
    cdef int64_t last = 0
    for i in range(ends.shape[0]):
        if ends[i] < last or <size_t>ends[i] > size:
            raise ValueError(f"number {i} is {ends[i]}, in a text of {size} bytes; expected at least {last}")
        last = ends[i]
    return 0
