/* A lock, and waiting under it for what other threads change.
 *
 * To be woken takes 30 to 100 us, and what a thread waits for here is often there sooner: first it looks for it. */
#ifndef BBPE_THREADS_MONITOR_H
#define BBPE_THREADS_MONITOR_H

#include "base/common.h"

#if defined(_WIN32)
/* an SRWLOCK and a CONDITION_VARIABLE; windows.h defines `near` and `far`, and stays out of headers */
typedef struct {
    void *word;
} bbpe_monitor_mutex, bbpe_monitor_event;
#else
#include <pthread.h>
typedef pthread_mutex_t bbpe_monitor_mutex;
typedef pthread_cond_t bbpe_monitor_event;
#endif

typedef struct {
    bbpe_monitor_mutex mutex;
    bbpe_monitor_event changed;
    uint64_t changes; /* changes under the lock, but is looked at without it */
    size_t sleepers;
} bbpe_monitor;

/* Look whether a word that another thread changes is still `seen`, for as long as being woken might take. */
void bbpe_monitor_look(const uint64_t *word, uint64_t seen);

/* False when the system has no more locks; then there is nothing to free. */
bool bbpe_monitor_init(bbpe_monitor *self);
void bbpe_monitor_free(bbpe_monitor *self);
void bbpe_monitor_lock(bbpe_monitor *self);
void bbpe_monitor_unlock(bbpe_monitor *self);
/* With the lock held: give it up until something has changed, or at times for nothing. */
void bbpe_monitor_wait(bbpe_monitor *self);
/* With the lock held: something has changed. */
void bbpe_monitor_notify(bbpe_monitor *self);

#endif
