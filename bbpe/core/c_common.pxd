cdef extern from "common.h" nogil:
    ctypedef enum bbpe_status:
        BBPE_OK
        BBPE_NO_MEMORY
        BBPE_TOO_LARGE

    void BBPE_PREFETCH(const void *place)
