"""The size of a batch of texts, and the most ids that it can have, before it is encoded."""
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t

from bbpe.core.c_encode cimport bbpe_encode_bound
from bbpe.core.column cimport Column
from bbpe.core.text_view cimport text_at, text_unit_size


cpdef size_t most_ids(text: Text, size_t length):
    """How many ids so many characters or bytes of a text have at most."""
    if PyUnicode_Check(text):
        return bbpe_encode_bound(text_unit_size(text), length)
    return length


def extent(texts: Texts, int64_t[::1] ends not None) -> tuple[int, int]:
    """How long texts are together, in characters or bytes, and how many ids they have at most.

    What the latter is for all texts up to each one goes to `ends`, int64[n].  `TypeError` naming the first that is no text.
    """
    cdef Py_ssize_t i, n = len(texts)
    cdef int64_t length = 0, most = 0, own
    cdef int64_t *out = &ends[0] if n and n == ends.shape[0] else NULL
    if ends.shape[0] != n:
        raise ValueError(f"{ends.shape[0]} places for the ends of {n} texts")
    if isinstance(texts, Column):
        length = (<Column>texts).ends(out) if n else 0
        return length, length
    for i in range(n):
        text = text_at(texts, i)
        try:
            own = len(text)
        except TypeError:
            raise TypeError(
                f"text {i} of the batch, counted from 0: a text is str or bytes-like, not {type(text).__name__}") from None
        most += most_ids(text, own)
        length += own
        out[i] = most
    return length, most
