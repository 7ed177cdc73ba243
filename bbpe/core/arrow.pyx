"""Arrays that another library hands over by the Arrow C data interface (csrc/text/arrow.h)."""
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.string cimport memset

from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_reserve
from bbpe.core.c_text cimport bbpe_arrow_array, bbpe_arrow_schema, bbpe_arrow_stream
from bbpe.core.status cimport had


def is_arrow(given: object) -> bool:
    """Whether an object hands over a column of Arrow, and is none of pandas that holds Python's objects."""
    kind = type(given)
    return (hasattr(kind, "__arrow_c_array__") or hasattr(kind, "__arrow_c_stream__")) and (
        str(getattr(given, "dtype", "")) != "object")


# stub: NAMES: dict[str, str]
NAMES = {
    "n": "null", "b": "bool", "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32",
    "l": "int64", "L": "uint64", "e": "float16", "f": "float", "g": "double", "u": "string", "U": "large_string",
    "vu": "string_view", "z": "binary", "Z": "large_binary", "vz": "binary_view", "+l": "list", "+L": "large_list",
    "+s": "struct (one column of a table is needed)",
}


def type_name(bytes kind not None) -> str:
    """The name of a type for messages, or its format where the interface's specification has to be read."""
    text = kind.decode("utf-8", "replace")
    return NAMES.get(text, text)


cdef class ArrowChunks:
    """The schema of a column and its arrays, which are released with this."""

    def __cinit__(self):
        memset(&self.schema, 0, sizeof(bbpe_arrow_schema))

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.count):
            if self.arrays[i].release != NULL:
                self.arrays[i].release(&self.arrays[i])
        bbpe_memory_free(self.arrays)
        if self.schema.release != NULL:
            self.schema.release(&self.schema)

    cdef bint open(self, object given) except -1:
        """Take what an object hands over; False when it cannot, as pandas without pyarrow."""
        cdef bbpe_arrow_schema *schema
        cdef bbpe_arrow_array *array
        if not hasattr(given, "__arrow_c_array__"):
            return self._stream(given)
        schemas, arrays = given.__arrow_c_array__()
        schema = <bbpe_arrow_schema *>PyCapsule_GetPointer(schemas, "arrow_schema")
        array = <bbpe_arrow_array *>PyCapsule_GetPointer(arrays, "arrow_array")
        # a struct whose `release` is NULL is not released by its capsule
        self.schema, schema.release = schema[0], NULL
        self.take(array)
        return True

    cdef int take(self, bbpe_arrow_array *array) except -1:
        cdef void *grown = had(bbpe_memory_reserve(self.arrays, &self.capacity, self.count + 1, sizeof(bbpe_arrow_array)))
        self.arrays = <bbpe_arrow_array *>grown
        self.arrays[self.count] = array[0]
        array.release = NULL
        self.count += 1
        return 0

    def _stream(self, given):
        cdef bbpe_arrow_stream *stream
        cdef bbpe_arrow_array array
        cdef int failed
        try:
            capsule = given.__arrow_c_stream__()
        except ImportError:
            return False
        stream = <bbpe_arrow_stream *>PyCapsule_GetPointer(capsule, "arrow_array_stream")
        # the stream stays its capsule's; its functions may wait for threads that need the interpreter
        with nogil:
            failed = stream.get_schema(stream, &self.schema)
        _check_stream(stream, failed)
        while True:
            memset(&array, 0, sizeof(bbpe_arrow_array))
            with nogil:
                failed = stream.get_next(stream, &array)
            _check_stream(stream, failed)
            if array.release == NULL:
                return True
            try:
                self.take(&array)
            finally:
                if array.release != NULL:
                    array.release(&array)


cdef int _check_stream(bbpe_arrow_stream *stream, int failed) except -1:
    cdef const char *message
    if failed:
        message = stream.get_last_error(stream)
        reason = f"error {failed}" if message == NULL else message.decode("utf-8", "replace")
        raise ValueError(f"the Arrow stream of the column failed: {reason}")
    return 0
