#include "threads/ordered_output.h"

#include "threads/ends.h"
#include "memory/memory.h"

#define NONE SIZE_MAX

enum { PIECE = 1 << 16 }; /* ids that are copied at once: while others wait for the last of them, they copy too */

bbpe_status bbpe_ordered_output_init(bbpe_ordered_output *self, const int64_t *bounds) {
    const size_t count = self->tasks->count, threads = self->tasks->threads;
    const size_t a_run = (self->tasks->round + threads - 1) / threads, most = SIZE_MAX / 2 / (self->a_unit + 1);
    size_t end = 0;
    self->first_copy = self->last_copy = NONE;
    self->bounds = bbpe_memory_new(count + 1, sizeof *self->bounds);
    self->parts = bbpe_memory_zeroed(count, sizeof *self->parts);
    self->memories = bbpe_memory_zeroed(threads, sizeof *self->memories);
    if (self->bounds == NULL || self->parts == NULL || self->memories == NULL) return BBPE_NO_MEMORY;
    for (size_t i = 0; i <= count; i++) {
        if (!bbpe_ends_next(bounds + i, most, &end)) return BBPE_CHANGED;
        self->bounds[i] = end;
    }
    self->roomy = count ? (self->a_unit * end + count - 1) / count * a_run : 0;
    return BBPE_OK;
}

void bbpe_ordered_output_free(bbpe_ordered_output *self) {
    bbpe_memory_free(self->bounds);
    bbpe_memory_free(self->parts);
    bbpe_memory_free(self->memories);
    self->bounds = NULL;
    self->parts = NULL;
    self->memories = NULL;
}

void bbpe_ordered_output_join(bbpe_ordered_output *self, size_t thread, bbpe_reusable_buffer *room) {
    self->memories[thread] = (bbpe_output_memory){room, NONE};
}

/* Have so many of all ids that may be written, under the lock: nobody else does it meanwhile. */
static bool extend(bbpe_ordered_output *self, size_t count) {
    return self->room == NULL || bbpe_reusable_buffer_extend(self->room, count * sizeof *self->ids);
}

/* Where in a thread's memory so many ids may be written, NONE if nowhere; 0 if nothing waits there, so that it may move. */
static size_t find_gap(const bbpe_ordered_output *self, const bbpe_output_memory *memory, size_t needed) {
    size_t at = 0;
    for (size_t i = memory->first; i != NONE; i = self->parts[i].next_waiting) {
        if (at + needed <= self->parts[i].start) return at;
        at = self->parts[i].start + self->parts[i].count;
    }
    return at == 0 || at + needed <= memory->room->size / sizeof(uint32_t) ? at : NONE;
}

static void put_in_memory(bbpe_ordered_output *self, size_t first) {
    bbpe_output_part *part = &self->parts[first];
    size_t *link = &self->memories[part->thread].first;
    while (*link != NONE && self->parts[*link].start < part->start) link = &self->parts[*link].next_waiting;
    part->next_waiting = *link;
    *link = first;
}

static void take_from_memory(bbpe_ordered_output *self, size_t first) {
    size_t *link = &self->memories[self->parts[first].thread].first;
    while (*link != first) link = &self->parts[*link].next_waiting;
    *link = self->parts[first].next_waiting;
}

/* The place of parts is known, where others may copy their ids to. */
static void put_in_line(bbpe_ordered_output *self, size_t first) {
    self->parts[first].to = self->end;
    self->parts[first].next_copy = NONE;
    if (self->first_copy == NONE) self->first_copy = first;
    else self->parts[self->last_copy].next_copy = first;
    self->last_copy = first;
}

/* Copy ids that wait and have a place, of any thread, with the lock given up meanwhile; false if there are none. */
static bool copy_piece(bbpe_ordered_output *self) {
    const size_t first = self->first_copy;
    if (first == NONE) return false;
    bbpe_output_part *part = &self->parts[first];
    const size_t at = part->handed_out, count = part->count - at < PIECE ? part->count - at : PIECE;
    const uint32_t *from = (const uint32_t *)self->memories[part->thread].room->start + part->start + at;
    part->handed_out += count;
    if (part->handed_out == part->count) self->first_copy = part->next_copy;
    bbpe_monitor_unlock(&self->tasks->monitor);
    memcpy(self->ids + part->to + at, from, count * sizeof *from);
    bbpe_monitor_lock(&self->tasks->monitor);
    part->copied += count;
    if (part->copied == part->count) {
        take_from_memory(self, first);
        bbpe_monitor_notify(&self->tasks->monitor);
    }
    return true;
}

/* Copy until all parts have their place. */
static void finish(bbpe_ordered_output *self) {
    bbpe_work_queue *tasks = self->tasks;
    bbpe_monitor_lock(&tasks->monitor);
    while (!tasks->is_stopped) {
        if (copy_piece(self)) continue;
        if (self->turn == tasks->count) break;
        bbpe_monitor_wait(&tasks->monitor);
    }
    bbpe_monitor_unlock(&tasks->monitor);
}

bool bbpe_ordered_output_take(bbpe_ordered_output *self, size_t thread, bbpe_output_job *job) {
    if (!bbpe_work_queue_take(self->tasks, thread, &job->parts)) {
        finish(self);
        return false;
    }
    job->most = self->a_unit * (self->bounds[job->parts.stop] - self->bounds[job->parts.start]);
    return true;
}

/* Have a place for their ids, or room in the thread's memory; not `found` when stopped. */
static bbpe_status find_place(bbpe_ordered_output *self, const bbpe_output_memory *memory, bbpe_output_job *job, bool *found) {
    const size_t needed = job->most + self->slack;
    bool fits = true;
    *found = false;
    bbpe_monitor_lock(&self->tasks->monitor);
    while (!*found && !self->tasks->is_stopped) {
        job->is_placed = self->turn == job->parts.start;
        job->start = job->is_placed ? self->end : find_gap(self, memory, needed);
        *found = job->start != NONE;
        if (!*found && !copy_piece(self)) bbpe_monitor_wait(&self->tasks->monitor);
    }
    if (*found && job->is_placed) fits = extend(self, job->start + needed);
    bbpe_monitor_unlock(&self->tasks->monitor);
    return fits ? BBPE_OK : BBPE_NO_MEMORY;
}

bbpe_status bbpe_ordered_output_begin(bbpe_ordered_output *self, size_t thread, bbpe_output_job *job, uint32_t **ids) {
    const bbpe_output_memory *memory = &self->memories[thread];
    bool found;
    *ids = NULL;
    const bbpe_status status = find_place(self, memory, job, &found);
    if (status != BBPE_OK || !found) return status;
    if (job->is_placed) {
        *ids = self->ids + job->start;
        return BBPE_OK;
    }
    const size_t needed = job->most + self->slack;
    if ((job->start + needed) * sizeof **ids > memory->room->size) {
        const size_t count = needed > self->roomy ? needed : self->roomy;
        if (!bbpe_reusable_buffer_open(memory->room, count * sizeof **ids)) return BBPE_NO_MEMORY;
    }
    if (!bbpe_reusable_buffer_extend(memory->room, (job->start + needed) * sizeof **ids)) return BBPE_NO_MEMORY;
    *ids = (uint32_t *)memory->room->start + job->start;
    return BBPE_OK;
}

bbpe_status bbpe_ordered_output_add(bbpe_ordered_output *self, size_t thread, const bbpe_output_job *job, size_t count) {
    bbpe_output_part *part = &self->parts[job->parts.start];
    bool fits = true;
    BBPE_ASSERT(count <= job->most);
    bbpe_monitor_lock(&self->tasks->monitor);
    *part = (bbpe_output_part){.stop = job->parts.stop, .count = count, .thread = thread, .start = job->start};
    /* what has no ids waits for nothing */
    part->copied = job->is_placed ? count : 0;
    if (part->copied < count) put_in_memory(self, job->parts.start);
    if (self->turn == job->parts.start) bbpe_monitor_notify(&self->tasks->monitor);
    while (self->turn < self->tasks->count && self->parts[self->turn].stop > 0) {
        part = &self->parts[self->turn];
        if (part->copied < part->count) {
            fits = extend(self, self->end + part->count);
            if (!fits) break;
            put_in_line(self, self->turn);
        }
        self->end += part->count;
        self->turn = part->stop;
    }
    while (copy_piece(self)) {}
    bbpe_monitor_unlock(&self->tasks->monitor);
    return fits ? BBPE_OK : BBPE_NO_MEMORY;
}
