"""Threads that wait for work."""
from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport (
    PY_LOCK_ACQUIRED, PyLockStatus, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock,
    PyThread_release_lock, PyThread_type_lock, WAIT_LOCK,
)
from libc.stdint cimport uint64_t

from _thread import start_new_thread

cdef extern from "base/atomic.h" nogil:
    uint64_t BBPE_ATOMIC_ACQUIRE(uint64_t *word)
    void BBPE_ATOMIC_RELEASE(uint64_t *word, uint64_t value)

cdef extern from "threads/threads.h" nogil:
    void bbpe_monitor_look(const uint64_t *word, uint64_t seen)

cdef extern from "pythread.h" nogil:
    PyLockStatus PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int intr_flag)


cdef class Helper:
    """A thread that does what it is given, and then waits for more: one that is there already begins 0.1 ms sooner."""

    cdef PyThread_type_lock given, free
    cdef uint64_t is_busy
    cdef object work, error
    cdef bint has_failed

    def __cinit__(self):
        self.given, self.free = PyThread_allocate_lock(), PyThread_allocate_lock()
        if self.given == NULL or self.free == NULL:
            raise MemoryError("bbpe could not allocate a lock")
        PyThread_acquire_lock(self.given, WAIT_LOCK)
        start_new_thread(self._live, ())

    def __dealloc__(self):
        if self.given != NULL:
            PyThread_free_lock(self.given)
        if self.free != NULL:
            PyThread_free_lock(self.free)

    def give(self, work: Callable[[], None] | None):
        """Have something done; None ends the thread.  Ctrl-C comes before it or after it."""
        self.work = work
        BBPE_ATOMIC_RELEASE(&self.is_busy, 1)
        PyThread_acquire_lock(self.free, WAIT_LOCK)
        PyThread_release_lock(self.given)

    def wait(self):
        """Return when it is done, or raise what it raised; what a handler of a signal raises comes sooner."""
        cdef PyLockStatus status
        with nogil:
            bbpe_monitor_look(&self.is_busy, 1)
        while BBPE_ATOMIC_ACQUIRE(&self.is_busy):
            with nogil:
                status = PyThread_acquire_lock_timed(self.free, -1, True)
            if status == PY_LOCK_ACQUIRED:
                PyThread_release_lock(self.free)
            PyErr_CheckSignals()
        if self.has_failed:
            error, self.error, self.has_failed = self.error, None, False
            raise MemoryError("no memory to say what failed in a thread") if error is None else error

    cdef void _do(self, work) noexcept:
        # first, for there may be no memory later
        self.has_failed = True
        try:
            work()
            self.has_failed = False
        except BaseException as error:
            self.error = error

    def _live(self):
        while True:
            with nogil:
                PyThread_acquire_lock(self.given, WAIT_LOCK)
            work, self.work = self.work, None
            if work is not None:
                self._do(work)
            ends, work = work is None, None  # what it refers to may be freed now
            # before the lock is free: whoever has it then may give the next work at once
            BBPE_ATOMIC_RELEASE(&self.is_busy, 0)
            PyThread_release_lock(self.free)
            if ends:
                return
