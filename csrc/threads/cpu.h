/* On which processor a thread runs.
 *
 * Linux may put a new thread after the one that started it, though another processor has nothing to do, and see to it
 * only milliseconds later.  Where there are no such system calls, nothing happens. */
#ifndef BBPE_THREADS_CPU_H
#define BBPE_THREADS_CPU_H

#include "base/common.h"

/* The processor that a thread runs on, -1 where it is not known, and those that it may run on, as the system has them. */
typedef struct {
    int cpu;
    uint8_t allowed[128];
} bbpe_cpu_position;

bbpe_cpu_position bbpe_cpu_here(void);
/* Let those run first that wait for this thread's processor. */
void bbpe_cpu_yield(void);
/* Have this thread run where the one at that place may, but on another processor if there is one. */
void bbpe_cpu_run_off(const bbpe_cpu_position *place);

#endif
