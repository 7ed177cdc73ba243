from libc.stdint cimport int64_t, uint32_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_room cimport bbpe_room
from bbpe.core.c_tasks cimport bbpe_span, bbpe_tasks

cdef extern from "threads/ordered_output.h" nogil:
    ctypedef struct bbpe_parts:
        bbpe_tasks *tasks
        const size_t *bounds
        size_t a_unit
        uint32_t *ids
        bbpe_room *room
        size_t slack
        size_t end

    ctypedef struct bbpe_part_job:
        bbpe_span parts
        size_t most

    bbpe_status bbpe_parts_init(bbpe_parts *self, const int64_t *bounds)
    void bbpe_parts_free(bbpe_parts *self)
    void bbpe_parts_join(bbpe_parts *self, size_t thread, bbpe_room *room)
    bint bbpe_parts_take(bbpe_parts *self, size_t thread, bbpe_part_job *job)
    bbpe_status bbpe_parts_begin(bbpe_parts *self, size_t thread, bbpe_part_job *job, uint32_t **ids)
    bbpe_status bbpe_parts_add(bbpe_parts *self, size_t thread, const bbpe_part_job *job, size_t count)
