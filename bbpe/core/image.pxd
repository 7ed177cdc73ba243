from libc.stdint cimport uint8_t

from bbpe.core.c_tables cimport bbpe_image


cdef bbpe_image image_measured() noexcept
cdef bytes image_begin(bbpe_image *image)
cdef bbpe_image image_of(const uint8_t[::1] data) except *
cdef int image_end(const bbpe_image *image) except -1
