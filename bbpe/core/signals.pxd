"""Asking Python whether Ctrl-C was pressed, from C code that runs for long."""
from bbpe.core.c_split cimport c_bool


cdef extern from "Python.h":
    # the exception of a handler stays set until the C code has returned; `check` lets it through
    int PyErr_CheckSignals() noexcept


cdef inline c_bool is_interrupted() noexcept nogil:
    with gil:
        return PyErr_CheckSignals() < 0
