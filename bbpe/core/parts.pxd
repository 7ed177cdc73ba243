from bbpe.core.c_encode cimport bbpe_encode_state
from bbpe.core.c_parts cimport bbpe_parts
from bbpe.core.id_room cimport IdRoom
from bbpe.core.states cimport States
from bbpe.core.tasks cimport Tasks


cdef class Parts:
    cdef bbpe_parts c
    cdef readonly Tasks tasks
    cdef IdRoom room
    cdef list lent

    cdef bbpe_encode_state *join(self, States states, size_t worker) except NULL
