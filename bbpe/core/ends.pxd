"""Ends of parts of a text that a caller gives as int64: refused by name here, and read once where they are used."""
from libc.stdint cimport int64_t

cdef extern from "threads/threads.h" nogil:
    bint bbpe_ends_next(const int64_t *given, size_t n, size_t *end)
    bint bbpe_ends_part(const int64_t *first, const int64_t *last, size_t n, size_t *start, size_t *end)


cdef inline int check_ends(const int64_t[::1] ends, size_t size) except -1:
    """Refuse ends that fall, or lead out of a text of `size` bytes."""
    cdef Py_ssize_t i
    cdef size_t last = 0
    for i in range(ends.shape[0]):
        if not bbpe_ends_next(&ends[i], size, &last):
            raise ValueError(f"number {i} is {ends[i]}, in a text of {size} bytes; expected at least {last}")
    return 0


cdef inline int check_pretokens(const int64_t[::1] ends, size_t size) except -1:
    """Refuse ends of pretokens that are not all of a text of `size` bytes."""
    cdef Py_ssize_t n = ends.shape[0]
    check_ends(ends, size)
    if n and <size_t>ends[n - 1] != size:
        raise ValueError(f"the last pretoken ends at {ends[n - 1]}, the text at {size}")
    return 0
