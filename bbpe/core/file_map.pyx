"""Files mapped into memory without an open file: `mmap` of Python keeps one for each, and a process has 1,024."""
from cpython.buffer cimport PyBuffer_FillInfo

from bbpe.core.c_memory cimport bbpe_pages_forget, bbpe_pages_of_file, bbpe_pages_unmap


cdef class FileMap:
    """The first `size` bytes of an open file, a buffer for reading; the file may be closed.

    Raises `OSError` where the system maps no files this way.
    """
    cdef const void *start
    cdef Py_ssize_t size

    def __cinit__(self, int file, Py_ssize_t size):
        if size < 1:
            raise ValueError(f"size is {size}; expected at least 1")
        self.start = bbpe_pages_of_file(file, <size_t>size)
        if self.start == NULL:
            raise OSError(f"the system does not map {size} bytes of a file")
        self.size = size

    def __dealloc__(self):
        if self.start != NULL:
            bbpe_pages_unmap(self.start, <size_t>self.size)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, <void *>self.start, self.size, 1, flags)

    def forget(self) -> None:
        """Give back the memory of what was read, which is read again if it is asked for."""
        bbpe_pages_forget(self.start, <size_t>self.size)
