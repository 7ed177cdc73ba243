from bbpe.core.c_threads cimport bbpe_work_queue


cdef class Tasks:
    cdef bbpe_work_queue c
    cdef readonly size_t share
    cdef object error

    cdef int check_worker(self, size_t worker) except -1


cdef int heed_signals(size_t worker) except -1 nogil
