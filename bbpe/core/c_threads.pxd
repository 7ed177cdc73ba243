from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t

from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_memory cimport bbpe_reusable_buffer

cdef extern from "threads/threads.h" nogil:
    ctypedef struct bbpe_memory_budget:
        uint64_t limit, used

    ctypedef struct bbpe_turns:
        uint32_t most_looking

    ctypedef struct bbpe_task_span:
        size_t start, stop

    ctypedef struct bbpe_output_job:
        bbpe_task_span parts
        size_t most

    ctypedef struct bbpe_work_queue:
        size_t count, threads

    ctypedef struct bbpe_ordered_output:
        bbpe_work_queue *tasks
        const size_t *bounds
        size_t a_unit
        uint32_t *ids
        bbpe_reusable_buffer *buffer
        size_t slack, end

    enum:
        BBPE_WORK_QUEUE_ROUND

    bint bbpe_turns_gives(bbpe_turns *self, uintptr_t thread, size_t units)
    void bbpe_turns_given(bbpe_turns *self, uintptr_t thread)
    void bbpe_turns_look(bbpe_turns *self)
    void bbpe_turns_taken(bbpe_turns *self, uintptr_t thread)
    bint bbpe_memory_budget_take(bbpe_memory_budget *self, uint64_t bytes)
    void bbpe_memory_budget_give(bbpe_memory_budget *self, uint64_t bytes)
    bbpe_status bbpe_ordered_output_init(bbpe_ordered_output *self, const int64_t *bounds)
    void bbpe_ordered_output_free(bbpe_ordered_output *self)
    void bbpe_ordered_output_join(bbpe_ordered_output *self, size_t thread, bbpe_reusable_buffer *buffer)
    bint bbpe_ordered_output_take(bbpe_ordered_output *self, size_t thread, bbpe_output_job *job)
    bbpe_status bbpe_ordered_output_begin(bbpe_ordered_output *self, size_t thread, bbpe_output_job *job,
        uint32_t **ids)
    bbpe_status bbpe_ordered_output_add(bbpe_ordered_output *self, size_t thread, const bbpe_output_job *job,
        size_t count)
    bbpe_status bbpe_work_queue_init(bbpe_work_queue *self, size_t count, size_t round, size_t threads)
    void bbpe_work_queue_free(bbpe_work_queue *self)
    bint bbpe_work_queue_take(bbpe_work_queue *self, size_t thread, bbpe_task_span *taken)
    void bbpe_work_queue_stop(bbpe_work_queue *self)
