from libc.stdint cimport uint8_t

from bbpe.core.c_models cimport bbpe_merge_list


cdef class MergeList:
    cdef bbpe_merge_list c
    # what `c` points into; if there is none, `c` owns its array
    cdef const uint8_t[::1] data_of_image
    cdef bint is_opened
    # the highest id plus one
    cdef size_t id_count
    cdef int _add(self, merge) except -1
    cdef void _count_ids(self) noexcept
    cdef int _close(self) except -1
