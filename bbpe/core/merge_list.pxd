from bbpe.core.c_models cimport bbpe_merge_list


cdef class MergeList:
    cdef bbpe_merge_list c
    # the highest id plus one
    cdef size_t id_count
    cdef int _add(self, merge) except -1
    cdef int _close(self) except -1
