"""What a batch of texts will take, before any of it is encoded."""
from cpython.unicode cimport PyUnicode_Check, PyUnicode_GET_LENGTH
from libc.stdint cimport int64_t

import numpy as np

from bbpe.core.c_encode cimport BBPE_ENCODE_SLACK, bbpe_encode_bound
from bbpe.core.text_view cimport text_at, text_unit_size


def extents(list texts not None):
    """How long texts are, in characters or bytes, int64[n], and for how many ids there must be room.

    `TypeError` on what is no text.
    """
    cdef Py_ssize_t i, n = len(texts)
    cdef size_t room = BBPE_ENCODE_SLACK
    lengths = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] out = lengths
    for i in range(n):
        text = text_at(texts, i)
        if PyUnicode_Check(text):
            out[i] = PyUnicode_GET_LENGTH(text)
            room += bbpe_encode_bound(text_unit_size(text), out[i])
            continue
        try:
            out[i] = len(text)
        except TypeError:
            raise TypeError(f"a text is str or bytes-like, not {type(text).__name__}") from None
        room += out[i]
    return lengths, room
