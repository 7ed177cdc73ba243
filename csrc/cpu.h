/* On which processor a thread runs.
 *
 * Linux may put a new thread behind the one that started it, though another processor has nothing to do, and see to it
 * only milliseconds later.  Where there are no such system calls, nothing happens. */
#ifndef BBPE_CPU_H
#define BBPE_CPU_H

#include "common.h"

/* The number of the processor that this thread runs on, or -1. */
int bbpe_cpu_here(void);
/* Let those run first that wait for this thread's processor. */
void bbpe_cpu_yield(void);
/* Have this thread go on on another one of its processors, if it is on that one and may run on others. */
void bbpe_cpu_leave(int cpu);

#endif
