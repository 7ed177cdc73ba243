"""Rows: byte strings one after another in one buffer, and where each of them ends.

Many small texts, and the columns of a Parquet file, are such rows; these loops do for all of them at once
what Python could do for one at a time.
"""
from cpython cimport array
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from bbpe.lazy import np

from bbpe.core.budget cimport SALT
from bbpe.core.c_base cimport BBPE_CHANGED, BBPE_OK, bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new, bbpe_memory_reserve, bbpe_pages_trim
from bbpe.core.c_tables cimport (
    bbpe_pretoken_entry, bbpe_pretoken_table, bbpe_pretoken_table_add, bbpe_pretoken_table_free,
    bbpe_pretoken_table_init,
)
from bbpe.core.ends cimport bbpe_ends_next, bbpe_ends_part
from bbpe.core.status cimport check, had

cdef extern from "base/atomic.h" nogil:
    int64_t BBPE_ATOMIC_LOAD(const int64_t *word)
    Py_ssize_t BBPE_ATOMIC_ADD(Py_ssize_t *word, Py_ssize_t value)

cdef extern from "Python.h" nogil:
    bint PyUnicode_IS_ASCII(object text)
    void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)

cdef extern from "base/hash.h" nogil:
    uint64_t bbpe_hash_bytes(const uint8_t *bytes, size_t n, uint64_t salt)


cdef array.array _ENDS = array.array("q")


cdef class Block:
    """Memory for `size` bytes that are not cleared, a writable buffer; `is_viewed` while somebody has a view of it."""
    cdef void *memory
    cdef Py_ssize_t size, views

    def __cinit__(self, Py_ssize_t size):
        if size < 0:
            raise ValueError(f"size is {size}; expected at least 0")
        self.memory = had(bbpe_memory_new(<size_t>size, 1))
        self.size = size

    def __dealloc__(self):
        bbpe_memory_free(self.memory)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.memory, self.size, 0, flags)
        BBPE_ATOMIC_ADD(&self.views, 1)

    def __releasebuffer__(self, Py_buffer *_):
        BBPE_ATOMIC_ADD(&self.views, -1)

    @property
    def is_viewed(self) -> bool:
        """Whether there are views of it."""
        return self.views > 0


cdef void *_reserved(void *memory, size_t *capacity, size_t need, size_t size) except NULL:
    cdef void *grown = had(bbpe_memory_reserve(memory, capacity, need, size))
    return grown


def gather(
    texts: Iterator[Text], size_t limit, convert: Callable[[Text], bytes | memoryview]
) -> tuple[bytes, array[int]]:
    """Take texts from an iterator until they have `limit` bytes; `convert` makes UTF-8 of what is not ASCII or bytes.

    Returns (bytes, int64[n] ends); no text is left when n is 0.  A text of `limit` bytes or more ends the rows.
    """
    cdef uint8_t *data = NULL
    cdef int64_t *ends = NULL
    cdef size_t used = 0, capacity = 0, count = 0, ends_capacity = 0, n
    cdef const void *source
    cdef const uint8_t[::1] view
    cdef array.array result
    try:
        while used < limit:
            try:
                text = next(texts)
            except StopIteration:
                break
            if PyUnicode_CheckExact(text) and PyUnicode_IS_ASCII(text):
                source, n = PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text)
            else:
                if not PyBytes_CheckExact(text):
                    text = convert(text)
                if PyBytes_CheckExact(text):
                    source, n = PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)
                else:
                    view = text
                    n = view.shape[0]
                    source = &view[0] if n else NULL
            if used == 0 and n >= limit:
                # a large text is worth no second copy
                if not PyBytes_CheckExact(text):
                    text = PyBytes_FromStringAndSize(<const char *>source, n)
                result = array.clone(_ENDS, count + 1, zero=True)
                result.data.as_longlongs[count] = n
                return text, result
            data = <uint8_t *>_reserved(data, &capacity, used + n + 1, 1)  # one more: never NULL
            ends = <int64_t *>_reserved(ends, &ends_capacity, count + 1, sizeof(int64_t))
            if n:
                memcpy(data + used, source, n)
            used += n
            ends[count] = <int64_t>used
            count += 1
        result = array.clone(_ENDS, count, zero=False)
        if count:
            memcpy(result.data.as_longlongs, ends, count * sizeof(int64_t))
        return PyBytes_FromStringAndSize(<const char *>data, used), result
    finally:
        bbpe_memory_free(data)
        bbpe_memory_free(ends)


def hashes(const uint8_t[::1] data not None, const int64_t[::1] offsets not None) -> npt.NDArray[np.uint64]:
    """The uint64[n] hashes of rows data[offsets[i]:offsets[i + 1]]."""
    cdef Py_ssize_t i, n = _row_count(data, offsets)
    cdef size_t size = <size_t>data.shape[0], start = 0, end = 0
    cdef bbpe_status status = BBPE_OK
    cdef const uint8_t *text = &data[0] if size else NULL
    result = np.empty(n, dtype=np.uint64)
    cdef uint64_t[::1] out = result
    with nogil:
        bbpe_ends_next(&offsets[0], size, &end)
        for i in range(n):
            start = end
            if not bbpe_ends_next(&offsets[i + 1], size, &end):
                status = BBPE_CHANGED
                break
            out[i] = bbpe_hash_bytes(text + start, end - start, 0)  # which runs on disk are sorted by
    check(status)
    return result


def take(
    const uint8_t[::1] data not None, const int64_t[::1] offsets not None, const int64_t[::1] order not None
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The rows of the given numbers, int64[m]: (uint8[total], int64[m + 1] offsets)."""
    cdef Py_ssize_t i, n = _row_count(data, offsets), m = order.shape[0]
    cdef size_t size = <size_t>data.shape[0], start = 0, end = 0
    cdef bbpe_status status = BBPE_OK
    cdef int64_t row = 0, at = 0
    cdef bint fits = True
    new_offsets = np.zeros(m + 1, dtype=np.int64)
    cdef int64_t[::1] offsets_out = new_offsets
    with nogil:
        for i in range(m):
            row = BBPE_ATOMIC_LOAD(&order[i])
            fits = 0 <= row < n
            if not fits:
                break
            if not bbpe_ends_part(&offsets[row], &offsets[row + 1], size, &start, &end):
                status = BBPE_CHANGED
                break
            at += <int64_t>(end - start)
            offsets_out[i + 1] = at
    if not fits:
        raise IndexError(f"row {row} of {n}")
    check(status)
    new_data = np.empty(at, dtype=np.uint8)
    cdef uint8_t[::1] out = new_data
    with nogil:
        for i in range(m):
            row = BBPE_ATOMIC_LOAD(&order[i])
            if (row < 0 or row >= n or not bbpe_ends_part(&offsets[row], &offsets[row + 1], size, &start, &end)
                    or <int64_t>(end - start) != offsets_out[i + 1] - offsets_out[i]):
                status = BBPE_CHANGED
                break
            if end > start:
                memcpy(&out[offsets_out[i]], &data[start], end - start)
    check(status)
    return new_data, new_offsets


def sum_rows(
    const uint8_t[::1] data not None, const int64_t[::1] offsets not None, const uint64_t[::1] counts not None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Add up the counts of equal rows: (int64[m], where each comes first, ascending; uint64[m], its sum)."""
    cdef Py_ssize_t i, n = _row_count(data, offsets), m = 0
    cdef size_t size = <size_t>data.shape[0], start = 0, end = 0
    cdef uint64_t count
    cdef const uint8_t *text = &data[0] if size else NULL
    cdef bbpe_pretoken_table table
    cdef bbpe_pretoken_entry *entry
    cdef bbpe_status status
    cdef bint overflows = False
    if counts.shape[0] != n:
        raise ValueError(f"{counts.shape[0]} counts for {n} rows")
    firsts, sums = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.uint64)
    cdef int64_t[::1] firsts_out = firsts
    cdef uint64_t[::1] sums_out = sums
    check(bbpe_pretoken_table_init(&table, SALT))
    try:
        with nogil:
            status = BBPE_OK
            bbpe_ends_next(&offsets[0], size, &end)
            for i in range(n):
                start = end
                status = BBPE_CHANGED
                if bbpe_ends_next(&offsets[i + 1], size, &end):
                    status = bbpe_pretoken_table_add(&table, text + start, end - start, &entry)
                if status != BBPE_OK:
                    break
                if table.count > <size_t>m:
                    entry.value, firsts_out[m] = <uint64_t>m, i
                    m += 1
                count = counts[i]
                sums_out[entry.value] += count
                if sums_out[entry.value] < count:
                    overflows = True
                    break
        check(status)
    finally:
        bbpe_pretoken_table_free(&table)
    if overflows:
        raise OverflowError("the count of a pretoken does not fit 64 bits")
    return firsts[:m].copy(), sums[:m].copy()


def trim():
    """Give back to the system what the allocator keeps of the arrays that were freed."""
    with nogil:
        bbpe_pages_trim()


cdef Py_ssize_t _row_count(const uint8_t[::1] data, const int64_t[::1] offsets) except -1:
    """How many rows there are; `ValueError` when the offsets leave the data or fall."""
    cdef Py_ssize_t i, n = offsets.shape[0] - 1
    cdef bint fits = n >= 0 and 0 <= offsets[0] and offsets[n] <= data.shape[0]
    with nogil:
        for i in range(n):
            fits &= offsets[i] <= offsets[i + 1]
    if not fits:
        raise ValueError(f"{n + 1} offsets are not ascending within {data.shape[0]} bytes")
    return n
