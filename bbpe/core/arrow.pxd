from bbpe.core.c_text cimport bbpe_arrow_array, bbpe_arrow_schema


cdef class ArrowChunks:
    # whether the schema is one that the reader wants
    cdef readonly bint is_known
    cdef bbpe_arrow_schema schema
    cdef bbpe_arrow_array *arrays
    cdef size_t count, capacity

    cdef bint open(self, object given) except -1
    cdef int take(self, bbpe_arrow_array *array) except -1
