"""Text -> ids: split, encode each pretoken, write the ids in place; one nogil section a call."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from bbpe.core.bpe cimport Model, scratch, scratch_free
from bbpe.core.c_common cimport BBPE_OK, bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.split cimport Splitter
from bbpe.core.status cimport check

cdef enum:
    BLOCK = 256  # pretokens split at a time; their ends stay in the L1 cache

cdef uint64_t ALL_MERGES = 0xFFFFFFFFFFFFFFFFULL


cdef class Encoder:
    """A model and, for schemes that have one, a compiled splitter; immutable, shared by any thread.

    Without a splitter the caller cuts the text and hands over the ends of the pretokens.
    """

    cdef readonly Model model
    cdef readonly Splitter splitter

    def __cinit__(self, Model model not None, Splitter splitter=None):
        self.model = model
        self.splitter = splitter

    def encode_list(self, data, ends=None):
        """The ids of a bytes-like text as a list of int; `ends`: int64[n], where its pretokens end."""
        cdef Py_buffer view
        cdef uint32_t *ids = NULL
        cdef size_t count = 0, i
        cdef list result
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            # a token is at least one byte, so there are never more ids than bytes
            ids = <uint32_t *>bbpe_memory_new(view.len, sizeof(uint32_t))
            if ids == NULL:
                raise MemoryError("bbpe could not allocate memory")
            count = self._encode(<const uint8_t *>view.buf, view.len, ends, ids)
            result = PyList_New(count)
            for i in range(count):
                token_id = <object>ids[i]
                Py_INCREF(token_id)
                PyList_SET_ITEM(result, i, token_id)
            return result
        finally:
            bbpe_memory_free(ids)
            PyBuffer_Release(&view)

    def encode_array(self, data, ends=None):
        """The ids of a bytes-like text as uint32[n]; `ends` as in `encode_list`."""
        cdef Py_buffer view
        cdef uint32_t[::1] ids
        cdef size_t count
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if view.len == 0:
                return np.empty(0, dtype=np.uint32)
            # room for the upper bound costs address space, not memory: pages are touched as ids arrive
            array = np.empty(view.len, dtype=np.uint32)
            ids = array
            count = self._encode(<const uint8_t *>view.buf, view.len, ends, &ids[0])
        finally:
            PyBuffer_Release(&view)
        ids = None
        array.resize(count, refcheck=False)
        return array

    cdef size_t _encode(self, const uint8_t *text, size_t n, object ends, uint32_t *ids) except? 0:
        cdef scratch work = scratch(NULL, 0, [NULL, 0, 0])
        cdef size_t count = 0
        cdef bbpe_status status
        cdef const int64_t[::1] given
        try:
            if ends is None:
                if self.splitter is None:
                    raise ValueError("this encoder has no splitter; the ends of the pretokens are needed")
                with nogil:
                    status = self._encode_text(&work, text, n, ids, &count)
            else:
                given = ends
                if given.shape[0] == 0:
                    return 0
                if given[given.shape[0] - 1] != <int64_t>n:
                    raise ValueError(f"the last pretoken ends at {given[given.shape[0] - 1]}, the text at {n}")
                with nogil:
                    status = self._encode_given(&work, text, &given[0], given.shape[0], ids, &count)
            check(status)
            return count
        finally:
            scratch_free(&work)

    cdef bbpe_status _encode_text(
        self, scratch *work, const uint8_t *text, size_t n, uint32_t *ids, size_t *total
    ) noexcept nogil:
        cdef size_t ends[BLOCK]
        cdef size_t start = 0, found, i, count
        cdef bbpe_status status
        while start < n:
            found = self.splitter.fill(&self.splitter.row, text, start, n, ends, BLOCK)
            for i in range(found):
                status = self.model.encode(work, text + start, ends[i] - start, ALL_MERGES, ids, &count)
                if status != BBPE_OK:
                    return status
                ids += count
                total[0] += count
                start = ends[i]
        return BBPE_OK

    cdef bbpe_status _encode_given(
        self, scratch *work, const uint8_t *text, const int64_t *ends, size_t n, uint32_t *ids, size_t *total
    ) noexcept nogil:
        cdef size_t start = 0, i, count
        cdef bbpe_status status
        for i in range(n):
            if <size_t>ends[i] == start:
                continue
            status = self.model.encode(work, text + start, ends[i] - start, ALL_MERGES, ids, &count)
            if status != BBPE_OK:
                return status
            ids += count
            total[0] += count
            start = ends[i]
        return BBPE_OK
