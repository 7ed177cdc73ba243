"""What a batch of texts will take, before any of it is encoded."""
from cpython.unicode cimport PyUnicode_Check, PyUnicode_GET_LENGTH
from libc.stdint cimport int64_t

from bbpe.core.c_encode cimport BBPE_ENCODE_SLACK, bbpe_encode_bound
from bbpe.core.text_view cimport text_at, text_unit_size


def extent(list texts not None, int64_t[::1] ends=None):
    """How long texts are together, in characters or bytes, and for how many ids there must be room.

    Where each of them ends goes to `ends`, int64[n], if that is given.  `TypeError` on what is no text.
    """
    cdef Py_ssize_t i, n = len(texts)
    cdef int64_t length = 0, own
    cdef size_t room = BBPE_ENCODE_SLACK
    cdef bint is_listed = ends is not None
    if is_listed and ends.shape[0] != n:
        raise ValueError(f"{ends.shape[0]} places for the ends of {n} texts")
    for i in range(n):
        text = text_at(texts, i)
        if PyUnicode_Check(text):
            own = PyUnicode_GET_LENGTH(text)
            room += bbpe_encode_bound(text_unit_size(text), own)
        else:
            try:
                own = len(text)
            except TypeError:
                raise TypeError(f"a text is str or bytes-like, not {type(text).__name__}") from None
            room += own
        length += own
        if is_listed:
            ends[i] = length
    return length, room
