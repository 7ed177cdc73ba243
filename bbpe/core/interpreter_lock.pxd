"""Calls without the interpreter's lock, if that pays (csrc/threads/turns.h):

    held = let_go(units)
    status = work(pointer, size)
    take_back(held)

Only C runs between the two.  Read attributes of objects before `let_go`: Cython counts references to them, which needs
the lock.
"""
from libc.stdint cimport uintptr_t

from bbpe.core.budget cimport TURNS
from bbpe.core.c_threads cimport bbpe_turns_given, bbpe_turns_gives, bbpe_turns_look, bbpe_turns_taken

cdef extern from "Python.h" nogil:
    ctypedef struct PyThreadState:
        pass
    PyThreadState *PyEval_SaveThread()
    void PyEval_RestoreThread(PyThreadState *state)
    uintptr_t PyThread_get_thread_ident()


cdef inline PyThreadState *let_go(size_t units) noexcept nogil:
    """Release the lock if that pays for a call with `units` code units or ids.

    Returns the state of this thread for `take_back`, or NULL if the lock is still held.
    """
    cdef PyThreadState *held
    cdef uintptr_t thread = PyThread_get_thread_ident()
    if not bbpe_turns_gives(&TURNS, thread, units):
        return NULL
    held = PyEval_SaveThread()
    bbpe_turns_given(&TURNS, thread)
    return held


cdef inline void take_back(PyThreadState *held) noexcept nogil:
    """Take the lock back if `let_go` released it; note first whether another thread has it."""
    if held != NULL:
        bbpe_turns_look(&TURNS)
        PyEval_RestoreThread(held)
        bbpe_turns_taken(&TURNS, PyThread_get_thread_ident())
