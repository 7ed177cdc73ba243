"""Rows of ids as a column of Arrow that borrows their memory (csrc/text/arrow.h)."""
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t
from libc.string cimport memset

from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_zeroed
from bbpe.core.c_text cimport BBPE_ARROW_NULLABLE, bbpe_arrow_array, bbpe_arrow_schema, bbpe_arrow_stream
from bbpe.core.status cimport had

from bbpe.lazy import np

cdef enum:
    MOST = 0x7FFFFFFF  # the highest offset of 32 bits, and the highest int32

ctypedef struct schema_node:
    bbpe_arrow_schema child
    bbpe_arrow_schema *children[1]

ctypedef struct array_node:
    bbpe_arrow_array child
    bbpe_arrow_array *children[1]
    const void *buffers[2]
    PyObject *owner  # of the buffer

ctypedef struct stream_node:
    bint is_large, is_unsigned
    Py_ssize_t next
    PyObject *chunks


cdef class ArrowRows:
    """Rows of ids, uint32[total] and int64[rows + 1] from 0, as list<int32>; or as the large lists or the uint32 of a schema
    that a caller requests, in a capsule."""
    cdef bint is_large, is_unsigned
    cdef object ids, offsets

    def __cinit__(self, ids: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], requested: object = None):
        cdef bbpe_arrow_schema *schema
        self.ids, self.offsets = ids, offsets
        if requested is None:
            return
        schema = <bbpe_arrow_schema *>PyCapsule_GetPointer(requested, "arrow_schema")
        self.is_large = bytes(schema.format) == b"+L"
        self.is_unsigned = schema.child_count == 1 and bytes(schema.children[0].format) == b"I"

    def schema(self) -> object:
        """The capsule of a schema."""
        cdef bbpe_arrow_schema *schema = <bbpe_arrow_schema *>had(bbpe_memory_zeroed(1, sizeof(bbpe_arrow_schema)))
        capsule = PyCapsule_New(schema, "arrow_schema", free_schema)
        if not make_schema(schema, self.is_large, self.is_unsigned):
            raise MemoryError("bbpe could not allocate memory")
        return capsule

    def array(self) -> tuple[object, object]:
        """The capsules of a schema and of an array of all rows."""
        cdef bbpe_arrow_array *array
        chunks = self._chunks()
        if len(chunks) != 1:
            raise OverflowError(
                f"{len(self.ids)} ids do not fit in an array of list<int32>; expected a slice of the rows, a stream of arrays "
                "(pyarrow.chunked_array), or the type large_list<int32>")
        array = <bbpe_arrow_array *>had(bbpe_memory_zeroed(1, sizeof(bbpe_arrow_array)))
        capsule = PyCapsule_New(array, "arrow_array", free_array)
        make_array(array, chunks[0])
        return self.schema(), capsule

    def stream(self) -> object:
        """The capsule of a stream of arrays, each with as many rows as 32-bit offsets allow."""
        cdef bbpe_arrow_stream *stream = <bbpe_arrow_stream *>had(bbpe_memory_zeroed(1, sizeof(bbpe_arrow_stream)))
        cdef stream_node *node
        capsule = PyCapsule_New(stream, "arrow_array_stream", free_stream)
        chunks = self._chunks()
        node = <stream_node *>had(bbpe_memory_zeroed(1, sizeof(stream_node)))
        node.is_large, node.is_unsigned, node.chunks = self.is_large, self.is_unsigned, <PyObject *>chunks
        Py_INCREF(chunks)
        stream.get_schema, stream.get_next, stream.get_last_error = next_schema, next_array, last_error
        stream.owner, stream.release = node, release_stream
        return capsule

    def _chunks(self):
        """The ids and offsets of each array, checked."""
        ids = np.asarray(self.ids).astype(np.uint32, "C", "safe", copy=False)
        offsets = np.ascontiguousarray(self.offsets, np.int64)
        rows = len(offsets) - 1
        if rows < 0 or offsets[0] < 0 or offsets[rows] > len(ids) or (offsets[1:] < offsets[:rows]).any():
            raise ValueError(f"offsets are not ascending within {len(ids)} ids")
        ids, offsets = ids[offsets[0] : offsets[rows]], offsets - offsets[0] if offsets[0] else offsets
        if not self.is_unsigned and len(ids) and ids.max() > MOST:
            raise OverflowError(f"id {ids.max()} does not fit int32; expected the type list<uint32>")
        if self.is_large:
            return ((ids, offsets),)
        chunks, row = [], 0
        while row < rows or not chunks:
            stop = int(np.searchsorted(offsets, offsets[row] + MOST, side="right")) - 1
            if stop == row < rows:
                raise OverflowError(f"row {row} has more ids than list<int32> can hold; expected the type large_list<int32>")
            part = (offsets[row : stop + 1] - offsets[row]).astype(np.int32)
            chunks.append((ids[offsets[row] : offsets[stop]], part))
            row = stop
        return tuple(chunks)


cdef bint make_schema(bbpe_arrow_schema *self, bint is_large, bint is_unsigned) noexcept nogil:
    cdef schema_node *node = <schema_node *>bbpe_memory_zeroed(1, sizeof(schema_node))
    if node == NULL:
        return False
    memset(self, 0, sizeof(bbpe_arrow_schema))
    node.child.format, node.child.name = b"I" if is_unsigned else b"i", b"item"
    node.child.flags, node.child.release = BBPE_ARROW_NULLABLE, release_child_schema
    node.children[0] = &node.child
    self.format, self.name, self.flags = b"+L" if is_large else b"+l", b"", BBPE_ARROW_NULLABLE
    self.child_count, self.children, self.owner, self.release = 1, node.children, node, release_schema
    return True


cdef void release_child_schema(bbpe_arrow_schema *self) noexcept nogil:
    self.release = NULL


cdef void release_schema(bbpe_arrow_schema *self) noexcept nogil:
    if self.children[0].release != NULL:
        self.children[0].release(self.children[0])
    bbpe_memory_free(self.owner)
    self.release = NULL


cdef int make_array(bbpe_arrow_array *self, tuple chunk) except -1:
    """Make an array of lists of the ids and offsets of a chunk, and one of its ids, which may outlive the first."""
    cdef size_t first = chunk[0].ctypes.data, second = chunk[1].ctypes.data
    cdef array_node *node = <array_node *>had(bbpe_memory_zeroed(1, sizeof(array_node)))
    cdef array_node *inner = <array_node *>bbpe_memory_zeroed(1, sizeof(array_node))
    if inner == NULL:
        bbpe_memory_free(node)
        raise MemoryError("bbpe could not allocate memory")
    ids, offsets = chunk
    memset(self, 0, sizeof(bbpe_arrow_array))
    fill_array(&node.child, inner, ids, first, len(ids))
    node.children[0] = &node.child
    fill_array(self, node, offsets, second, len(offsets) - 1)
    self.child_count, self.children = 1, node.children
    return 0


cdef void fill_array(bbpe_arrow_array *self, array_node *node, object values, size_t data, int64_t length) noexcept:
    self.length, self.buffer_count, self.buffers = length, 2, node.buffers
    node.buffers[1] = <const void *>data
    node.owner = <PyObject *>values
    Py_INCREF(values)
    self.owner, self.release = node, release_array


cdef void release_array(bbpe_arrow_array *self) noexcept with gil:
    cdef array_node *node = <array_node *>self.owner
    if self.child_count and node.children[0].release != NULL:
        node.children[0].release(node.children[0])
    Py_DECREF(<object>node.owner)
    bbpe_memory_free(node)
    self.release = NULL


cdef int next_schema(bbpe_arrow_stream *self, bbpe_arrow_schema *out) noexcept nogil:
    cdef stream_node *node = <stream_node *>self.owner
    return 0 if make_schema(out, node.is_large, node.is_unsigned) else ENOMEM


cdef int next_array(bbpe_arrow_stream *self, bbpe_arrow_array *out) noexcept with gil:
    cdef stream_node *node = <stream_node *>self.owner
    cdef tuple chunks = <tuple>node.chunks
    memset(out, 0, sizeof(bbpe_arrow_array))
    if node.next < len(chunks):
        try:
            make_array(out, chunks[node.next])
        except MemoryError:
            return ENOMEM
        node.next += 1
    return 0


cdef const char *last_error(bbpe_arrow_stream *self) noexcept nogil:
    return NULL


cdef void release_stream(bbpe_arrow_stream *self) noexcept with gil:
    cdef stream_node *node = <stream_node *>self.owner
    Py_DECREF(<object>node.chunks)
    bbpe_memory_free(node)
    self.release = NULL


# what is left of a capsule that nobody consumed

cdef void free_schema(capsule) noexcept:
    cdef bbpe_arrow_schema *self = <bbpe_arrow_schema *>PyCapsule_GetPointer(capsule, "arrow_schema")
    if self.release != NULL:
        self.release(self)
    bbpe_memory_free(self)


cdef void free_array(capsule) noexcept:
    cdef bbpe_arrow_array *self = <bbpe_arrow_array *>PyCapsule_GetPointer(capsule, "arrow_array")
    if self.release != NULL:
        self.release(self)
    bbpe_memory_free(self)


cdef void free_stream(capsule) noexcept:
    cdef bbpe_arrow_stream *self = <bbpe_arrow_stream *>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if self.release != NULL:
        self.release(self)
    bbpe_memory_free(self)
