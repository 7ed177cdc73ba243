"""Compiled splitters, and the byte lengths of pretokens that a regex found."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t

import numpy as np

from bbpe.core.c_common cimport BBPE_NO_MEMORY, BBPE_OK, bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_reserve
from bbpe.core.c_split cimport bbpe_split_find, bbpe_split_unicode_version
from bbpe.core.status cimport check

UNICODE_VERSION = (<bytes>bbpe_split_unicode_version()).decode()


cdef class Splitter:
    """The compiled splitter of a scheme; immutable, shared by any number of threads."""

    def __cinit__(self, str name not None):
        self.fill = bbpe_split_find(name.encode())
        if self.fill == NULL:
            raise ValueError(f"there is no compiled splitter named {name!r}")
        self.name = name

    def __reduce__(self):
        return Splitter, (self.name,)

    def spans(self, data):
        """Cut a bytes-like text; returns the int64[n + 1] offsets of its n pretokens and its end."""
        cdef Py_buffer view
        cdef size_t *ends = NULL
        cdef size_t count = 0, capacity = 0, start = 0, got, length
        cdef bbpe_status status = BBPE_OK
        cdef void *grown
        cdef int64_t[::1] out
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            length = <size_t>view.len
            with nogil:
                while start < length:
                    grown = bbpe_memory_reserve(ends, &capacity, count + 4096, sizeof(size_t))
                    if grown == NULL:
                        status = BBPE_NO_MEMORY
                        break
                    ends = <size_t *>grown
                    got = self.fill(<const uint8_t *>view.buf, start, length, ends + count, capacity - count)
                    count += got
                    start = ends[count - 1]
            check(status)
            offsets = np.zeros(count + 1, dtype=np.int64)
            out = offsets
            for got in range(count):
                out[got + 1] = <int64_t>ends[got]
            return offsets
        finally:
            bbpe_memory_free(ends)
            PyBuffer_Release(&view)


def utf8_ends(list pretokens not None):
    """The int64[n] ends, in bytes, of strings that are joined and encoded with "surrogateescape"."""
    ends = np.empty(len(pretokens), dtype=np.int64)
    cdef int64_t[::1] out = ends
    cdef int64_t total = 0
    cdef Py_ssize_t i
    cdef Py_UCS4 char
    cdef str pretoken
    for i in range(len(pretokens)):
        pretoken = pretokens[i]
        for char in pretoken:
            if char < 0x80 or 0xDC80 <= char <= 0xDCFF:
                total += 1  # ASCII, or a byte that is not UTF-8
            else:
                total += 2 if char < 0x800 else 3 if char < 0x10000 else 4
        out[i] = total
    return ends
