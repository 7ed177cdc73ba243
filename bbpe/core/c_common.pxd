cdef extern from "base/common.h" nogil:
    ctypedef enum bbpe_status:
        BBPE_OK
        BBPE_NO_MEMORY
        BBPE_TOO_LARGE
        BBPE_CHANGED

    void BBPE_PREFETCH(const void *place)
