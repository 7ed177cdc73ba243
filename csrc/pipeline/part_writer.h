/* What a step writes: the bytes of a part, where in the part they come from if that is wanted, and how many of them come from
 * the first character of the text.  The memory is that of the run. */
#ifndef BBPE_PIPELINE_PART_WRITER_H
#define BBPE_PIPELINE_PART_WRITER_H

#include "pipeline/compiled.h"

typedef struct {
    uint8_t *to;
    size_t used;
    const bbpe_part *from;
    bbpe_sources *sources; /* or NULL */
    size_t head; /* of what is written */
} bbpe_part_writer;

/* Write at most `most` bytes instead of a part; false without memory for them. */
BBPE_INLINE bool bbpe_part_writer_begin(bbpe_part_writer *self, bbpe_pipeline_run *run, const bbpe_part *from, size_t most,
                                        bool with_places) {
    if (most > SIZE_MAX / 16) return false;
    *self = (bbpe_part_writer){bbpe_arena_take(&run->arena, most), 0, from, with_places ? &run->written : NULL, 0};
    run->written.count = 0;
    return self->to != NULL;
}

/* Have room for so many more calls of the next two. */
BBPE_INLINE bbpe_status bbpe_part_writer_reserve(const bbpe_part_writer *self, size_t calls) {
    return self->sources == NULL ? BBPE_OK : bbpe_sources_reserve(self->sources, calls);
}

/* Copy bytes [start, end) of the part. */
BBPE_INLINE void bbpe_part_writer_copy(bbpe_part_writer *self, size_t start, size_t end) {
    if (start == end) return;
    memcpy(self->to + self->used, self->from->text + start, end - start);
    if (self->sources != NULL) bbpe_sources_copy(self->sources, self->used, start);
    if (start < self->from->head) self->head = self->used + (end < self->from->head ? end : self->from->head) - start;
    self->used += end - start;
}

/* Write bytes that come from byte `source` of the part. */
BBPE_INLINE void bbpe_part_writer_put(bbpe_part_writer *self, const uint8_t *bytes, size_t n, size_t source) {
    memcpy(self->to + self->used, bytes, n);
    if (self->sources != NULL) bbpe_sources_put(self->sources, self->used, n, source);
    self->used += n;
    if (source < self->from->head) self->head = self->used;
}

/* Let `*view` be the sources in the text of n bytes that come from a part. */
BBPE_INLINE bbpe_status bbpe_part_find_sources(const bbpe_part *part, bbpe_pipeline_run *run, bbpe_source_view of, size_t n,
                                               bbpe_source_view *view) {
    const bool is_changed = part->sources.runs != NULL;
    if (is_changed) {
        const bbpe_status status = bbpe_sources_compose(part->sources, of, n, &run->composed);
        if (status != BBPE_OK) return status;
        of = bbpe_sources_view(&run->composed);
    }
    bbpe_source_run *runs = bbpe_arena_take(&run->arena, (of.count + 1) * sizeof *runs);
    if (runs == NULL) return BBPE_NO_MEMORY;
    for (size_t i = 0; i < of.count; i++) {
        runs[i] = of.runs[i];
        runs[i].source += is_changed ? 0 : part->at;
    }
    *view = (bbpe_source_view){runs, of.count, 0};
    return BBPE_OK;
}

/* Let `part` be what was written. */
BBPE_INLINE bbpe_status bbpe_part_writer_end(bbpe_part_writer *self, bbpe_pipeline_run *run, bbpe_part *part) {
    bbpe_source_view view = {0};
    bbpe_arena_trim(&run->arena, self->to, self->used);
    if (self->sources != NULL) {
        const bbpe_status status = bbpe_part_find_sources(self->from, run, bbpe_sources_view(self->sources), self->used, &view);
        if (status != BBPE_OK) return status;
    }
    *part = (bbpe_part){self->to, self->used, part->at, view, false, self->head};
    return BBPE_OK;
}

#endif
