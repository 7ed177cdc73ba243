"""The one place where a C status becomes a Python exception."""
from bbpe.core.c_base cimport BBPE_CHANGED, BBPE_INTERRUPTED, BBPE_NO_MEMORY, BBPE_OK, BBPE_TOO_LARGE, bbpe_status


cdef inline void *had(void *memory) except NULL:
    """Memory that was asked for, if there was any."""
    if memory == NULL:
        raise MemoryError("bbpe could not allocate memory")
    return memory


cdef inline int check(bbpe_status status) except -1:
    if status == BBPE_OK:
        return 0
    if status == BBPE_NO_MEMORY:
        raise MemoryError("bbpe could not allocate memory")
    if status == BBPE_TOO_LARGE:
        raise OverflowError("the input is too large for the 32-bit offsets of this table")
    if status == BBPE_CHANGED:
        raise RuntimeError("another thread changed what was given while it was read")
    if status == BBPE_INTERRUPTED:
        return -1  # with the exception that the signal's handler raised
    raise AssertionError(f"unknown status {<int>status}")
