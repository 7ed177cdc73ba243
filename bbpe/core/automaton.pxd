from bbpe.core.c_pipeline cimport bbpe_automaton


cdef class Automaton:
    cdef bbpe_automaton c
    cdef readonly object tables  # stub: Tables
