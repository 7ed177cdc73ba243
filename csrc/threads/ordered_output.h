/* The ids of parts of texts, which threads encode, one after another.
 *
 * The ids of parts that are taken together go to their position at once if all parts before them have theirs by then.  Others
 * wait in a buffer of their thread, which copies them when it is between two parts. */
#ifndef BBPE_THREADS_ORDERED_OUTPUT_H
#define BBPE_THREADS_ORDERED_OUTPUT_H

#include "memory/memory.h"
#include "threads/work_queue.h"

/* Parts that were taken together, at the number of the first one. */
typedef struct {
    size_t stop;         /* the part after them; 0 while they have no ids */
    size_t count;        /* ids */
    size_t start;        /* where these wait in the buffer of their thread */
    size_t position;     /* where they go, once that is known */
    size_t next_waiting; /* the next ones of the same thread that wait */
    bool is_waiting;
} bbpe_output_part;

/* The buffer of a thread, of which `used` ids are taken, and the parts whose ids wait there: first in, first out. */
typedef struct {
    bbpe_reusable_buffer *buffer;
    size_t used, first, last;
} bbpe_output_waiting;

typedef struct {
    bbpe_work_queue *tasks; /* one for each part; borrowed */
    size_t *bounds;         /* where each part begins, and the last one ends, in units */
    size_t a_unit;          /* ids that a unit has at most */
    uint32_t *ids;          /* all of them, and space for `slack` more, as wherever parts are encoded to; borrowed, */
    bbpe_reusable_buffer *buffer; /* and what has it, if not all of it may be written to yet */
    size_t slack;
    size_t least_buffer;    /* for how many ids a thread has a buffer at least */
    bbpe_output_part *parts;
    bbpe_output_waiting *waiting; /* by thread */
    size_t turn, end;       /* the first part without a position, and what that will be */
} bbpe_ordered_output;

/* Parts that a thread encodes. */
typedef struct {
    bbpe_task_span parts;
    size_t most;    /* ids */
    size_t start;   /* where the first one goes: among all ids or in the thread's buffer */
    bool is_placed; /* among all */
} bbpe_output_job;

/* `self` is zeroed but for `tasks`, `slack` and `a_unit`; `ids` and `buffer` may come later.  `bounds` has one more than there
 * are tasks, and is copied; BBPE_CHANGED when it falls. */
bbpe_status bbpe_ordered_output_init(bbpe_ordered_output *self, const int64_t *bounds);
void bbpe_ordered_output_free(bbpe_ordered_output *self);
/* Before it takes any: a thread has this buffer, which only `begin` opens, for ids that wait. */
void bbpe_ordered_output_join(bbpe_ordered_output *self, size_t thread, bbpe_reusable_buffer *buffer);
/* The next parts for a thread; false, once all parts have their positions, when there are none, or they have been stopped. */
bool bbpe_ordered_output_take(bbpe_ordered_output *self, size_t thread, bbpe_output_job *job);
/* Where their ids are to be written; NULL when the tasks have been stopped. */
bbpe_status bbpe_ordered_output_begin(bbpe_ordered_output *self, size_t thread, bbpe_output_job *job, uint32_t **ids);
/* They have been encoded to so many ids. */
bbpe_status bbpe_ordered_output_add(bbpe_ordered_output *self, size_t thread, const bbpe_output_job *job, size_t count);

#endif
