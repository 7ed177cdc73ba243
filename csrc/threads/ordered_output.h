/* The ids of parts of texts, which threads encode, one after another.
 *
 * The ids of parts that are taken together go to their place at once if all parts before them have theirs by then; others
 * wait in the memory of their thread, and are copied by whichever has nothing better to do. */
#ifndef BBPE_THREADS_ORDERED_OUTPUT_H
#define BBPE_THREADS_ORDERED_OUTPUT_H

#include "memory/memory.h"
#include "threads/work_queue.h"

/* Parts that were taken together, at the number of the first one. */
typedef struct {
    size_t stop;          /* the part after them; 0 while they have no ids */
    size_t count;         /* ids */
    size_t thread, start; /* in whose memory they wait, from where on */
    size_t to;            /* their place */
    size_t handed_out, copied;
    size_t next_waiting, next_copy;
} bbpe_output_part;

/* Where ids of a thread wait, and the first of the parts whose ids do, in the order of their places there. */
typedef struct {
    bbpe_reusable_buffer *room;
    size_t first;
} bbpe_output_memory;

typedef struct {
    bbpe_work_queue *tasks; /* one for each part; borrowed */
    size_t *bounds;    /* where each part begins, and the last one ends, in units */
    size_t a_unit;     /* ids that a unit has at most */
    uint32_t *ids;     /* room for all of them, and `slack` more, as wherever parts are encoded to; borrowed, */
    bbpe_reusable_buffer *room;   /* and what has it, if not all of it may be written to yet */
    size_t slack;
    size_t roomy;          /* for how many ids a thread has memory at least */
    bbpe_output_part *parts;
    bbpe_output_memory *memories;
    size_t turn, end;      /* the first part without a place, and where that will be */
    size_t first_copy, last_copy;
} bbpe_ordered_output;

/* Parts that a thread encodes. */
typedef struct {
    bbpe_task_span parts;
    size_t most;    /* ids */
    size_t start;   /* where the first one goes: in the room of all or in the thread's memory */
    bool is_placed; /* in that of all */
} bbpe_output_job;

/* `self` is zeroed but for `tasks`, `slack` and `a_unit`; `ids` and `room` may come later.  `bounds` has one more than there
 * are tasks, and is copied; BBPE_CHANGED when it falls. */
bbpe_status bbpe_ordered_output_init(bbpe_ordered_output *self, const int64_t *bounds);
void bbpe_ordered_output_free(bbpe_ordered_output *self);
/* Before it takes any: a thread has this room, which only `begin` opens, for ids that wait. */
void bbpe_ordered_output_join(bbpe_ordered_output *self, size_t thread, bbpe_reusable_buffer *room);
/* The next parts for a thread; false, once all parts have their places, when there are none, or they have been stopped. */
bool bbpe_ordered_output_take(bbpe_ordered_output *self, size_t thread, bbpe_output_job *job);
/* Where their ids are to be written; NULL when the tasks have been stopped. */
bbpe_status bbpe_ordered_output_begin(bbpe_ordered_output *self, size_t thread, bbpe_output_job *job, uint32_t **ids);
/* They have been encoded to so many ids. */
bbpe_status bbpe_ordered_output_add(bbpe_ordered_output *self, size_t thread, const bbpe_output_job *job, size_t count);

#endif
