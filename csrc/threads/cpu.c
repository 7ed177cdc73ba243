#if defined(__linux__)
#define _GNU_SOURCE /* sched_getcpu, sched_setaffinity */
#include <sched.h>
#endif

#include "threads/cpu.h"

#if defined(__linux__)
#include <string.h>

_Static_assert(sizeof(cpu_set_t) <= sizeof((bbpe_cpu_position){0}.allowed), "a set of processors fits");

bbpe_cpu_position bbpe_cpu_here(void) {
    bbpe_cpu_position place = {-1, {0}};
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return place;
    memcpy(place.allowed, &allowed, sizeof allowed);
    place.cpu = sched_getcpu();
    return place;
}

void bbpe_cpu_yield(void) {
    (void)sched_yield();
}

void bbpe_cpu_run_off(const bbpe_cpu_position *place) {
    cpu_set_t allowed, others;
    if (place->cpu < 0) return;
    memcpy(&allowed, place->allowed, sizeof allowed);
    others = allowed;
    CPU_CLR(place->cpu, &others);
    /* it stays where it gets to when it may run anywhere again */
    if (sched_getcpu() == place->cpu && CPU_COUNT(&others) > 0) (void)sched_setaffinity(0, sizeof others, &others);
    (void)sched_setaffinity(0, sizeof allowed, &allowed);
}
#else
bbpe_cpu_position bbpe_cpu_here(void) {
    return (bbpe_cpu_position){-1, {0}};
}

void bbpe_cpu_yield(void) {}

void bbpe_cpu_run_off(const bbpe_cpu_position *place) {
    (void)place;
}
#endif
