/* A queue of tasks that threads take, with work stealing.
 *
 * Tasks are taken in rounds, of which each thread has a run of its own: texts that are close together are alike, so no
 * thread's caches need what those of others have.  When each took the next task of all, two threads took 19.8, not 14.4 ms for
 * 8 MB of many languages.  A thread takes several at once, and fewer towards the end of its run.  A thread that has none left
 * begins the next round while no other thread is far behind; otherwise it steals the last task of the longest run. */
#ifndef BBPE_THREADS_WORK_QUEUE_H
#define BBPE_THREADS_WORK_QUEUE_H

#include "threads/monitor.h"

enum { BBPE_WORK_QUEUE_ROUND = 32 }; /* tasks: the output of the last ones may wait for the first ones */

/* Tasks, or parts of what is encoded, [start, stop). */
typedef struct {
    size_t start, stop;
} bbpe_task_span;

/* The tasks that a thread has not yet taken: of the round before, if it is not through with that, and of this one. */
typedef struct {
    bbpe_task_span rest, own;
} bbpe_work_run;

typedef struct {
    bbpe_monitor monitor;
    size_t count, threads; /* no more of these than of those, but one */
    size_t round;          /* tasks of a round */
    size_t begun;          /* tasks of all rounds so far */
    bbpe_work_run *runs;
    bool is_stopped;
} bbpe_work_queue;

/* Tasks 0 to `count`, in rounds of so many, or of two a thread if that is more.  Freed or not initialised, it is zeroed. */
bbpe_status bbpe_work_queue_init(bbpe_work_queue *self, size_t count, size_t round, size_t threads);
void bbpe_work_queue_free(bbpe_work_queue *self);
/* The next tasks for a thread; false when there are none, or they have been stopped. */
bool bbpe_work_queue_take(bbpe_work_queue *self, size_t thread, bbpe_task_span *taken);
/* No more tasks for anybody, and no more waiting: a thread has failed. */
void bbpe_work_queue_stop(bbpe_work_queue *self);

#endif
