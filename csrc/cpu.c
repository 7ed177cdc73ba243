#if defined(__linux__)
#define _GNU_SOURCE /* sched_getcpu, sched_setaffinity */
#include <sched.h>
#endif

#include "cpu.h"

#if defined(__linux__)
int bbpe_cpu_here(void) {
    return sched_getcpu();
}

void bbpe_cpu_yield(void) {
    (void)sched_yield();
}

void bbpe_cpu_leave(int cpu) {
    cpu_set_t allowed, others;
    if (cpu < 0 || sched_getcpu() != cpu || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    others = allowed;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) == 0) return;
    /* it stays where it gets to when it may run anywhere again */
    if (sched_setaffinity(0, sizeof others, &others) == 0) (void)sched_setaffinity(0, sizeof allowed, &allowed);
}
#else
int bbpe_cpu_here(void) {
    return -1;
}

void bbpe_cpu_yield(void) {}

void bbpe_cpu_leave(int cpu) {
    (void)cpu;
}
#endif
