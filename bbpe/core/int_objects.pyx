"""Ids as Python ints that are made once: a list of ids is then a copy of pointers, 7 instead of 33 ns an id."""
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport uint32_t

from bbpe.core.c_base cimport BBPE_ATOMIC_SWAP, BBPE_PREFETCH
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_zeroed
from bbpe.core.status cimport had


cdef extern from "Python.h":
    void PyObject_GC_Track(void *object)
    void PyObject_GC_UnTrack(void *object)

cdef extern from "base/atomic.h" nogil:
    void *BBPE_ATOMIC_LOAD(void **word)
    void *BBPE_ATOMIC_ACQUIRE(void **word)

cdef enum:
    AHEAD = 8  # ids before one is needed that its object is prefetched


cdef inline void put(list result, size_t at, void *number) noexcept:
    Py_INCREF(<object>number)
    PyList_SET_ITEM(result, at, <object>number)


cdef class IntObjects:
    """The ints below `count`, each made at its first use."""

    def __cinit__(self, size_t count):
        self.objects = <void **>had(bbpe_memory_zeroed(count, sizeof(void *)))
        self.count = count

    def __dealloc__(self):
        cdef size_t i
        if self.objects != NULL:
            for i in range(self.count):
                if self.objects[i] != NULL:
                    Py_DECREF(<object>self.objects[i])
        bbpe_memory_free(self.objects)

    cdef list to_list(self, const uint32_t *ids, size_t n, tuple before=(), tuple after=()):
        """A list of numbers below `count`, between others."""
        cdef size_t first = len(before), last = len(after), i
        cdef list result = PyList_New(first + n + last)
        cdef void *number
        for i in range(first):
            put(result, i, <void *>before[i])
        for i in range(last):
            put(result, first + n + i, <void *>after[i])
        for i in range(n):
            # the objects are far from each other: 7 instead of 13 ns an id
            if i + 2 * AHEAD < n:
                BBPE_PREFETCH(self.objects + ids[i + 2 * AHEAD])
                BBPE_PREFETCH(BBPE_ATOMIC_LOAD(self.objects + ids[i + AHEAD]))
            number = BBPE_ATOMIC_ACQUIRE(self.objects + ids[i])
            if number == NULL:
                self._make(ids[i])
                number = BBPE_ATOMIC_ACQUIRE(self.objects + ids[i])
            put(result, first + i, number)
        return result

    cdef int add_lists(self, list rows, const uint32_t *ids, const size_t *counts, size_t n) except -1:
        """Append a list of numbers to `rows` for each of `counts`, which garbage collections pass over until `track_lists`.

        Making many lists has the collector walk over those before, three times over most: two million ids take 15 ms each
        time.  Nobody has these lists yet, and ints refer to nothing.
        """
        cdef size_t i
        for i in range(n):
            row = self.to_list(ids, counts[i])
            PyObject_GC_UnTrack(<void *>row)
            rows.append(row)
            ids += counts[i]
        return 0

    @staticmethod
    cdef void track_lists(list rows) noexcept:
        """Make ordinary lists of those that were appended."""
        for row in rows:
            PyObject_GC_Track(<void *>row)

    cdef int _make(self, uint32_t number) except -1:
        cdef object made = int(number)
        cdef void *nothing = NULL
        # another thread may have been first
        if BBPE_ATOMIC_SWAP(&self.objects[number], &nothing, <void *><PyObject *>made):
            Py_INCREF(made)
        return 0
