"""Rows for training out of the ids of parts: windows of all ids, and bins of documents.

A row that needs nothing but its ids is a view of the mapped file.  Other rows are written to one array for each column
of a batch:

    place ──order──> row ──> spans of ids, each in one part ──> columns: ids, labels, positions, documents, bounds
"""
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.sequence cimport PySequence_GetItem, PySequence_GetSlice
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from bbpe.lazy import np

cimport cython
from bbpe.core.c_pipeline cimport bbpe_fill_count, bbpe_fill_ids, bbpe_fill_unmasked, bbpe_fill_value
from bbpe.core.row_order cimport RowOrder

cdef enum:
    STEP = 6           # documents from one stored start to the next, as a power of two
    BLOCK = 16         # documents of a block of bins, as a power of two
    FULL = 31          # the bit of the second number of a row that one document fills
    IGNORED = -100     # the label of what a model does not learn


cdef void *memory_of(object array, int flags) except? NULL:
    """The memory of a buffer, which the caller keeps."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, flags)
    PyBuffer_Release(&view)
    return view.buf


cdef Py_ssize_t last_not_above(const int64_t[::1] numbers, int64_t number) noexcept:
    """The last place of rising numbers whose number is not above another; numbers[0] is not."""
    cdef Py_ssize_t low = 0, high = numbers.shape[0], middle
    while high - low > 1:
        middle = (low + high) // 2
        if numbers[middle] <= number:
            low = middle
        else:
            high = middle
    return low


@cython.final
cdef class PartIds:
    """The ids of an open part, and, where rows need them, the lengths of its documents and the masks of its ids."""
    cdef object ids, held
    cdef const uint8_t *data
    cdef const uint8_t *masks
    cdef size_t width
    cdef int64_t count
    cdef const int32_t[::1] lengths
    cdef const int64_t[::1] starts

    def __init__(
        self, ids: npt.NDArray[np.integer[Any]], const int32_t[::1] lengths: npt.NDArray[np.int32] | None,
        masks: npt.NDArray[np.uint8] | None
    ):
        self.ids, self.held, self.width, self.count = ids, masks, ids.itemsize, len(ids)
        self.data = <const uint8_t *>memory_of(ids, PyBUF_SIMPLE)
        self.masks = NULL
        if masks is not None:
            self.masks = <const uint8_t *>memory_of(masks, PyBUF_SIMPLE)
            if len(masks) != self.count:
                raise ValueError(f"{len(masks)} masks of {self.count} ids")
        if lengths is not None:
            self.lengths = lengths
            sums = np.add.reduceat(lengths, np.arange(0, len(lengths), 1 << STEP), dtype=np.int64) if len(lengths) else []
            self.starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sums, dtype=np.int64)])
            if self.starts[self.starts.shape[0] - 1] != self.count:
                raise ValueError(f"documents of {self.starts[self.starts.shape[0] - 1]} ids; expected {self.count}")

    cdef int64_t start_of(self, int64_t document) noexcept:
        cdef int64_t i, start = self.starts[document >> STEP]
        for i in range(document >> STEP << STEP, document):
            start += self.lengths[i]
        return start


cdef class RowMaker:
    """Makes rows; `open_part(number)` puts a `PartIds` into `parts`, and returns it.

    `before` is the number of ids before each part, and of all, `documents` that of documents.  `columns` are the names of
    the columns of a row, `dtype` that of ids and labels, None for views.  `shifted`: a label is the id that follows.
    """
    cdef readonly list parts    # stub: list[PartIds | None]
    cdef object open_part, dtype
    cdef const int64_t[::1] before, documents
    cdef tuple columns
    cdef int64_t n
    cdef size_t width
    cdef bint shifted
    # where the columns of the row that is being written are, NULL for others
    cdef uint8_t *ids
    cdef uint8_t *labels
    cdef int32_t *positions
    cdef int32_t *numbers
    cdef int32_t *bounds

    def __init__(
        self, open_part: Callable[[int], PartIds], const int64_t[::1] before not None,
        const int64_t[::1] documents: npt.NDArray[np.int64] | None, int64_t n, columns: tuple[str, ...],
        dtype: np.dtype[Any] | None, bint shifted
    ):
        self.open_part, self.before, self.documents = open_part, before, documents
        self.parts = [None] * (before.shape[0] - 1)
        self.n, self.columns, self.dtype, self.shifted = n, columns, dtype, shifted
        self.width = 0 if dtype is None else dtype.itemsize

    cdef PartIds part(self, Py_ssize_t number):
        part = self.parts[number]
        return <PartIds>(self.open_part(number) if part is None else part)

    def rows(self, RowOrder order not None, places: Sequence[int]) -> list[dict[str, npt.NDArray[np.integer[Any]]]]:
        """The rows at places of an order, each below their number."""
        cdef Py_ssize_t i, size = len(places)
        cdef list made = [None] * size
        cdef list arrays
        if self.dtype is None:
            for i in range(size):
                made[i] = self.view(<int64_t>order.row(places[i]))
            return made
        arrays = None if self.is_ragged() else [self.array(name, (size, self.n)) for name in self.columns]
        for i in range(size):
            made[i] = self.written(<int64_t>order.row(places[i]), arrays, i)
        return made

    cdef object array(self, name, shape):
        """An array for a column; bounds have as many as a row has documents, and are made row by row."""
        return None if name == "cu_seqlens" else np.empty(shape, self.dtype if name in ("input_ids", "labels") else np.int32)

    cdef dict written(self, int64_t row, list arrays, Py_ssize_t at):
        cdef dict made = {}
        cdef tuple sizes = self.sizes(row) if arrays is None or "cu_seqlens" in self.columns else None
        cdef void *memory
        self.ids = self.labels = NULL
        self.positions = self.numbers = self.bounds = NULL
        for i, name in enumerate(self.columns):
            if name == "cu_seqlens":
                column = np.empty(sizes[1] + 1, np.int32)
            elif arrays is None:
                column = self.array(name, sizes[0])
            else:
                column = PySequence_GetItem(arrays[i], at)
            made[name] = column
            memory = memory_of(column, PyBUF_WRITABLE)
            if name == "input_ids":
                self.ids = <uint8_t *>memory
            elif name == "labels":
                self.labels = <uint8_t *>memory
            elif name == "position_ids":
                self.positions = <int32_t *>memory
            elif name == "document_ids":
                self.numbers = <int32_t *>memory
            else:
                self.bounds = <int32_t *>memory
        self.fill(row, made)
        return made

    cdef int put(self, PartIds part, int64_t start, int64_t count, int64_t at) except -1:
        """Write ids to the row from a place in it on."""
        if self.ids != NULL:
            bbpe_fill_ids(self.ids + at * self.width, self.width, part.data + start * part.width, part.width, count)
        return 0

    cdef int put_labels(self, PartIds part, int64_t start, int64_t count, int64_t at) except -1:
        """Write ids as labels, or what is ignored where their masks are 0."""
        cdef uint8_t *labels = self.labels + at * self.width
        if self.labels != NULL:
            bbpe_fill_ids(labels, self.width, part.data + start * part.width, part.width, count)
            if part.masks != NULL:
                bbpe_fill_unmasked(labels, self.width, part.masks + start, IGNORED, count)
        return 0

    cdef int put_document(self, int64_t count, int64_t at, int32_t number) except -1:
        """Write where a document is in the row: positions from 0, its number in the row, and its end."""
        if self.positions != NULL:
            bbpe_fill_count(self.positions + at, count)
        if self.numbers != NULL:
            bbpe_fill_value(self.numbers + at, sizeof(int32_t), number, count)
        return 0

    cdef bint is_ragged(self):
        return False

    cdef dict view(self, int64_t row):
        raise NotImplementedError

    cdef tuple sizes(self, int64_t row):
        """The ids and the spans of a row."""
        raise NotImplementedError

    cdef int fill(self, int64_t row, dict made) except -1:
        raise NotImplementedError


@cython.final
cdef class WindowMaker(RowMaker):
    """Windows: row i has the ids from i * n on."""

    cdef dict view(self, int64_t row):
        cdef int64_t start = row * self.n, stop = start + self.n + self.shifted
        cdef Py_ssize_t number = last_not_above(self.before, start)
        cdef PartIds part
        if stop <= self.before[number + 1]:
            part = self.part(number)
            ids, start = part.ids, start - self.before[number]
        else:
            ids = np.concatenate([
                self.part(number).ids[max(start - self.before[number], 0):max(stop - self.before[number], 0)]
                for number in range(number, last_not_above(self.before, stop - 1) + 1)])
            start = 0
        made = {}
        for name in self.columns:
            if name == "input_ids":
                made[name] = PySequence_GetSlice(ids, start, start + self.n)
            else:
                made[name] = PySequence_GetSlice(ids, start + self.shifted, start + self.shifted + self.n)
        return made

    cdef tuple sizes(self, int64_t row):
        return self.n, self.walk(row, False)

    cdef int fill(self, int64_t row, dict made) except -1:
        self.spread(row * self.n, False)
        if self.labels != NULL:
            self.spread(row * self.n + self.shifted, True)
        if self.positions != NULL or self.numbers != NULL or self.bounds != NULL:
            self.walk(row, True)
        return 0

    cdef int spread(self, int64_t start, bint is_label) except -1:
        cdef Py_ssize_t number = last_not_above(self.before, start)
        cdef int64_t count, at = 0
        cdef PartIds part
        while at < self.n:
            count = min(self.n - at, self.before[number + 1] - start)
            if count > 0:
                part = self.part(number)
                if is_label:
                    self.put_labels(part, start - self.before[number], count, at)
                else:
                    self.put(part, start - self.before[number], count, at)
                at, start = at + count, start + count
            number += 1
        return 0

    cdef int64_t walk(self, int64_t row, bint writes) except -1:
        """Go through the documents of a window, and write where they are; returns how many there are."""
        cdef int64_t start = row * self.n, at = 0, count, document, end
        cdef Py_ssize_t number = last_not_above(self.before, start)
        cdef int32_t found = 0
        cdef PartIds part
        while at < self.n:
            if self.before[number + 1] == self.before[number]:
                number += 1
                continue
            part = self.part(number)
            document = last_not_above(part.starts, start - self.before[number]) << STEP
            end = self.before[number] + part.starts[document >> STEP]
            while at < self.n and document < part.lengths.shape[0]:
                end += part.lengths[document]
                count = min(end - start, self.n - at)
                if count > 0:
                    if writes:
                        self.put_document(count, at, found)
                        if self.bounds != NULL:
                            self.bounds[found] = <int32_t>at
                    found, at, start = found + 1, at + count, start + count
                document += 1
            number += 1
        if writes and self.bounds != NULL:
            self.bounds[found] = <int32_t>self.n
        return found


@cython.final
cdef class BinMaker(RowMaker):
    """Bins: rows of documents, as `BinPacker` has packed them, block after block.

    `rows_before` and `items_before` are the rows and places of `numbers` before each block, and of all.  `pad` is the id
    for the rest of a row, negative for rows that are as long as their documents.
    """
    cdef const uint32_t[:, ::1] table
    cdef const uint16_t[::1] order
    cdef const int64_t[::1] rows_before, items_before
    cdef int64_t pad

    def index(
        self, const uint32_t[:, ::1] table not None, const uint16_t[::1] order not None,
        const int64_t[::1] rows_before not None, const int64_t[::1] items_before not None, int64_t pad
    ) -> BinMaker:
        """Take the index, and return the maker."""
        self.table, self.order, self.rows_before, self.items_before = table, order, rows_before, items_before
        self.pad = pad
        return self

    cdef bint is_ragged(self):
        return self.pad < 0

    cdef tuple sizes(self, int64_t row):
        cdef int64_t spans = 0, size = self.walk(row, False, &spans)
        if self.pad >= 0 and size < self.n:
            size, spans = self.n, spans + 1
        return size, spans

    cdef int fill(self, int64_t row, dict made) except -1:
        cdef int64_t spans = 0, at = self.walk(row, True, &spans), rest = self.n - at
        if self.bounds != NULL:
            self.bounds[spans] = <int32_t>at
        if self.pad < 0 or rest == 0:
            return 0
        self.put_document(rest, at, -1)
        if self.ids != NULL:
            bbpe_fill_value(self.ids + at * self.width, self.width, self.pad, rest)
        if self.labels != NULL:
            bbpe_fill_value(self.labels + at * self.width, self.width, IGNORED, rest)
        if self.bounds != NULL:
            self.bounds[spans + 1] = <int32_t>self.n
        return 0

    cdef int64_t walk(self, int64_t row, bint writes, int64_t *spans) except -1:
        """Go through the documents of a row, and write them; returns how many ids they have."""
        cdef Py_ssize_t block = last_not_above(self.rows_before, row)
        cdef int64_t base = <int64_t>block << BLOCK, at = 0, i, first, document, within, start, length, count, rest
        cdef uint32_t many = self.table[row, 1]
        cdef bint is_full = many >> FULL
        cdef Py_ssize_t number
        cdef PartIds part
        first = self.table[row, 0] if is_full else self.items_before[block] + self.table[row, 0]
        spans[0] = 1 if is_full else many
        for i in range(spans[0]):
            document = base + (first if is_full else self.order[first + i])
            number = last_not_above(self.documents, document)
            part, within = self.part(number), document - self.documents[number]
            length = part.lengths[within]
            if is_full:
                start, count = <int64_t>(many & ~(<uint32_t>1 << FULL)) * self.n, self.n
            else:
                count = length % self.n
                start = length - count
            if writes:
                rest = length - start - count
                start += part.start_of(within)
                self.put(part, start, count, at)
                if self.labels != NULL and not self.shifted:
                    self.put_labels(part, start, count, at)
                elif self.labels != NULL:
                    # the last id of a document has no next one
                    self.put_labels(part, start + 1, count if rest else count - 1, at)
                    if not rest:
                        bbpe_fill_value(self.labels + (at + count - 1) * self.width, self.width, IGNORED, 1)
                self.put_document(count, at, <int32_t>i)
                if self.bounds != NULL:
                    self.bounds[i] = <int32_t>at
            at += count
        return at
