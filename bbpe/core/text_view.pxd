"""Texts as C reads them, without copies: a str in its own units, a bytes-like as UTF-8."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t

from bbpe.core.c_encode cimport bbpe_encode_text

cdef extern from "Python.h" nogil:
    bint PyUnicode_IS_ASCII(object text)
    unsigned PyUnicode_KIND(object text)
    void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    void *PyList_GET_ITEM(object texts, Py_ssize_t at)

cdef extern from "base/common.h" nogil:
    void BBPE_PREFETCH(const void *word)

cdef enum:
    FETCHED_AHEAD = 16  # texts

ctypedef struct text_view:
    bbpe_encode_text text
    size_t length  # in units
    Py_buffer buffer
    bint has_buffer


cdef inline object buffer_of(object text):
    """A memoryview of a contiguous buffer of bytes."""
    try:
        view = memoryview(text)
    except TypeError:
        raise TypeError(f"a text is str or bytes-like, not {type(text).__name__}") from None
    if view.ndim != 1 or view.itemsize != 1 or not view.contiguous:
        raise TypeError(
            f"a bytes-like text is a contiguous buffer of bytes, not {view.ndim} dimensions of format {view.format!r}")
    return view


cdef inline unsigned text_unit_size(object text) noexcept:
    """The bytes of a str's units; 0 of ASCII, which is UTF-8 as it is."""
    return 0 if PyUnicode_IS_ASCII(text) else PyUnicode_KIND(text)


cdef inline int text_open(text_view *self, object text) except -1:
    """Look at a str or a buffer of bytes, which must outlive the view; text_close ends it.

    `TypeError` on anything else.
    """
    self.has_buffer = False
    if PyUnicode_Check(text):
        self.text = bbpe_encode_text(PyUnicode_DATA(text), text_unit_size(text))
        self.length = PyUnicode_GET_LENGTH(text)
    elif PyBytes_CheckExact(text):
        self.text = bbpe_encode_text(PyBytes_AS_STRING(text), 0)
        self.length = PyBytes_GET_SIZE(text)
    else:
        view = buffer_of(text)
        PyObject_GetBuffer(view, &self.buffer, PyBUF_SIMPLE)
        self.has_buffer = True
        self.text = bbpe_encode_text(self.buffer.buf, 0)
        self.length = self.buffer.len
    return 0


cdef inline void text_close(text_view *self) noexcept:
    if self.has_buffer:
        PyBuffer_Release(&self.buffer)


cdef inline int check_cuts(const int64_t[::1] cuts, const text_view *view, size_t parts) except -1:
    """Refuse cuts that are not as many as parts begin and end at, or were made of a text of another length."""
    cdef size_t end
    if <size_t>cuts.shape[0] != parts + 1:
        raise ValueError(f"{cuts.shape[0]} cuts of {parts} parts; expected one more")
    end = <size_t>cuts[parts]
    if end != view.length:
        raise RuntimeError(f"the text has {view.length} bytes, and had {end}: it was changed while it was encoded")
    return 0


cdef inline object text_at(list texts, Py_ssize_t at):
    """A text of a batch; some that follow it are fetched: 8 MB of texts of 200 bytes are seen in 0.7, not 6 ms.

    `RuntimeError` when another thread has taken it away.
    """
    cdef Py_ssize_t n = len(texts)
    if at >= n:
        raise RuntimeError(f"text {at} of a batch is gone: the batch was changed while it was encoded")
    if at + FETCHED_AHEAD < n:
        BBPE_PREFETCH(PyList_GET_ITEM(texts, at + FETCHED_AHEAD))
    return texts[at]
