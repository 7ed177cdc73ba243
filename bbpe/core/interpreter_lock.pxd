"""Calls without the interpreter's lock, if that pays (csrc/threads/turns.h):

    if lock_gives(units):
        with nogil:
            lock_given()
            work()
            lock_look()
        lock_taken()
    else:
        work()
"""
from libc.stdint cimport uintptr_t

from bbpe.core.budget cimport TURNS
from bbpe.core.c_threads cimport bbpe_turns_given, bbpe_turns_gives, bbpe_turns_look, bbpe_turns_taken

cdef extern from "pythread.h" nogil:
    uintptr_t PyThread_get_thread_ident()


cdef inline bint lock_gives(size_t units) noexcept:
    """Whether a call of so many code units or ids should give the lock away."""
    return bbpe_turns_gives(&TURNS, PyThread_get_thread_ident(), units)


cdef inline void lock_given() noexcept nogil:
    """Note that the lock is given away."""
    bbpe_turns_given(&TURNS, PyThread_get_thread_ident())


cdef inline void lock_look() noexcept nogil:
    """Look whether others have the lock, before it is taken back."""
    bbpe_turns_look(&TURNS)


cdef inline void lock_taken() noexcept:
    """Note that the lock is taken back."""
    bbpe_turns_taken(&TURNS, PyThread_get_thread_ident())
