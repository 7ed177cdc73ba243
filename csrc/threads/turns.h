/* Turns at a lock that every thread of a program needs between its calls: the one of Python's interpreter.
 *
 * A thread that comes back from a call of some microseconds finds the lock taken by another one, which gives it away again as
 * soon.  To sleep until then takes longer than the call, so the thread looks for a while first, as long as the other one is
 * known to take turns too.  Who is alone keeps the lock. */
#ifndef BBPE_THREADS_TURNS_H
#define BBPE_THREADS_TURNS_H

#include "base/common.h"

typedef struct {
    uintptr_t last;        /* the thread that had the last call */
    uintptr_t holder;      /* the thread that took the lock back last, unless it gave it away here; or 0 */
    uint32_t calls;        /* so many more of the last thread, and it is taken to be alone */
    uint32_t looking;      /* threads that look at that */
    uint32_t most_looking; /* 0: no thread waits for another one, as without a lock */
} bbpe_turns;

/* Whether a thread, which has the lock, should give it away for a call of so many units: bytes of text, or ids. */
bool bbpe_turns_gives(bbpe_turns *self, uintptr_t thread, size_t units);
/* Note that it has given the lock away: not earlier, or another thread that looks would find it taken, and sleep. */
void bbpe_turns_given(bbpe_turns *self, uintptr_t thread);
/* Look, without the lock, until no thread is known to have it, but not longer than it takes to be woken. */
void bbpe_turns_look(bbpe_turns *self);
/* Note that it has taken the lock back. */
void bbpe_turns_taken(bbpe_turns *self, uintptr_t thread);

#endif
