/* Where the bytes of a text come from that was made of another text: runs of bytes, as most are copied in stretches.
 *
 * A run ends where the next one begins.  Its first bytes come from one place, and those after them from that place and those
 * after it, in turn: a word with a mark that was put in front, or a replacement.  A character that was put comes from one place
 * with all its bytes, which is where another character begins. */
#ifndef BBPE_PIPELINE_SOURCES_H
#define BBPE_PIPELINE_SOURCES_H

#include "memory/memory.h"

typedef struct {
    size_t start;  /* in the text that was made */
    size_t source; /* in the other one */
    size_t held;   /* so many bytes come from `source` before the one that begins to count from there; SIZE_MAX: all */
} bbpe_source_run;

/* Zeroed before use. */
typedef struct {
    bbpe_source_run *runs;
    size_t count, capacity;
} bbpe_sources;

/* The runs of a text that is a part of another: its byte i is byte `from` + i there.  Without runs, it was not changed. */
typedef struct {
    const bbpe_source_run *runs;
    size_t count, from;
} bbpe_source_view;

/* Have room for so many more puts and copies. */
BBPE_INLINE bbpe_status bbpe_sources_reserve(bbpe_sources *self, size_t more) {
    if (BBPE_LIKELY(more <= self->capacity - self->count)) return BBPE_OK;
    if (more > SIZE_MAX - self->count) return BBPE_TOO_LARGE;
    bbpe_source_run *runs = bbpe_memory_reserve(self->runs, &self->capacity, self->count + more, sizeof *runs);
    if (runs == NULL) return BBPE_NO_MEMORY;
    self->runs = runs;
    return BBPE_OK;
}

/* Byte i of a run comes from here. */
BBPE_INLINE size_t bbpe_source_run_at(const bbpe_source_run *self, size_t i) {
    const size_t count = i - self->start;
    return self->source + (count > self->held ? count - self->held : 0);
}

/* Bytes from `start` on, the end of what is there, are copied from `source` on. */
BBPE_INLINE void bbpe_sources_copy(bbpe_sources *self, size_t start, size_t source) {
    if (self->count > 0) {
        bbpe_source_run *last = self->runs + self->count - 1;
        const size_t ahead = source - last->source, size = start - last->start;
        if (last->held != SIZE_MAX ? bbpe_source_run_at(last, start) == source && size >= last->held : ahead <= 1) {
            if (last->held == SIZE_MAX) last->held = size - ahead;
            return;
        }
    }
    BBPE_ASSERT(self->count < self->capacity);
    self->runs[self->count++] = (bbpe_source_run){start, source, 0};
}

/* `size` bytes from `start` on come all from `source`. */
BBPE_INLINE void bbpe_sources_put(bbpe_sources *self, size_t start, size_t size, size_t source) {
    if (size == 0) return;
    if (self->count > 0) {
        const bbpe_source_run *last = self->runs + self->count - 1;
        if (last->held == SIZE_MAX && last->source == source) return;
    }
    BBPE_ASSERT(self->count < self->capacity);
    self->runs[self->count++] = (bbpe_source_run){start, source, SIZE_MAX};
}

/* `size` bytes from `start` on come all from `source`, and those after them are copied from there on. */
BBPE_INLINE void bbpe_sources_put_before(bbpe_sources *self, size_t start, size_t size, size_t source) {
    BBPE_ASSERT(self->count < self->capacity);
    self->runs[self->count++] = (bbpe_source_run){start, source, size};
}

/* Forget all bytes but the first ones. */
BBPE_INLINE void bbpe_sources_cut(bbpe_sources *self, size_t size) {
    while (self->count > 0 && self->runs[self->count - 1].start >= size) self->count--;
}

/* The run of a byte, looked for from another one on: near in texts that are read in order. */
BBPE_INLINE size_t bbpe_source_view_find(const bbpe_source_view *self, size_t run, size_t i) {
    const size_t at = self->from + i;
    while (run + 1 < self->count && self->runs[run + 1].start <= at) run++;
    while (run > 0 && self->runs[run].start > at) run--;
    return run;
}

BBPE_INLINE bbpe_source_view bbpe_sources_view(const bbpe_sources *self) {
    return (bbpe_source_view){self->runs, self->count, 0};
}

/* The run of the first byte, in logarithmic time. */
size_t bbpe_source_view_begin(const bbpe_source_view *self);
/* Write to `out`, which is emptied, the sources of a whole text of n bytes that was made of a part of another, as `of` has it;
 * `from` are those of the part, which has some. */
bbpe_status bbpe_sources_compose(bbpe_source_view from, bbpe_source_view of, size_t n, bbpe_sources *out);
void bbpe_sources_free(bbpe_sources *self);

#endif
