from libc.stdint cimport uint32_t

cdef extern from "decode/id_array.h" nogil:
    const uint32_t BBPE_ID_NONE

    ctypedef enum bbpe_id_type:
        BBPE_ID_U8
        BBPE_ID_U16
        BBPE_ID_U32
        BBPE_ID_U64
        BBPE_ID_I8
        BBPE_ID_I16
        BBPE_ID_I32
        BBPE_ID_I64

    ctypedef struct bbpe_id_array:
        const void *data
        ptrdiff_t stride
        size_t count
        bbpe_id_type type
