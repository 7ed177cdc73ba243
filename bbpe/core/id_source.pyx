"""The ids of a caller, readable without Python: buffers are read in place, lists are copied."""
cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t

from bbpe.core.c_decode cimport (
    BBPE_ID_I16, BBPE_ID_I32, BBPE_ID_I64, BBPE_ID_I8, BBPE_ID_NONE, BBPE_ID_U16, BBPE_ID_U32, BBPE_ID_U64, BBPE_ID_U8,
    bbpe_id_array, bbpe_id_type,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new, bbpe_pages_collapse
from bbpe.core.status cimport had

from collections.abc import Sequence
from operator import index
from sys import byteorder

from bbpe.lazy import np

from bbpe.errors import TokenIdError

cdef extern from *:
    PyObject **PySequence_Fast_ITEMS(object)
    Py_ssize_t Py_SIZE(object)

cdef bint LITTLE = byteorder == "little"


# stub: _Ids: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]


def as_ids(ids: _Ids) -> npt.NDArray[np.int64]:
    """Ids as int64[n]; `TypeError` when they are no integers of one dimension."""
    if isinstance(ids, Sequence) and not PyObject_CheckBuffer(ids) and not isinstance(ids, str):
        return _from_sequence(tuple(ids))
    array = np.asarray(ids)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise TypeError(f"ids are integers in one dimension, not {array.ndim} dimensions of {array.dtype}")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise TokenIdError(f"id {int(array.max())} is out of range")
    # a copy: another thread may write to the caller's array between the check and the use
    return np.array(array, dtype=np.int64)


def as_int(token_id: object) -> int:
    """An id of any integer type, numpy's too; truth values are a mistake."""
    if type(token_id) is int:
        return token_id
    if isinstance(token_id, (bool, np.bool_)):
        raise TypeError(f"an id is an int, not {type(token_id).__name__}")
    try:
        return index(token_id)
    except TypeError:
        raise TypeError(f"an id is an int, not {type(token_id).__name__}") from None


def _from_sequence(tuple ids):
    cdef Py_ssize_t i, n = len(ids)
    cdef int overflow
    result = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] out = result
    for i in range(n):
        token_id = ids[i] if type(ids[i]) is int else as_int(ids[i])
        out[i] = PyLong_AsLongLongAndOverflow(token_id, &overflow)
        if overflow:
            raise TokenIdError(f"id {token_id} is out of range")
    return result


cdef bint _type_of(const Py_buffer *view, bbpe_id_type *found) noexcept:
    """Which integers a buffer holds; False when they are no integers, or not in the machine's byte order."""
    cdef const char *code = view.format
    if code == NULL:
        code = "B"
    if code[0] in (c"@", c"=") or code[0] == (c"<" if LITTLE else c">"):
        code += 1
    if code[0] == 0 or code[1] != 0:
        return False
    if code[0] in (c"B", c"H", c"I", c"L", c"Q", c"N"):
        found[0] = (BBPE_ID_U8 if view.itemsize == 1 else BBPE_ID_U16 if view.itemsize == 2 else
                    BBPE_ID_U32 if view.itemsize == 4 else BBPE_ID_U64)
        return True
    if code[0] in (c"b", c"h", c"i", c"l", c"q", c"n"):
        found[0] = (BBPE_ID_I8 if view.itemsize == 1 else BBPE_ID_I16 if view.itemsize == 2 else
                    BBPE_ID_I32 if view.itemsize == 4 else BBPE_ID_I64)
        return True
    return False


cdef class IdSource:
    """Ids of any kind as a `bbpe_id_array`, which lives as long as this."""

    def __cinit__(self, ids: _Ids):
        self.given = ids
        if isinstance(ids, (list, tuple)) and self._copy(ids):
            return
        if isinstance(ids, (str, bytes)):
            raise TypeError(f"ids are integers, not {type(ids).__name__}")
        if not (PyObject_CheckBuffer(ids) and self._borrow(ids)):
            self.given = as_ids(ids)
            if not self._borrow(self.given):
                raise AssertionError("int64 is an integer type")

    def __dealloc__(self):
        bbpe_memory_free(self.owned)
        if self.viewed:
            PyBuffer_Release(&self.view)

    cdef bint _copy(self, object ids) except -1:
        """Copy out a list or tuple; False when something in it is no plain int."""
        cdef Py_ssize_t i, n
        cdef uint32_t *out
        cdef uint32_t token_id
        cdef PyObject **items
        with cython.critical_section(ids):
            n = Py_SIZE(ids)
            self.owned = out = <uint32_t *>had(bbpe_memory_new(n, sizeof(uint32_t)))
            bbpe_pages_collapse(out, n * sizeof(uint32_t))
            # no Python code runs in this loop, so nothing can change the list
            items = PySequence_Fast_ITEMS(ids)
            for i in range(n):
                token_id = bbpe_plain_id(items[i])
                if token_id == BBPE_ID_NONE:
                    bbpe_memory_free(out)
                    self.owned = NULL
                    return False
                out[i] = token_id
        self.array = bbpe_id_array(out, sizeof(uint32_t), n, BBPE_ID_U32)
        return True

    cdef bint _borrow(self, object ids) except -1:
        """Read a buffer of integers where it is; False when it is none that can be."""
        cdef bbpe_id_type kind
        try:
            PyObject_GetBuffer(ids, &self.view, PyBUF_STRIDED_RO | PyBUF_FORMAT)
        except (BufferError, ValueError):
            return False
        if self.view.ndim != 1 or not _type_of(&self.view, &kind):
            PyBuffer_Release(&self.view)
            return False
        self.viewed = True
        self.array = bbpe_id_array(self.view.buf, self.view.strides[0], self.view.shape[0], kind)
        return True

    cdef int skip(self, size_t count) except -1:
        """Leave out the first ids."""
        if count > self.array.count:
            raise ValueError(f"{count} ids are left out of {self.array.count}")
        self.array.data = <const char *>self.array.data + <ptrdiff_t>count * self.array.stride
        self.array.count -= count
        self.skipped += count
        return 0

    cdef object at(self, size_t place):
        """The id at a place, as an int of any size."""
        place += self.skipped
        return self.owned[place] if self.owned != NULL else index(np.asarray(self.given)[place])
