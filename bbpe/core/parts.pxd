from bbpe.core.c_encode cimport bbpe_encode_state
from bbpe.core.c_threads cimport bbpe_ordered_output
from bbpe.core.id_buffer cimport IdBuffer
from bbpe.core.states cimport States
from bbpe.core.tasks cimport Tasks


cdef class Parts:
    cdef bbpe_ordered_output c
    cdef readonly Tasks tasks
    cdef IdBuffer buffer
    cdef list lent

    cdef bbpe_encode_state *join(self, States states, size_t worker) except NULL
