#include "pipeline/sources.h"

void bbpe_sources_free(bbpe_sources *self) {
    bbpe_memory_free(self->runs);
    *self = (bbpe_sources){0};
}

size_t bbpe_source_view_begin(const bbpe_source_view *self) {
    size_t low = 0, high = self->count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (self->runs[middle].start <= self->from) low = middle;
        else high = middle;
    }
    return low;
}

/* The composition so far. */
typedef struct {
    bbpe_source_view from;
    size_t run; /* of `from`, near the last byte */
    bbpe_sources *out;
} composer;

/* Bytes [start, end) come from byte `source` of the part. */
static bbpe_status add_put(composer *self, size_t start, size_t end, size_t source) {
    if (start >= end) return BBPE_OK;
    const bbpe_status status = bbpe_sources_reserve(self->out, 1);
    if (status != BBPE_OK) return status;
    self->run = bbpe_source_view_find(&self->from, self->run, source);
    source = bbpe_source_run_at(self->from.runs + self->run, self->from.from + source);
    bbpe_sources_put(self->out, start, end - start, source);
    return BBPE_OK;
}

/* Bytes [start, end) come from byte `source` of the part and those after it. */
static bbpe_status add_copy(composer *self, size_t start, size_t end, size_t source) {
    while (start < end) {
        const bbpe_status status = bbpe_sources_reserve(self->out, 2);
        if (status != BBPE_OK) return status;
        self->run = bbpe_source_view_find(&self->from, self->run, source);
        const bbpe_source_run *run = self->from.runs + self->run;
        const size_t first = self->from.from + source, count = first - run->start;
        const bool is_held = count < run->held;
        size_t size = end - start;
        if (is_held && run->held - count < size) size = run->held - count;
        if (self->run + 1 < self->from.count && run[1].start - first < size) size = run[1].start - first;
        if (is_held) bbpe_sources_put(self->out, start, size, run->source);
        else bbpe_sources_copy(self->out, start, bbpe_source_run_at(run, first));
        start += size;
        source += size;
    }
    return BBPE_OK;
}

/* Add a run of `size` bytes if all of them come from what one run copies: most do. */
static bool add_run(composer *self, const bbpe_source_run *of, size_t size) {
    self->run = bbpe_source_view_find(&self->from, self->run, of->source);
    const bbpe_source_run *run = self->from.runs + self->run;
    const size_t first = self->from.from + of->source, end = first + (of->held < size ? size - of->held : 1);
    if (first - run->start < run->held || (self->run + 1 < self->from.count && end > run[1].start)) return false;
    if (self->out->count == self->out->capacity) return false;
    self->out->runs[self->out->count++] = (bbpe_source_run){of->start, bbpe_source_run_at(run, first), of->held};
    return true;
}

bbpe_status bbpe_sources_compose(bbpe_source_view from, bbpe_source_view of, size_t n, bbpe_sources *out) {
    composer self = {from, bbpe_source_view_begin(&from), out};
    bbpe_status status = BBPE_OK;
    out->count = 0;
    for (size_t i = 0; i < of.count && status == BBPE_OK; i++) {
        const bbpe_source_run *run = of.runs + i;
        const size_t end = i + 1 < of.count ? run[1].start : n;
        if (add_run(&self, run, end - run->start)) continue;
        const size_t middle = run->held < end - run->start ? run->start + run->held : end;
        status = add_put(&self, run->start, middle, run->source);
        if (status == BBPE_OK) status = add_copy(&self, middle, end, run->source);
    }
    return status;
}
