"""Counting pretokens: the only step of training whose cost grows with the corpus."""
from cpython cimport array
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy

from bbpe.lazy import np

from bbpe.core.budget cimport SALT
from bbpe.core.c_base cimport BBPE_CHANGED, BBPE_OK, bbpe_status
from bbpe.core.c_count cimport (
    BBPE_COUNT_PARTS, bbpe_count_shard, bbpe_count_sum_bytes, bbpe_count_sum_count, bbpe_count_sum_counts,
    bbpe_count_sum_do_part, bbpe_count_sum_finish, bbpe_count_sum_free, bbpe_count_sum_init, bbpe_count_sum_order,
    bbpe_count_sum_prefetch, bbpe_count_sum_prefetch_bytes, bbpe_count_table_add, bbpe_count_table_add_given,
    bbpe_count_table_counts, bbpe_count_table_free, bbpe_count_table_init, bbpe_count_table_memory,
    bbpe_count_table_order,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_zeroed
from bbpe.core.c_split cimport c_bool
from bbpe.core.ends cimport bbpe_ends_next, bbpe_ends_part, check_ends
from bbpe.core.split cimport Splitter
from bbpe.core.status cimport check, had

cdef enum:
    BLOCK = 512  # ends at a time
    LEAST = 64   # room that the splitter wants for ends


cdef array.array _COUNTS = array.array("Q")


cdef class PretokenTable:
    """Pretokens and their 64-bit counts, in the order of first appearance.

    One thread at a time may change a table.  Tables that threads filled separately are added up by threads again: `join`,
    then `join_part` for each part, then `finish_join`; then the first one has the counts of all of them, in the order of first
    appearance, and takes no more counts.  Raises `OverflowError` beyond 2**32 - 2 different pretokens, 32 GiB of those
    of more than 15 bytes, or a count of 2**64.
    """

    def __cinit__(self):
        check(bbpe_count_table_init(&self.table, SALT))
        self.shards = NULL
        self.own = bbpe_count_shard(&self.table, NULL, NULL, 0)
        self.sum.shards = &self.own
        self.sum.shard_count = 1

    def __dealloc__(self):
        if self.shards != NULL:
            bbpe_count_sum_free(&self.sum)
            bbpe_memory_free(self.shards)
        bbpe_count_table_free(&self.table)

    def __len__(self) -> int:
        return self.table.count if self.shards == NULL else self.sum.count

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the table holds."""
        others = 0 if self.others is None else sum([table.nbytes for table in self.others])
        return others + bbpe_count_table_memory(&self.table)

    @property
    def pretoken_bytes(self) -> int:
        """The sum of the lengths of the different pretokens."""
        return self.table.bytes if self.shards == NULL else self.sum.bytes

    @property
    def total(self) -> int:
        """The sum of all counts, exact where it passes 64 bits."""
        others = 0 if self.others is None else sum([table.total for table in self.others])
        return others + (<object>self.table.total_high << 64) + self.table.total

    @property
    def cut(self) -> int:
        """How many pretokens were longer than `longest` and counted as pieces."""
        return self.pieces

    def join(
        self, list others not None: list[PretokenTable], list chunks not None: list[list[int]],
        list starts not None: list[list[int]]
    ):
        """Begin to add up this table and others, which may not be used any more.

        `chunks`, n of each table, this one first: the numbers of the chunks that brought it something new, rising;
        `starts`, n + 1 of each: how many pretokens it had before each of them, and has now.  What chunks with lower
        numbers brought appeared earlier.  Raises `ValueError` on chunks that are not such, `OverflowError` when the
        tables have more than 2**32 - 2 pretokens together, and after `join_part` as the class describes; then no table
        may be used.
        """
        cdef PretokenTable table
        cdef const uint32_t[::1] starts_of, ranks_of
        cdef size_t i
        tables = [self, *others]
        if not len(set(map(id, tables))) == len(tables) == len(chunks) == len(starts):
            raise ValueError(f"{len(tables)} tables, {len(chunks)} chunks, {len(starts)} starts; expected as many of each")
        for table in tables:
            table.check_open()
        kept = list(_ranked(tables, chunks, starts))
        self.shards = <bbpe_count_shard *>had(bbpe_memory_zeroed(len(tables), sizeof(bbpe_count_shard)))
        self.others, self.kept = others, kept
        for i, (starts_of, ranks_of) in enumerate(kept):
            table = tables[i]
            self.shards[i] = bbpe_count_shard(&table.table, &starts_of[0], &ranks_of[0], <size_t>starts_of.shape[0] - 1)
        check(bbpe_count_sum_init(&self.sum, self.shards, len(tables)))

    def join_part(self, size_t part, size_t parts):
        """Add up part `part` of `parts`, a power of two up to 256."""
        cdef bbpe_status status
        if self.shards == NULL or parts == 0 or parts & (parts - 1) or parts > BBPE_COUNT_PARTS or part >= parts:
            raise ValueError(f"part {part} of {parts}; expected one of a join, of a power of two up to {BBPE_COUNT_PARTS}")
        with nogil:
            status = bbpe_count_sum_do_part(&self.sum, part, parts)
        check(status)

    def finish_join(self):
        """End `join`, when all parts are done."""
        cdef PretokenTable table
        bbpe_count_sum_finish(&self.sum)
        for table in self.others:
            self.pieces += table.pieces

    cdef int check_open(self) except -1:
        """Refuse to count into a table that has the counts of several."""
        if self.shards != NULL:
            raise ValueError("the table is the sum of several; expected one that may be changed")
        return 0

    def add(self, bytes pretoken not None, uint64_t times):
        """Count one pretoken `times` times."""
        cdef size_t end = len(pretoken)
        self.check_open()
        check(bbpe_count_table_add(&self.table, pretoken, end, 0, &end, &times, 1, 0, &self.pieces))

    def add_arrays(self, const uint8_t[::1] data not None, const int64_t[::1] offsets not None,
                   const uint64_t[::1] counts not None):
        """Count data[offsets[i]:offsets[i + 1]] counts[i] times, in order: the inverse of `arrays`.

        `data`: uint8[total], `offsets`: int64[n + 1], ascending, `counts`: uint64[n].
        """
        cdef size_t n = <size_t>counts.shape[0], size = <size_t>data.shape[0], start = 0
        cdef bbpe_status status = BBPE_OK
        if <size_t>offsets.shape[0] != n + 1:
            raise ValueError(f"there are {offsets.shape[0]} offsets for {n} counts; expected {n + 1}")
        check_ends(offsets, size)
        self.check_open()
        if n:
            with nogil:
                status = BBPE_CHANGED
                if bbpe_ends_next(&offsets[0], size, &start):
                    status = bbpe_count_table_add_given(
                        &self.table, &data[0] if size else NULL, size, start, &offsets[1], &counts[0], n, 0, &self.pieces)
        check(status)

    def count_text(self, data: Buffer, size_t start, size_t stop, Splitter splitter not None, size_t longest=0) -> int:
        """Count the pretokens of data[start:stop] that are split as one text, or as lines if that is the scheme's way.

        With `longest`, a pretoken of more bytes is counted as pieces of `longest` bytes, and `cut` goes up by one.
        Returns where the next call goes on: at most about 8 MiB are done at a time, so that Ctrl-C is heard.
        """
        cdef Py_buffer view
        cdef bbpe_status status = BBPE_OK
        cdef const uint8_t *text
        cdef size_t pause, begun, found = 0
        cdef size_t ends[BLOCK]
        cdef c_bool wide = False
        self.check_open()
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if stop > <size_t>view.len or start > stop:
                raise ValueError(f"{start}:{stop} is not within the text of {view.len} bytes")
            text = <const uint8_t *>view.buf
            pause = min(stop, start + (8 << 20))
            begun = start
            with nogil:
                while start < pause and status == BBPE_OK:
                    found = splitter.fill(&splitter.row, text, start, stop, ends, BLOCK, &wide)
                    start = ends[found - 1]
                    status = bbpe_count_table_add(
                        &self.table, text, <size_t>view.len, begun, ends, NULL, found, longest, &self.pieces)
                    begun = start
            check(status)
            return start
        finally:
            PyBuffer_Release(&view)

    def count_spans(
        self, data: Buffer, const int64_t[::1] starts, const int64_t[::1] ends not None,
        Splitter splitter not None, size_t longest=0
    ):
        """Count the pretokens of the texts data[starts[i]:ends[i]], int64[n] each; options as in `count_text`.

        Without starts, `None`, each text begins where the last one ends.
        """
        cdef Py_buffer view
        cdef bbpe_status status = BBPE_OK
        cdef const uint8_t *text
        cdef size_t found[BLOCK]
        cdef c_bool wide = False
        cdef size_t start = 0, stop = 0, first = 0, filled = 0
        cdef Py_ssize_t i, n = ends.shape[0]
        cdef int64_t zero = 0
        cdef const int64_t *begun
        cdef const int64_t *first_start
        cdef const int64_t *next_starts
        if starts is not None and starts.shape[0] != n:
            raise ValueError(f"{starts.shape[0]} starts and {n} ends; expected one of each a text")
        first_start = next_starts = NULL
        if n and starts is None:
            first_start, next_starts = &zero, &ends[0]
        elif n:
            first_start, next_starts = &starts[0], &starts[0] + 1
        self.check_open()
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            for i in range(n):
                begun = first_start if i == 0 else next_starts + i - 1
                if not bbpe_ends_part(begun, &ends[i], <size_t>view.len, &start, &stop):
                    raise ValueError(f"{begun[0]}:{ends[i]} is not within the texts of {view.len} bytes")
            text = <const uint8_t *>view.buf
            with nogil:
                for i in range(n):
                    begun = first_start if i == 0 else next_starts + i - 1
                    if not bbpe_ends_part(begun, &ends[i], <size_t>view.len, &start, &stop):
                        status = BBPE_CHANGED
                    while start < stop and status == BBPE_OK:
                        # small texts share a block: it is counted when it is full, or when there is a gap
                        if BLOCK - filled < LEAST or (filled and found[filled - 1] != start):
                            status = bbpe_count_table_add(
                                &self.table, text, <size_t>view.len, first, found, NULL, filled, longest, &self.pieces)
                            filled = 0
                        if filled == 0:
                            first = start
                        filled += splitter.fill(&splitter.row, text, start, stop, found + filled, BLOCK - filled, &wide)
                        start = found[filled - 1]
                    if status != BBPE_OK:
                        break
                if status == BBPE_OK and filled:
                    status = bbpe_count_table_add(
                        &self.table, text, <size_t>view.len, first, found, NULL, filled, longest, &self.pieces)
            check(status)
        finally:
            PyBuffer_Release(&view)

    def count_given(self, data: Buffer, const int64_t[::1] ends not None, size_t longest=0):
        """Count pretokens whose ends in `data` are given, int64[n], ascending; an empty one is skipped."""
        cdef Py_buffer view
        cdef bbpe_status status = BBPE_OK
        cdef size_t n = <size_t>ends.shape[0]
        self.check_open()
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            check_ends(ends, <size_t>view.len)
            if n:
                with nogil:
                    status = bbpe_count_table_add_given(
                        &self.table, <const uint8_t *>view.buf, <size_t>view.len, 0, &ends[0], NULL, n, longest,
                        &self.pieces)
            check(status)
        finally:
            PyBuffer_Release(&view)

    def arrays(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
        """All pretokens and counts, in the order of first appearance.

        Returns `(data, offsets, counts)`: uint8[total], int64[n + 1] and uint64[n]; pretoken i is
        data[offsets[i]:offsets[i + 1]].
        """
        cdef size_t count = len(self), i, n
        data = np.empty(self.pretoken_bytes, dtype=np.uint8)
        offsets = np.zeros(count + 1, dtype=np.int64)
        cdef const size_t[::1] codes = self.order()
        cdef uint8_t[::1] data_of = data
        cdef int64_t[::1] offsets_of = offsets
        cdef const uint8_t *pretoken
        cdef size_t used = 0
        with nogil:
            for i in range(count):
                if i + 32 < count:
                    bbpe_count_sum_prefetch(&self.sum, codes[i + 32])
                    bbpe_count_sum_prefetch_bytes(&self.sum, codes[i + 16])
                pretoken = bbpe_count_sum_bytes(&self.sum, codes[i], &n)
                if n:
                    memcpy(&data_of[used], pretoken, n)
                used += n
                offsets_of[i + 1] = <int64_t>used
        return data, offsets, self.counts()

    def items(self) -> list[tuple[bytes, int]]:
        """All (pretoken, count), in the order of first appearance."""
        cdef const size_t[::1] codes = self.order()
        cdef size_t i, n
        cdef const uint8_t *pretoken
        result = []
        for i in range(<size_t>codes.shape[0]):
            pretoken = bbpe_count_sum_bytes(&self.sum, codes[i], &n)
            result.append(((<const char *>pretoken)[:n], bbpe_count_sum_count(&self.sum, codes[i])))
        return result

    def counts(self) -> npt.NDArray[np.uint64]:
        """The counts alone, uint64[n]."""
        return np.asarray(self.held_counts())

    def scale(self, double weight) -> PretokenTable:
        """A new table of counts times `weight`, rounded half to even; what occurred still occurs once at least.

        Products are those of floats.  `ValueError` unless the weight is positive and finite, `OverflowError` when a
        product reaches 2**64.
        """
        if not 0 < weight < float("inf"):
            raise ValueError(f"weight is {weight}; expected a positive, finite number")
        data, offsets, counts = self.arrays()
        if weight != 1:
            products = np.rint(counts * weight)
            if len(products) and products.max() >= 2.0**64:
                raise OverflowError(f"a count times {weight} is {products.max():.0f}; expected less than 2**64")
            counts = np.maximum(products, counts > 0).astype(np.uint64)
        result = PretokenTable()
        result.add_arrays(data, offsets, counts)
        return result

    cdef array.array held_counts(self):
        """The counts, in the order of first appearance."""
        cdef array.array counts = array.clone(_COUNTS, len(self), zero=False)
        cdef uint64_t[::1] out = counts
        if out.shape[0]:
            with nogil:
                if self.shards == NULL:
                    bbpe_count_table_counts(&self.table, &out[0])
                else:
                    bbpe_count_sum_counts(&self.sum, &out[0])
        return counts

    cdef array.array order(self):
        """The codes of the pretokens in the order of first appearance."""
        cdef array.array order = array.clone(_COUNTS, len(self), zero=False)
        cdef size_t[::1] out = order
        if out.shape[0]:
            with nogil:
                if self.shards == NULL:
                    bbpe_count_table_order(&self.table, &out[0])
                else:
                    bbpe_count_sum_order(&self.sum, &out[0])
        return order


def count_lines(data: Buffer, const int64_t[::1] ends not None) -> int:
    """How many lines texts in `data` have, which end at `ends`, int64[n]: one ends with the text, too."""
    cdef Py_buffer view
    cdef bbpe_status status = BBPE_OK
    cdef const uint8_t *text
    cdef const uint8_t *found
    cdef size_t lines = 0, start = 0, stop = 0, size
    cdef Py_ssize_t i
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        check_ends(ends, <size_t>view.len)
        text, size = <const uint8_t *>view.buf, <size_t>view.len
        with nogil:
            while start < size:
                found = <const uint8_t *>memchr(text + start, 10, size - start)
                if found == NULL:
                    break
                lines += 1
                start = <size_t>(found - text) + 1
            for i in range(ends.shape[0]):
                start = stop
                if not bbpe_ends_next(&ends[i], size, &stop):
                    status = BBPE_CHANGED
                    break
                lines += start < stop and text[stop - 1] != 10
        check(status)
        return lines
    finally:
        PyBuffer_Release(&view)


def _ranked(list tables, list chunks, list starts):
    """Return starts and ranks of each table, uint32[n + 1] each; those of the last rank are not used."""
    for table, numbers, begun in zip(tables, chunks, starts, strict=True):
        if len(begun) != len(numbers) + 1 or begun != sorted([0, *begun[1:-1], len(table)]):
            raise ValueError(f"{len(numbers)} chunks begin at {begun} of {len(table)} pretokens; expected to find all")
    if sum(map(len, tables)) >= 2**32 - 1:
        raise OverflowError(f"the tables have more than {2**32 - 2} pretokens in all; count with fewer threads")
    ranks = [array.array("I", bytes(4 * len(begun))) for begun in starts]
    rows = sorted((chunk, t, i) for t, numbers in enumerate(chunks) for i, chunk in enumerate(numbers))
    rank = 0
    for _, t, i in rows:
        ranks[t][i] = rank
        rank += starts[t][i + 1] - starts[t][i]
    for begun, own in zip(starts, ranks, strict=True):
        yield array.array("I", begun), own
