from cpython.ref cimport PyObject

from bbpe.core.c_pipeline cimport BBPE_AUTOMATON_MOST_LOOKS, bbpe_automaton, bbpe_automaton_look, bbpe_state_maker
from bbpe.core.interpreter_lock cimport PyThreadState


cdef class Automaton:
    cdef bbpe_automaton c
    cdef bbpe_automaton_look looks[BBPE_AUTOMATON_MOST_LOOKS]
    cdef bbpe_state_maker makers[1 + BBPE_AUTOMATON_MOST_LOOKS]  # of the rows, and of those of the lookarounds
    cdef readonly object tables  # stub: Tables | HostRegex


# What a call has for regexes of the host: one time limit for all of its texts.
ctypedef struct host_call:
    size_t characters     # of the texts, for the limit
    PyThreadState *held   # as of `let_go` while the lock is given away, else NULL
    PyObject *asked       # what is asked now: the dict of `HostRegex.next_matches`, or NULL


cdef inline host_call host_call_of(size_t characters) noexcept nogil:
    return host_call(characters=characters, held=NULL, asked=NULL)


cdef void host_free(host_call *self) noexcept
