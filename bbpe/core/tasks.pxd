from bbpe.core.c_tasks cimport bbpe_tasks


cdef class Tasks:
    cdef bbpe_tasks c
    cdef readonly size_t share
    cdef object error

    cdef int check_worker(self, size_t worker) except -1


cdef int heed_signals(size_t worker) except -1 nogil
