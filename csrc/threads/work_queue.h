/* Work in tasks that threads take.
 *
 * They are taken in rounds, of which each thread has a run of its own: what stands close together is alike, so no thread's
 * caches need what those of others have.  When each took the next task of all, two threads took 19.8, not 14.4 ms for 8 MB
 * of many languages.  A thread takes several at once, and fewer towards the end of its run.  Who has none left goes on to the
 * next round while no other thread is far behind, and else takes the last one of the longest run, which its caches do not
 * know. */
#ifndef BBPE_THREADS_WORK_QUEUE_H
#define BBPE_THREADS_WORK_QUEUE_H

#include "threads/monitor.h"

enum { BBPE_TASKS_ROUND = 32 }; /* tasks: what comes of the last ones may wait for the first ones */

/* Tasks, or parts of what is encoded, [start, stop). */
typedef struct {
    size_t start, stop;
} bbpe_span;

/* What a thread has not yet taken: of the round before, if it has not come to its end, and of this one. */
typedef struct {
    bbpe_span rest, own;
} bbpe_task_run;

typedef struct {
    bbpe_monitor monitor;
    size_t count, threads; /* no more of these than of those, but one */
    size_t round;          /* tasks of a round */
    size_t begun;          /* tasks of all rounds so far */
    bbpe_task_run *runs;
    bool is_stopped;
} bbpe_tasks;

/* Tasks 0 to `count`, in rounds of so many, or of two a thread if that is more.  Freed or not initialised, it is zeroed. */
bbpe_status bbpe_tasks_init(bbpe_tasks *self, size_t count, size_t round, size_t threads);
void bbpe_tasks_free(bbpe_tasks *self);
/* The next tasks for a thread; false when there are none, or they have been stopped. */
bool bbpe_tasks_take(bbpe_tasks *self, size_t thread, bbpe_span *taken);
/* No more tasks for anybody, and no more waiting: a thread has failed. */
void bbpe_tasks_stop(bbpe_tasks *self);

#endif
