from bbpe.core.c_common cimport bbpe_status

cdef extern from "threads/work_queue.h" nogil:
    enum:
        BBPE_TASKS_ROUND

    ctypedef struct bbpe_span:
        size_t start
        size_t stop

    ctypedef struct bbpe_tasks:
        size_t count
        size_t threads

    bbpe_status bbpe_tasks_init(bbpe_tasks *self, size_t count, size_t round, size_t threads)
    void bbpe_tasks_free(bbpe_tasks *self)
    bint bbpe_tasks_take(bbpe_tasks *self, size_t thread, bbpe_span *taken)
    void bbpe_tasks_stop(bbpe_tasks *self)
