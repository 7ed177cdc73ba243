"""Rows of ids in a column of Arrow whose type is a list of integers."""
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from bbpe.core.arrow cimport ArrowChunks
from bbpe.core.c_text cimport bbpe_arrow_array, bbpe_arrow_schema

from bbpe.lazy import np

from bbpe.core.arrow import is_arrow, type_name

cdef dict DTYPES = {b"c": "i1", b"C": "u1", b"s": "i2", b"S": "u2", b"i": "i4", b"I": "u4", b"l": "i8", b"L": "u8"}


def id_rows(given: object) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.int64]] | None:
    """The ids of all rows, without a copy if there is one chunk, and the beginning of each row, int64[rows + 1].

    `None` if an object is no column of Arrow; `TypeError` if its rows are no lists of integers, or one is null.
    """
    cdef ArrowChunks chunks = ArrowChunks()
    cdef bbpe_arrow_schema *schema = &chunks.schema
    cdef Py_ssize_t i, row = 0
    if not is_arrow(given) or not chunks.open(given):
        return None
    kind = bytes(schema.format)
    is_list = kind in (b"+l", b"+L") or kind.startswith(b"+w:")
    item = bytes(schema.children[0].format) if is_list and schema.child_count == 1 else b""
    if item not in DTYPES or schema.children[0].dictionary != NULL:
        raise TypeError(f"a column of ids has lists of integers, not the Arrow type {type_name(kind)} {type_name(item)}".rstrip())
    width = int(kind[3:]) if kind.startswith(b"+w:") else 0 if kind == b"+l" else -1
    arrays, offsets, end = [np.empty(0, DTYPES[item])], [np.zeros(1, np.int64)], 0
    for i in range(<Py_ssize_t>chunks.count):
        ids, starts = _chunk(chunks, i, row, width, np.dtype(DTYPES[item]))
        row += len(starts) - 1
        if len(starts) > 1:
            arrays.append(ids)
            offsets.append(starts[1:] + end)
            end += len(ids)
    return arrays[1] if len(arrays) == 2 else np.concatenate(arrays), np.concatenate(offsets)


cdef tuple _chunk(ArrowChunks chunks, Py_ssize_t number, Py_ssize_t row, int64_t width, object dtype):
    """The ids of a chunk, and the beginning of each row in them; `width` of each, or 0 or -1 if there are offsets."""
    cdef bbpe_arrow_array *array = &chunks.arrays[number]
    cdef bbpe_arrow_array *child
    cdef Py_ssize_t i
    cdef int64_t n = array.length, first, last, at
    starts = np.empty(max(n, 0) + 1, np.int64)
    cdef int64_t[::1] out = starts
    if n == 0:
        return None, np.zeros(1, np.int64)
    child = array.children[0] if array.child_count == 1 else NULL
    if (n < 0 or array.offset < 0 or child == NULL or child.length < 0 or child.offset < 0
            or array.buffer_count < (1 if width > 0 else 2) or child.buffer_count < 2
            or (width <= 0 and array.buffers[1] == NULL) or (child.length > 0 and child.buffers[1] == NULL)):
        raise ValueError(f"chunk {number} of the column, counted from 0, does not have the buffers of its Arrow type")
    for i in range(n + 1):
        out[i] = _start(array, width, i)
        if not (0 if i == 0 else out[i - 1]) <= out[i] <= child.length:
            raise ValueError(f"row {row + max(i - 1, 0)} of the batch is not within the buffers of its Arrow column")
        if i < n and _is_null(array, array.offset + i):
            raise TypeError(f"row {row + i} of the batch is null; expected ids: drop nulls or fill them first")
    first, last = out[0], out[n]
    if child.null_count != 0 and child.buffers[0] != NULL:
        for at in range(first, last):
            if _is_null(child, child.offset + at):
                at = int(np.searchsorted(starts, at, side="right")) - 1
                raise TypeError(f"row {row + at} of the batch has a null; expected ids")
    ids = _ChunkIds()
    (<_ChunkIds>ids).look(chunks, child, first, last - first, dtype.itemsize)
    return np.frombuffer(ids, dtype) if last > first else np.empty(0, dtype), starts - first


cdef int64_t _start(const bbpe_arrow_array *array, int64_t width, Py_ssize_t row):
    cdef const uint8_t *offsets = <const uint8_t *>array.buffers[1] if width <= 0 else NULL
    cdef int32_t narrow = 0
    cdef int64_t wide = array.offset + row
    if width > 0:
        return wide * width
    if width == 0:
        memcpy(&narrow, offsets + wide * <int64_t>sizeof(int32_t), sizeof(int32_t))
        return narrow
    memcpy(&wide, offsets + wide * <int64_t>sizeof(int64_t), sizeof(int64_t))
    return wide


cdef bint _is_null(const bbpe_arrow_array *array, int64_t at):
    cdef const uint8_t *valid = <const uint8_t *>array.buffers[0] if array.null_count != 0 else NULL
    return valid != NULL and not valid[at // 8] >> (at % 8) & 1


cdef class _ChunkIds:
    """The memory of the ids of a chunk, a buffer of bytes."""
    cdef ArrowChunks chunks
    cdef void *start
    cdef Py_ssize_t size

    cdef int look(self, ArrowChunks chunks, const bbpe_arrow_array *child, int64_t first, int64_t count, int64_t size) except -1:
        self.chunks = chunks
        self.start = <uint8_t *>child.buffers[1] + (child.offset + first) * size
        self.size = count * size
        return 0

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.start, self.size, 1, flags)
