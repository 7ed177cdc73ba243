"""Which texts were seen, by 16 bytes of each (csrc/count/seen.h)."""
from cpython cimport array
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t

from bbpe.core.budget cimport SALT
from bbpe.core.c_base cimport BBPE_CHANGED, BBPE_OK, bbpe_status
from bbpe.core.c_count cimport (
    bbpe_count_digester, bbpe_count_digester_finish, bbpe_count_digester_init, bbpe_count_digester_update,
    bbpe_count_seen, bbpe_count_seen_add, bbpe_count_seen_free, bbpe_count_seen_init, bbpe_count_seen_need,
    bbpe_count_seen_reserve,
)
from bbpe.core.ends cimport bbpe_ends_next
from bbpe.core.status cimport check


cdef array.array _NUMBERS = array.array("q")


cdef class SeenTexts:
    """The set of texts that were seen: 16 bytes for each; one thread at a time may use it."""

    cdef bbpe_count_seen c

    def __cinit__(self):
        check(bbpe_count_seen_init(&self.c))

    def __dealloc__(self):
        bbpe_count_seen_free(&self.c)

    def __len__(self) -> int:
        return self.c.count

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the set holds."""
        return (self.c.mask + 1) * 16

    def need(self, size_t more) -> int:
        """The bytes that the set takes at most while `more` texts are added."""
        return bbpe_count_seen_need(&self.c, more)

    def new(self, data: Buffer, const int64_t[::1] ends not None) -> array[int]:
        """Add texts that end at `ends` in `data`, int64[n], ascending; the numbers of those that are new, int64[m]."""
        cdef Py_buffer view
        cdef bbpe_status status = BBPE_OK
        cdef Py_ssize_t i, n = ends.shape[0], found = 0
        cdef size_t start = 0, stop = 0
        cdef bbpe_count_digester digester
        cdef array.array numbers = array.clone(_NUMBERS, n, zero=False)
        cdef int64_t[::1] out = numbers
        check(bbpe_count_seen_reserve(&self.c, <size_t>n))
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                for i in range(n):
                    if not bbpe_ends_next(&ends[i], <size_t>view.len, &stop):
                        status = BBPE_CHANGED
                        break
                    bbpe_count_digester_init(&digester, SALT)
                    bbpe_count_digester_update(&digester, <const uint8_t *>view.buf + start, stop - start)
                    if bbpe_count_seen_add(&self.c, bbpe_count_digester_finish(&digester)):
                        out[found] = i
                        found += 1
                    start = stop
            check(status)
        finally:
            PyBuffer_Release(&view)
        array.resize(numbers, found)
        return numbers

    def add(self, Digester text not None) -> bool:
        """Add a text by its digest; whether it is new."""
        check(bbpe_count_seen_reserve(&self.c, 1))
        return bbpe_count_seen_add(&self.c, bbpe_count_digester_finish(&text.c))


cdef class Digester:
    """The digest of a text that comes in pieces."""

    cdef bbpe_count_digester c

    def __cinit__(self):
        bbpe_count_digester_init(&self.c, SALT)

    def update(self, const uint8_t[::1] piece not None):
        """Add the next piece of the text."""
        if piece.shape[0]:
            with nogil:
                bbpe_count_digester_update(&self.c, &piece[0], <size_t>piece.shape[0])
