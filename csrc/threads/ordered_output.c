#include "threads/ordered_output.h"

#include "memory/memory.h"
#include "threads/ends.h"

#define NONE SIZE_MAX

bbpe_status bbpe_ordered_output_init(bbpe_ordered_output *self, const int64_t *bounds) {
    const size_t count = self->tasks->count, threads = self->tasks->threads;
    const size_t a_run = (self->tasks->round + threads - 1) / threads, most = SIZE_MAX / 2 / (self->a_unit + 1);
    size_t end = 0;
    self->bounds = bbpe_memory_new(count + 1, sizeof *self->bounds);
    self->parts = bbpe_memory_zeroed(count, sizeof *self->parts);
    self->waiting = bbpe_memory_zeroed(threads, sizeof *self->waiting);
    if (self->bounds == NULL || self->parts == NULL || self->waiting == NULL) return BBPE_NO_MEMORY;
    for (size_t i = 0; i <= count; i++) {
        if (!bbpe_ends_next(bounds + i, most, &end)) return BBPE_CHANGED;
        self->bounds[i] = end;
    }
    self->least_buffer = count ? (self->a_unit * end + count - 1) / count * a_run : 0;
    return BBPE_OK;
}

void bbpe_ordered_output_free(bbpe_ordered_output *self) {
    bbpe_memory_free(self->bounds);
    bbpe_memory_free(self->parts);
    bbpe_memory_free(self->waiting);
    self->bounds = NULL;
    self->parts = NULL;
    self->waiting = NULL;
}

void bbpe_ordered_output_join(bbpe_ordered_output *self, size_t thread, bbpe_reusable_buffer *buffer) {
    self->waiting[thread] = (bbpe_output_waiting){buffer, 0, NONE, NONE};
}

/* Have so many of all ids that may be written, under the lock, so that no other thread does it meanwhile. */
static bool extend(bbpe_ordered_output *self, size_t count) {
    return self->buffer == NULL || bbpe_reusable_buffer_extend(self->buffer, count * sizeof *self->ids);
}

/* Copy the ids of a thread that wait though their position is known, with the lock given up meanwhile. */
static void copy_placed(bbpe_ordered_output *self, bbpe_output_waiting *own) {
    while (own->first != NONE && own->first < self->turn) {
        const bbpe_output_part part = self->parts[own->first];
        bbpe_monitor_unlock(&self->tasks->monitor);
        memcpy(self->ids + part.position, (uint32_t *)own->buffer->start + part.start, part.count * sizeof *self->ids);
        own->first = part.next_waiting;
        if (own->first == NONE) own->used = 0;
        bbpe_monitor_lock(&self->tasks->monitor);
    }
}

bool bbpe_ordered_output_take(bbpe_ordered_output *self, size_t thread, bbpe_output_job *job) {
    bbpe_work_queue *tasks = self->tasks;
    if (bbpe_work_queue_take(tasks, thread, &job->parts)) {
        job->most = self->a_unit * (self->bounds[job->parts.stop] - self->bounds[job->parts.start]);
        return true;
    }
    bbpe_monitor_lock(&tasks->monitor);
    for (copy_placed(self, self->waiting + thread); !tasks->is_stopped && self->turn < tasks->count;) {
        bbpe_monitor_wait(&tasks->monitor);
        copy_placed(self, self->waiting + thread);
    }
    bbpe_monitor_unlock(&tasks->monitor);
    return false;
}

/* Whether so many ids have space in the buffer of a thread; where nothing waits it may be opened anew. */
static bool fits(const bbpe_output_waiting *own, size_t needed) {
    return own->used == 0 || own->used + needed <= own->buffer->size / sizeof(uint32_t);
}

/* Choose where the ids of a job go; false when the tasks have been stopped. */
static bool choose(bbpe_ordered_output *self, bbpe_output_waiting *own, bbpe_output_job *job, bbpe_status *status) {
    bool found = false;
    bbpe_monitor_lock(&self->tasks->monitor);
    /* the tasks may be stopped, and the turn may come, while the lock is given up for copying */
    for (copy_placed(self, own); !self->tasks->is_stopped; copy_placed(self, own)) {
        job->is_placed = self->turn == job->parts.start;
        job->start = job->is_placed ? self->end : own->used;
        found = job->is_placed || fits(own, job->most + self->slack);
        if (found) break;
        bbpe_monitor_wait(&self->tasks->monitor);
    }
    if (found && job->is_placed && !extend(self, job->start + job->most + self->slack)) *status = BBPE_NO_MEMORY;
    bbpe_monitor_unlock(&self->tasks->monitor);
    return found;
}

bbpe_status bbpe_ordered_output_begin(bbpe_ordered_output *self, size_t thread, bbpe_output_job *job, uint32_t **ids) {
    bbpe_output_waiting *own = self->waiting + thread;
    bbpe_status status = BBPE_OK;
    *ids = NULL;
    if (!choose(self, own, job, &status) || status != BBPE_OK) return status;
    if (!job->is_placed) {
        const size_t needed = job->start + job->most + self->slack;
        const size_t count = needed > self->least_buffer ? needed : self->least_buffer;
        if (job->start == 0 && !bbpe_reusable_buffer_open(own->buffer, count * sizeof **ids)) return BBPE_NO_MEMORY;
        if (!bbpe_reusable_buffer_extend(own->buffer, needed * sizeof **ids)) return BBPE_NO_MEMORY;
    }
    *ids = (job->is_placed ? self->ids : (uint32_t *)own->buffer->start) + job->start;
    return BBPE_OK;
}

/* Ids wait in the buffer of their thread. */
static void put_in_line(bbpe_ordered_output *self, bbpe_output_waiting *own, size_t first) {
    bbpe_output_part *part = self->parts + first;
    part->is_waiting = true;
    part->next_waiting = NONE;
    if (own->first == NONE) own->first = first;
    else self->parts[own->last].next_waiting = first;
    own->last = first;
    own->used = part->start + part->count;
}

bbpe_status bbpe_ordered_output_add(bbpe_ordered_output *self, size_t thread, const bbpe_output_job *job, size_t count) {
    bbpe_output_waiting *own = self->waiting + thread;
    bbpe_status status = BBPE_OK;
    BBPE_ASSERT(count <= job->most);
    bbpe_monitor_lock(&self->tasks->monitor);
    self->parts[job->parts.start] = (bbpe_output_part){.stop = job->parts.stop, .count = count, .start = job->start};
    if (!job->is_placed && count > 0) put_in_line(self, own, job->parts.start);
    if (self->turn == job->parts.start) bbpe_monitor_notify(&self->tasks->monitor);
    while (self->turn < self->tasks->count && self->parts[self->turn].stop > 0) {
        bbpe_output_part *part = self->parts + self->turn;
        if (part->is_waiting && !extend(self, self->end + part->count)) {
            status = BBPE_NO_MEMORY;
            break;
        }
        part->position = self->end;
        self->end += part->count;
        self->turn = part->stop;
    }
    copy_placed(self, own);
    bbpe_monitor_unlock(&self->tasks->monitor);
    return status;
}
