"""The buffer for the ids of one call, which become an array; a large one is used again when that is freed."""
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport uint32_t

from bbpe.lazy import np

from bbpe.core.budget cimport BUDGET, keep_freed
from bbpe.core.c_base cimport BBPE_ATOMIC_EXCHANGE, BBPE_ATOMIC_LOAD, BBPE_ATOMIC_SWAP
from bbpe.core.c_encode cimport BBPE_ENCODE_SLACK
from bbpe.core.c_memory cimport (
    bbpe_memory_free, bbpe_memory_zeroed, bbpe_reusable_buffer, bbpe_reusable_buffer_close, bbpe_reusable_buffer_extend,
    bbpe_reusable_buffer_open, bbpe_reusable_buffer_trim,
)

cdef enum:
    LARGE = 1 << 20  # ids: fewer are left to numpy, whose allocator keeps them

cdef void *IDLE = NULL  # a buffer that waits for the next large text, whichever tokenizer's


cdef class IdBuffer:
    """Memory for up to `most` ids, and what encoding may write after them, a buffer of uint32: fill it from its beginning,
    no further than was asked for by `extend`, then take them, once."""

    def __cinit__(self, size_t most):
        cdef uint32_t[::1] ids
        if most > <size_t>-1 // sizeof(uint32_t) - BBPE_ENCODE_SLACK:
            raise MemoryError("bbpe could not allocate memory")
        most += BBPE_ENCODE_SLACK
        self.count = most
        if most < LARGE:
            keep_freed(most * sizeof(uint32_t))
            self.array = np.empty(most, dtype=np.uint32)
            ids = self.array
            self.ids = &ids[0]
            return
        self.buffer = <bbpe_reusable_buffer *>BBPE_ATOMIC_EXCHANGE(&IDLE, NULL)
        if self.buffer == NULL:
            self.buffer = <bbpe_reusable_buffer *>bbpe_memory_zeroed(1, sizeof(bbpe_reusable_buffer))
        if self.buffer == NULL or not bbpe_reusable_buffer_open(self.buffer, most * sizeof(uint32_t)):
            raise MemoryError("bbpe could not allocate memory")
        self.ids = <uint32_t *>self.buffer.start

    def __dealloc__(self):
        cdef void *nothing = NULL
        if self.buffer == NULL:
            return
        if not (self.is_taken and self.buffer.kept <= BBPE_ATOMIC_LOAD(&BUDGET.limit)
                and BBPE_ATOMIC_SWAP(&IDLE, &nothing, self.buffer)):
            free_buffer(self.buffer)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.ids, self.count * sizeof(uint32_t), False, flags)

    cdef int extend(self, size_t count) except -1:
        """Have memory for the first `count` ids, and what encoding may write after them."""
        if self.buffer != NULL and not bbpe_reusable_buffer_extend(self.buffer, (count + BBPE_ENCODE_SLACK) * sizeof(uint32_t)):
            raise MemoryError("bbpe could not allocate memory")
        return 0

    def taken(self, size_t count) -> npt.NDArray[np.uint32]:
        """The first `count` ids: uint32[count]; the rest of the buffer is given back."""
        if self.buffer == NULL:
            array, self.array, self.ids, self.count = self.array, None, NULL, 0
            array.resize(count, refcheck=False)
            return array
        bbpe_reusable_buffer_trim(self.buffer, count * sizeof(uint32_t))
        self.count, self.is_taken = count, True
        return np.frombuffer(self, dtype=np.uint32) if count else np.empty(0, dtype=np.uint32)


cdef int free_buffer(bbpe_reusable_buffer *buffer) except -1:
    bbpe_reusable_buffer_close(buffer)
    bbpe_memory_free(buffer)
    return 0


cdef int drop_idle_buffer() except -1:
    """Free the buffer that waits for a text."""
    cdef bbpe_reusable_buffer *buffer = <bbpe_reusable_buffer *>BBPE_ATOMIC_EXCHANGE(&IDLE, NULL)
    return free_buffer(buffer) if buffer != NULL else 0
