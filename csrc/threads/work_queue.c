#include "threads/work_queue.h"

#include "memory/memory.h"

enum {
    /* the next round begins when no thread has more than a third of its run left: a thread that is slower than that would
     * make the output of the whole next round wait */
    LAG = 3,
    TAKEN = 3 /* a thread takes a third of its run at once: tasks that are taken cannot be stolen */
};

static size_t length(bbpe_task_span span) {
    return span.stop - span.start;
}

static size_t left(const bbpe_work_run *run) {
    return length(run->rest) + length(run->own);
}

static bbpe_work_run *longest(const bbpe_work_queue *self) {
    bbpe_work_run *found = self->runs;
    for (size_t i = 1; i < self->threads; i++)
        if (left(&self->runs[i]) > left(found)) found = &self->runs[i];
    return found;
}

/* Whether no thread is far behind, nor in the round before the last one. */
static bool is_round_over(const bbpe_work_queue *self) {
    for (size_t i = 0; i < self->threads; i++) {
        const bbpe_work_run *run = &self->runs[i];
        if (left(run) > self->round / (LAG * self->threads) || (length(run->rest) > 0 && length(run->own) > 0)) return false;
    }
    return true;
}

static void begin_round(bbpe_work_queue *self) {
    const size_t unbegun = self->count - self->begun;
    const size_t count = unbegun < self->round ? unbegun : self->round;
    for (size_t i = 0; i < self->threads; i++) {
        bbpe_work_run *run = &self->runs[i];
        if (length(run->own) > 0) run->rest = run->own;
        run->own.start = self->begun + count * i / self->threads;
        run->own.stop = self->begun + count * (i + 1) / self->threads;
    }
    self->begun += count;
}

static bool take_first(const bbpe_work_queue *self, bbpe_work_run *run, bbpe_task_span *taken) {
    bbpe_task_span *from = length(run->rest) > 0 ? &run->rest : &run->own;
    if (length(*from) == 0) return false;
    const size_t count = self->threads > 1 ? (length(*from) + TAKEN - 1) / TAKEN : length(*from);
    *taken = (bbpe_task_span){from->start, from->start + count};
    from->start += count;
    return true;
}

static bool steal(bbpe_work_run *run, bbpe_task_span *taken) {
    bbpe_task_span *from = length(run->own) > 0 ? &run->own : &run->rest;
    if (length(*from) == 0) return false;
    *taken = (bbpe_task_span){from->stop - 1, from->stop};
    from->stop--;
    return true;
}

bbpe_status bbpe_work_queue_init(bbpe_work_queue *self, size_t count, size_t round, size_t threads) {
    self->count = count;
    self->threads = threads < count ? threads : count;
    if (self->threads == 0) self->threads = 1;
    self->round = round > 2 * self->threads ? round : 2 * self->threads;
    self->begun = 0;
    self->is_stopped = false;
    self->runs = bbpe_memory_zeroed(self->threads, sizeof *self->runs);
    if (self->runs != NULL && bbpe_monitor_init(&self->monitor)) return BBPE_OK;
    bbpe_memory_free(self->runs);
    self->runs = NULL;
    return BBPE_NO_MEMORY;
}

void bbpe_work_queue_free(bbpe_work_queue *self) {
    if (self->runs == NULL) return;
    bbpe_monitor_free(&self->monitor);
    bbpe_memory_free(self->runs);
    self->runs = NULL;
}

bool bbpe_work_queue_take(bbpe_work_queue *self, size_t thread, bbpe_task_span *taken) {
    bool found = false;
    bbpe_monitor_lock(&self->monitor);
    if (!self->is_stopped) {
        bbpe_work_run *run = &self->runs[thread];
        if (left(run) == 0 && self->begun < self->count && is_round_over(self)) begin_round(self);
        found = take_first(self, run, taken) || steal(longest(self), taken);
    }
    bbpe_monitor_unlock(&self->monitor);
    return found;
}

void bbpe_work_queue_stop(bbpe_work_queue *self) {
    bbpe_monitor_lock(&self->monitor);
    self->is_stopped = true;
    bbpe_monitor_notify(&self->monitor);
    bbpe_monitor_unlock(&self->monitor);
}
