/* Threads that take parts and write ids for them, against the same parts one after another: exits with 1 when they differ.
 *
 *     parts_driver THREADS ROUNDS
 *
 * Parts have no ids, few or as many as they may, and threads are slow at times.  In some rounds one of them fails, and the
 * others must come to an end.  Meant for ThreadSanitizer and AddressSanitizer. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memory/memory.h"
#include "threads/threads.h"
#include "random_below.h"

enum { MOST_THREADS = 16, MOST_PARTS = 150, MOST_IDS = 70000, SLACK = 4, NOBODY = MOST_PARTS };

typedef struct {
    bbpe_work_queue tasks;
    bbpe_ordered_output parts;
    int64_t bounds[MOST_PARTS + 1];
    bbpe_reusable_buffer ids;
    size_t counts[MOST_PARTS];
    bool is_slow[MOST_PARTS];
    size_t failing; /* at which part a thread fails */
    unsigned taken[MOST_PARTS];
} driver;

typedef struct {
    driver *all;
    size_t number;
    bbpe_reusable_buffer room;
} worker;

static void must(bool is_true, const char *what) {
    if (is_true) return;
    fprintf(stderr, "wrong: %s\n", what);
    exit(1);
}

static uint32_t id_of(size_t part, size_t i) {
    return (uint32_t)(part * 1000003 + i * 7 + 1);
}

static size_t write_ids(const driver *self, size_t part, uint32_t *ids) {
    for (size_t i = 0; i < self->counts[part]; i++) ids[i] = id_of(part, i);
    for (size_t i = 0; i < SLACK; i++) ids[self->counts[part] + i] = 0; /* as encoding may */
    return self->counts[part];
}

static void *work(void *argument) {
    worker *self = argument;
    driver *all = self->all;
    bbpe_output_job job;
    bbpe_ordered_output_join(&all->parts, self->number, &self->room);
    while (bbpe_ordered_output_take(&all->parts, self->number, &job)) {
        uint32_t *ids;
        size_t count = 0;
        must(bbpe_ordered_output_begin(&all->parts, self->number, &job, &ids) == BBPE_OK, "memory");
        if (ids == NULL) break;
        for (size_t part = job.parts.start; part < job.parts.stop; part++) {
            if (part == all->failing) {
                bbpe_work_queue_stop(&all->tasks);
                return NULL;
            }
            if (all->is_slow[part]) nanosleep(&(struct timespec){0, 300000}, NULL);
            all->taken[part]++;
            count += write_ids(all, part, ids + count);
        }
        must(count <= job.most, "bounds");
        must(bbpe_ordered_output_add(&all->parts, self->number, &job, count) == BBPE_OK, "memory");
    }
    return NULL;
}

static void compare(const driver *self) {
    size_t end = 0;
    for (size_t part = 0; part < self->tasks.count; part++) {
        must(self->taken[part] == 1, "taken once");
        for (size_t i = 0; i < self->counts[part]; i++) must(self->parts.ids[end + i] == id_of(part, i), "ids");
        end += self->counts[part];
    }
    must(self->parts.end == end, "number of ids");
}

static void plan(driver *self, size_t threads) {
    const size_t count = (size_t)next(MOST_PARTS + 1), most = next(20) ? 300 : MOST_IDS;
    for (size_t part = 0; part < count; part++) {
        const size_t bound = (size_t)next(most);
        const uint64_t kind = next(3);
        self->bounds[part + 1] = self->bounds[part] + (int64_t)bound;
        self->counts[part] = kind == 0 ? 0 : kind == 1 ? bound : (size_t)next(bound + 1);
        self->is_slow[part] = next(12) == 0;
    }
    self->failing = next(8) ? NOBODY : (size_t)next(MOST_PARTS);
    must(!bbpe_work_queue_init(&self->tasks, count, next(2) ? 32 : 3, threads), "init");
    self->parts = (bbpe_ordered_output){.tasks = &self->tasks, .a_unit = 1, .slack = SLACK};
    must(!bbpe_ordered_output_init(&self->parts, self->bounds), "init");
    must(bbpe_reusable_buffer_open(&self->ids, ((size_t)self->bounds[count] + SLACK) * sizeof *self->parts.ids), "init");
    self->parts.ids = self->ids.start;
    self->parts.buffer = &self->ids;
}

static void round_of(size_t threads) {
    static driver self;
    static worker workers[MOST_THREADS];
    pthread_t others[MOST_THREADS];
    self = (driver){.failing = NOBODY};
    plan(&self, threads);
    for (size_t i = 0; i < self.tasks.threads; i++) workers[i] = (worker){&self, i, {NULL, 0, 0, 0, false}};
    for (size_t i = 1; i < self.tasks.threads; i++)
        must(pthread_create(&others[i], NULL, work, &workers[i]) == 0, "a thread");
    work(&workers[0]);
    for (size_t i = 1; i < self.tasks.threads; i++) pthread_join(others[i], NULL);
    if (self.failing >= self.tasks.count) compare(&self);
    for (size_t i = 0; i < self.tasks.threads; i++) bbpe_reusable_buffer_close(&workers[i].room);
    bbpe_reusable_buffer_close(&self.ids);
    bbpe_ordered_output_free(&self.parts);
    bbpe_work_queue_free(&self.tasks);
}

int main(int argc, char **argv) {
    const size_t threads = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 2;
    const unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 100;
    must(threads >= 1 && threads <= MOST_THREADS, "number of threads");
    for (unsigned i = 0; i < rounds; i++) round_of(1 + (size_t)next(threads));
    printf("%u rounds\n", rounds);
    return 0;
}
