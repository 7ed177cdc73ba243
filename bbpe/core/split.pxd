from libc.stdint cimport uint64_t

from bbpe.core.c_split cimport bbpe_scheme, bbpe_split_fill


cdef class Splitter:
    cdef bbpe_split_fill fill
    cdef bbpe_scheme row
    cdef uint64_t joins[1024]  # what row.joins points to
    cdef readonly object scheme       # stub: Scheme
    cdef readonly str isa
    cdef readonly object specialised  # stub: str | None
