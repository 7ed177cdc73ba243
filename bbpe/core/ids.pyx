"""Ids -> bytes."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from operator import index

import numpy as np

from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new, bbpe_memory_zeroed

from bbpe.errors import TokenIdError


def as_ids(ids):
    """Ids as int64[n]; `TypeError` when they are no integers of one dimension."""
    if isinstance(ids, (list, tuple)):
        return _from_sequence(ids)
    array = np.asarray(ids)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise TypeError(f"ids are integers in one dimension, not {array.ndim} dimensions of {array.dtype}")
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise TokenIdError(f"id {int(array.max())} is out of range")
    # a copy: another thread may write to the caller's array between the check and the use
    return np.array(array, dtype=np.int64)


def _as_int(token_id):
    """An id of another integer type, numpy's say; truth values are a mistake."""
    if isinstance(token_id, (bool, np.bool_)):
        raise TypeError(f"an id is an int, not {type(token_id).__name__}")
    try:
        return index(token_id)
    except TypeError:
        raise TypeError(f"an id is an int, not {type(token_id).__name__}") from None


def _from_sequence(ids):
    cdef Py_ssize_t i, n = len(ids)
    cdef int overflow
    result = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] out = result
    for i in range(n):
        token_id = ids[i] if type(ids[i]) is int else _as_int(ids[i])
        out[i] = PyLong_AsLongLongAndOverflow(token_id, &overflow)
        if overflow:
            raise TokenIdError(f"id {token_id} is out of range")
    return result


cdef class TokenBytes:
    """The bytes of every id, special tokens too; immutable, shared by any number of threads."""

    cdef uint64_t *starts    # by id: where its bytes begin, plus 1; 0 where the id is a hole
    cdef uint32_t *lengths
    cdef uint8_t *arena
    cdef readonly size_t id_count

    def __cinit__(self, vocab):
        cdef size_t used = 0, n
        cdef bytes token
        self.id_count = 1 + <size_t>max(vocab) if vocab else 0
        self.starts = <uint64_t *>bbpe_memory_zeroed(self.id_count, sizeof(uint64_t))
        self.lengths = <uint32_t *>bbpe_memory_zeroed(self.id_count, sizeof(uint32_t))
        self.arena = <uint8_t *>bbpe_memory_new(sum(map(len, vocab.values())), 1)
        if self.starts == NULL or self.lengths == NULL or self.arena == NULL:
            raise MemoryError("bbpe could not allocate memory")
        for token_id, token in vocab.items():
            n = len(token)
            memcpy(self.arena + used, PyBytes_AS_STRING(token), n)
            self.starts[<size_t>token_id] = used + 1
            self.lengths[<size_t>token_id] = <uint32_t>n
            used += n

    def __dealloc__(self):
        bbpe_memory_free(self.starts)
        bbpe_memory_free(self.lengths)
        bbpe_memory_free(self.arena)

    def token(self, token_id):
        """The bytes of one id; `TokenIdError` when there is no such id."""
        token_id = _as_int(token_id)
        if not 0 <= token_id < self.id_count or self.starts[<size_t>token_id] == 0:
            raise self._error(token_id)
        return PyBytes_FromStringAndSize(
            <char *>self.arena + self.starts[<size_t>token_id] - 1, self.lengths[<size_t>token_id])

    def join(self, ids):
        """The bytes of ids, one after another: a sequence of int or any integer array of one dimension.

        `TokenIdError` names the first bad id.
        """
        return self._join(as_ids(ids))

    def _join(self, const int64_t[::1] ids):
        cdef size_t n = <size_t>ids.shape[0], i, total = 0
        cdef uint64_t token_id
        cdef int64_t bad = 0
        cdef bint failed = False
        cdef char *out
        with nogil:
            for i in range(n):
                token_id = <uint64_t>ids[i]  # a negative id becomes a huge one
                if token_id >= self.id_count or self.starts[token_id] == 0:
                    bad, failed = ids[i], True
                    break
                total += self.lengths[token_id]
        if failed:
            raise self._error(bad)
        result = PyBytes_FromStringAndSize(NULL, total)
        out = PyBytes_AS_STRING(result)
        with nogil:
            for i in range(n):
                token_id = <uint64_t>ids[i]
                memcpy(out, self.arena + self.starts[token_id] - 1, self.lengths[token_id])
                out += self.lengths[token_id]
        return result

    def _error(self, token_id):
        if 0 <= token_id < self.id_count:
            return TokenIdError(f"id {token_id} is a hole in the vocabulary; no token has it")
        return TokenIdError(f"id {token_id} is out of range; expected 0 to {self.id_count - 1}")
