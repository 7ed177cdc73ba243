"""Threads that wait for work.

Handlers of signals run between two instructions of Python's bytecode, in the main thread, and what they raise may end a
caller anywhere.  So helpers change hands in this module alone, in functions that run no bytecode in between:

    _IDLE --_taken--> a call of `run` or `run_aside`, or a `Crew` --_dismiss--> _IDLE, or the end of the thread

A helper that waits in _IDLE for some seconds ends itself.  One whose `Crew` is gone ends after its work.
"""
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport (
    PY_LOCK_ACQUIRED, PyLockStatus, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock,
    PyThread_release_lock, PyThread_type_lock, WAIT_LOCK,
)
from libc.stdint cimport uint64_t

import os
from _queue import Empty, SimpleQueue
from _thread import start_new_thread
from collections import deque

cdef extern from "base/atomic.h" nogil:
    uint64_t BBPE_ATOMIC_ACQUIRE(uint64_t *word)
    void BBPE_ATOMIC_RELEASE(uint64_t *word, uint64_t value)

cdef extern from "threads/threads.h" nogil:
    void bbpe_monitor_look(const uint64_t *word, uint64_t seen)

cdef extern from "pythread.h" nogil:
    PyLockStatus PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int intr_flag)

#: Helpers that nobody has.
_IDLE = deque()
#: Microseconds that a helper waits for work.
_PATIENCE = 5_000_000
#: Microseconds between two looks at whether Ctrl-C was pressed: Windows does not wake a thread that waits, nor does any
#: system where another thread has heard the signal.
_LOOK = 50_000
cdef object _affinity = getattr(os, "sched_getaffinity", None)
cdef object _set_affinity = getattr(os, "sched_setaffinity", None)


@cython.final
cdef class Helper:
    """A thread that does what it is given, and then waits for more: one that is there already begins 0.1 ms sooner."""

    cdef PyThread_type_lock given, free
    cdef uint64_t is_busy, is_left
    cdef object work, number, processors, error
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

    cdef void give(self, work, number, processors) noexcept:
        """Have `work(number)` done, `work()` where the number is None, on these processors; no work ends the thread."""
        self.work, self.number, self.processors = work, number, processors
        BBPE_ATOMIC_RELEASE(&self.is_busy, 1)
        PyThread_acquire_lock(self.free, WAIT_LOCK)
        PyThread_release_lock(self.given)

    cdef int wait(self) except -1:
        """Return when it is done, or raise what it raised; what a handler of a signal raises comes sooner."""
        cdef PyLockStatus status
        cdef long long look = _LOOK
        with nogil:
            bbpe_monitor_look(&self.is_busy, 1)
        while BBPE_ATOMIC_ACQUIRE(&self.is_busy):
            with nogil:
                status = PyThread_acquire_lock_timed(self.free, look, True)
            if status == PY_LOCK_ACQUIRED:
                PyThread_release_lock(self.free)
            PyErr_CheckSignals()
        if self.has_failed:
            error, self.error, self.has_failed = self.error, None, False
            raise MemoryError("no memory to say what failed in a thread") if error is None else error
        return 0

    cdef void _do(self, work) noexcept:
        # first, for there may be no memory later
        self.has_failed = True
        number, processors, self.number, self.processors = self.number, self.processors, None, None
        try:
            # the thread may have been begun by one that may run on others
            if processors and _affinity(0) != processors:
                _set_affinity(0, processors)
            if number is None:
                work()
            else:
                work(number)
            self.has_failed = False
        except BaseException as error:
            self.error = error

    def _live(self):
        cdef PyLockStatus status
        cdef long long patience
        while True:
            patience = _PATIENCE
            with nogil:
                status = PyThread_acquire_lock_timed(self.given, patience, False)
            if status != PY_LOCK_ACQUIRED:
                try:
                    _IDLE.remove(self)
                except ValueError:
                    continue  # somebody has it, who gives it work now
                return
            work, self.work = self.work, None
            if work is not None:
                self._do(work)
            ends, work = work is None or BBPE_ATOMIC_ACQUIRE(&self.is_left), None  # its references may be freed now
            # before the lock is free: whoever has it then may give the next work at once
            BBPE_ATOMIC_RELEASE(&self.is_busy, 0)
            PyThread_release_lock(self.free)
            if ends or BBPE_ATOMIC_ACQUIRE(&self.is_left):
                return


cdef Helper _taken():
    """Return a helper that waits, or a new one; None where the system has no more threads."""
    try:
        return _IDLE.pop()
    except IndexError:
        pass
    try:
        return Helper()
    except (RuntimeError, MemoryError):
        return None


cdef void _dismiss(Helper helper, Py_ssize_t most) noexcept:
    """Let a helper wait for anybody, or end it where `most` wait."""
    try:
        if len(_IDLE) < most:
            _IDLE.append(helper)
            return
    except MemoryError:
        pass
    helper.give(None, None, None)


cdef object _stopped(stop, error):
    """Call `stop`; returns what that raises, for want of memory say: nobody may leave before the others have ended."""
    if stop is None:
        return error
    try:
        stop(error)
    except BaseException as worse:
        return worse
    return None


cdef object _ended(list helpers, stop, Py_ssize_t most):
    """Wait until helpers have done their work, and dismiss them; returns what `stop` raises about what they raise."""
    unheard = None
    for helper in helpers:
        if helper is None:
            continue
        while True:
            try:
                (<Helper> helper).wait()
                break
            except BaseException as error:
                unheard = _stopped(stop, error) or unheard
        _dismiss(helper, most)
    return unheard


def run(
    work: Callable[[int], None], Py_ssize_t threads, stop: Callable[[BaseException], None], processors: set[int],
    Py_ssize_t most
):
    """Call `work(0)` here and `work(1)` to `work(threads - 1)` in helpers, as `run_threads` of bbpe/threads.py says.

    They run on the `processors`, a set, if it is not empty; `most` of them wait afterwards.
    """
    cdef list helpers = [None] * max(threads - 1, 0)
    cdef Py_ssize_t number, begun = 0
    unheard = None
    try:
        while begun < threads - 1 and (helper := _taken()) is not None:
            helpers[begun] = helper
            begun += 1
            (<Helper> helper).give(work, begun, processors)
        work(0)
        for number in range(begun + 1, threads):
            work(number)
    except BaseException as error:
        unheard = _stopped(stop, error)
    unheard = _ended(helpers, stop, most) or unheard
    if unheard is not None:
        raise unheard


def run_aside(
    work: Callable[[], None], stop: Callable[[BaseException], None], processors: set[int], Py_ssize_t most
):
    """Call `work()` in a helper and wait, or here where there is none; `stop(error)` as in `run`."""
    cdef list helpers = [_taken()]
    if helpers[0] is None:
        work()
        return
    (<Helper> helpers[0]).give(work, None, processors)
    unheard = _ended(helpers, stop, most)
    if unheard is not None:
        raise unheard


@cython.no_gc_clear
cdef class Crew:
    """Helpers that take `tasks` from a queue until they find None: a context manager, which waits for them at its end.

    Tasks that nobody has begun are dropped then.  The work must not refer to the crew: if an exception from the handler
    of a signal skips the end, the helpers end when the crew is freed.
    """

    cdef readonly object tasks  # stub: SimpleQueue[Any]
    cdef list _helpers
    cdef object _processors
    cdef Py_ssize_t _most

    def __cinit__(self, *args: Any, **options: Any):
        self.tasks, self._helpers = SimpleQueue(), []
        self._processors, self._most = _affinity(0) if _affinity is not None else set(), os.cpu_count() or 1

    def __dealloc__(self):
        if self._helpers:
            for helper in self._helpers:
                BBPE_ATOMIC_RELEASE(&(<Helper> helper).is_left, 1)
            self._end()

    def __len__(self) -> int:
        return len(self._helpers)

    def begin(self, work: Callable[[], None]) -> bool:
        """Have one more helper call `work()`, which takes tasks; returns whether there is one."""
        self._helpers.append(None)
        helper = _taken()
        if helper is None:
            self._helpers.pop()
            return False
        self._helpers[len(self._helpers) - 1] = helper
        (<Helper> helper).give(work, None, self._processors)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object):
        self._end()
        # each does the task that it has to its end, which is a moment
        interrupted = _ended(self._helpers, None, len(self._processors) or self._most)
        self._helpers = []
        if interrupted is not None:
            raise interrupted

    cdef void _end(self) noexcept:
        try:
            while True:
                self.tasks.get_nowait()
        except Empty:
            pass
        for _ in self._helpers:
            self.tasks.put(None)


def end_idle():
    """End the helpers that nobody has, and return when they have ended: Python warns where one is there at a fork."""
    while True:
        try:
            helper = _IDLE.pop()
        except IndexError:
            return
        (<Helper> helper).give(None, None, None)
        (<Helper> helper).wait()


if hasattr(os, "register_at_fork"):
    # those that come between are not in the child
    os.register_at_fork(before=end_idle, after_in_child=_IDLE.clear)
