"""Work in tasks that threads take (csrc/threads/work_queue.h)."""
from cpython.exc cimport PyErr_CheckSignals

from bbpe.core.c_threads cimport (
    BBPE_WORK_QUEUE_ROUND, bbpe_task_span, bbpe_work_queue_free, bbpe_work_queue_init, bbpe_work_queue_stop,
    bbpe_work_queue_take,
)
from bbpe.core.status cimport check


cdef class Tasks:
    """Tasks 0 to `count`, on texts of `length` characters or bytes together, which so many threads take, in rounds.

    `share` is how much of the texts each thread is going to have.
    """

    def __cinit__(self, size_t count, size_t length, size_t threads, size_t a_round=BBPE_WORK_QUEUE_ROUND):
        if threads == 0:
            raise ValueError("threads is 0; expected at least 1")
        check(bbpe_work_queue_init(&self.c, count, a_round, threads))
        self.share = length // threads

    def __dealloc__(self):
        bbpe_work_queue_free(&self.c)

    @property
    def threads(self) -> int:
        """How many threads there is work for."""
        return self.c.threads

    def take(self, size_t worker) -> range | None:
        """The numbers of tasks that are not yet taken, one after another, as a range, or None."""
        cdef bbpe_task_span taken
        self.check_worker(worker)
        return range(taken.start, taken.stop) if bbpe_work_queue_take(&self.c, worker, &taken) else None

    cdef int check_worker(self, size_t worker) except -1:
        if worker >= self.c.threads:
            raise IndexError(f"worker {worker} of {self.c.threads}")
        return 0

    def stop(self):
        """Let no thread take more, or wait for others: one has failed."""
        bbpe_work_queue_stop(&self.c)

    def fail(self, error: BaseException):
        """Stop, and keep the first error; takes no memory."""
        if self.error is None:
            self.error = error
        bbpe_work_queue_stop(&self.c)

    def raise_error(self):
        """Raise the first error, if there was one."""
        error, self.error = self.error, None
        if error is not None:
            raise error


cdef int heed_signals(size_t worker) except -1 nogil:
    """Between tasks: Python's handlers of signals run in the thread that is called, which is the first one."""
    if worker == 0:
        with gil:
            PyErr_CheckSignals()
    return 0
