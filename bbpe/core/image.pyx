"""Tables in blocks of memory that a file can hold (csrc/tables/image.h), written and opened."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uintptr_t
from libc.string cimport memset

from bbpe.core.c_tables cimport (
    BBPE_IMAGE_ALIGNMENT, BBPE_IMAGE_MEASURE, BBPE_IMAGE_OPEN, BBPE_IMAGE_WRITE, bbpe_image, bbpe_image_checksum,
    bbpe_image_is_whole, bbpe_image_size,
)

cdef extern from *:
    const char *BBPE_BUILD  # setup.py defines it

#: Where an image begins: at a multiple of so many bytes.
ALIGNMENT: int = BBPE_IMAGE_ALIGNMENT
#: A digest of everything that the compiled modules were built from.
BUILD: str = (<bytes>BBPE_BUILD).decode("ascii")


cdef bbpe_image image_measured() noexcept:
    """An image that is going to be measured."""
    cdef bbpe_image image
    memset(&image, 0, sizeof(image))
    image.purpose = BBPE_IMAGE_MEASURE
    return image


cdef bytes image_begin(bbpe_image *image):
    """The memory for an image that has been measured, which is going to be written."""
    cdef size_t size = bbpe_image_size(image)
    cdef bytes made = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
    memset(image, 0, sizeof(image[0]))
    image.purpose, image.size, image.bytes = BBPE_IMAGE_WRITE, size, <uint8_t *>PyBytes_AS_STRING(made)
    memset(image.bytes + size - BBPE_IMAGE_ALIGNMENT, 0, BBPE_IMAGE_ALIGNMENT)
    return made


cdef bbpe_image image_of(const uint8_t[::1] data) except *:
    """An image that is going to be opened; `ValueError` when it does not begin where it must."""
    cdef bbpe_image image
    memset(&image, 0, sizeof(image))
    image.purpose, image.size = BBPE_IMAGE_OPEN, <size_t>data.shape[0]
    if image.size:
        image.bytes = <uint8_t *>&data[0]
    if <uintptr_t>image.bytes % BBPE_IMAGE_ALIGNMENT:
        raise ValueError(f"an image begins at a multiple of {ALIGNMENT} bytes")
    return image


cdef int image_end(const bbpe_image *image) except -1:
    """`ValueError` when what was opened is not the whole image."""
    if not bbpe_image_is_whole(image):
        raise ValueError(f"found {image.size} bytes that are no image of such tables")
    return 0


def checksum(const uint8_t[::1] data not None: Buffer) -> int:
    """A digest of 64 bits that finds out accidental damage.

    >>> checksum(b"abc") == checksum(b"abc") != checksum(b"abd")
    True
    """
    cdef const uint8_t *start = NULL
    cdef size_t size = <size_t>data.shape[0]
    if size:
        start = &data[0]
    with nogil:
        found = bbpe_image_checksum(start, size)
    return found
