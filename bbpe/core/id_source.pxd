from cpython.object cimport PyObject
from libc.stdint cimport uint32_t

from bbpe.core.c_decode cimport bbpe_id_array

cdef extern from *:
    """
    /* The value of an int below 2^30, as every id is; UINT32_MAX for another object. */
    static CYTHON_INLINE uint32_t bbpe_plain_id(PyObject *item) {
        if (!PyLong_CheckExact(item)) return UINT32_MAX;
    #if PY_VERSION_HEX >= 0x030C0000
        if (!PyUnstable_Long_IsCompact((PyLongObject *)item)) return UINT32_MAX;
        Py_ssize_t value = PyUnstable_Long_CompactValue((PyLongObject *)item);
        return value < 0 ? UINT32_MAX : (uint32_t)value;
    #else
        if (Py_SIZE(item) == 1) return ((PyLongObject *)item)->ob_digit[0];
        return Py_SIZE(item) == 0 ? 0 : UINT32_MAX;
    #endif
    }
    """
    uint32_t bbpe_plain_id(PyObject *item) nogil


cdef class IdSource:
    cdef bbpe_id_array array  # borrows from one of those below
    cdef object given
    cdef Py_buffer view
    cdef bint viewed
    cdef uint32_t *owned
    cdef size_t skipped

    cdef bint _copy(self, object ids) except -1
    cdef bint _borrow(self, object ids) except -1
    cdef int skip(self, size_t count) except -1
    cdef object at(self, size_t place)
