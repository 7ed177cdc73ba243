/* What a step writes: the bytes of a part, the byte of the text that each comes from if that is wanted, and how many of
 * them come from the first character of the text.  The memory is that of the run. */
#ifndef BBPE_PIPELINE_PART_WRITER_H
#define BBPE_PIPELINE_PART_WRITER_H

#include "base/utf8.h"
#include "pipeline/compiled.h"

/* Where byte i of a part, or its end, comes from. */
BBPE_INLINE size_t bbpe_part_source(const bbpe_part *part, size_t i) {
    return part->sources == NULL ? part->at + i : part->sources[i];
}

/* Where n bytes of a part come from; `bytes` are their positions in it. */
BBPE_INLINE void bbpe_part_find_sources(const bbpe_part *part, const size_t *bytes, size_t n, size_t *sources) {
    if (part->sources == NULL)
        for (size_t i = 0; i < n; i++) sources[i] = part->at + bytes[i];
    else
        for (size_t i = 0; i < n; i++) sources[i] = part->sources[bytes[i]];
}

typedef struct {
    uint8_t *to;
    size_t *sources;
    size_t used;
    const bbpe_part *from;
    bool by_characters; /* a byte comes from its whole character */
    size_t head;        /* of what is written */
} bbpe_part_writer;

/* Write at most `most` bytes instead of a part; false without memory for them. */
BBPE_INLINE bool bbpe_part_writer_begin(bbpe_part_writer *self, bbpe_pipeline_run *run, const bbpe_part *from, size_t most,
                                        bool is_aligned) {
    if (most > SIZE_MAX / 16) return false;
    *self = (bbpe_part_writer){bbpe_arena_take(&run->arena, most), NULL, 0, from, from->sources == NULL, 0};
    if (is_aligned && self->to != NULL) self->sources = bbpe_arena_take(&run->arena, most * sizeof *self->sources);
    return self->to != NULL && (!is_aligned || self->sources != NULL);
}

/* Copy bytes [start, end) of the part. */
BBPE_INLINE void bbpe_part_writer_copy(bbpe_part_writer *self, size_t start, size_t end) {
    memcpy(self->to + self->used, self->from->text + start, end - start);
    size_t first = start, next = start;
    for (size_t i = start; self->sources != NULL && i < end; i++) {
        if (self->by_characters && i == next) (void)bbpe_utf8_decode(self->from->text, first = i, self->from->n, &next);
        self->sources[self->used + i - start] = bbpe_part_source(self->from, self->by_characters ? first : i);
    }
    if (start < self->from->head) self->head = self->used + (end < self->from->head ? end : self->from->head) - start;
    self->used += end - start;
}

/* Write bytes that come from byte `source` of the part. */
BBPE_INLINE void bbpe_part_writer_put(bbpe_part_writer *self, const uint8_t *bytes, size_t n, size_t source) {
    memcpy(self->to + self->used, bytes, n);
    for (size_t i = 0; self->sources != NULL && i < n; i++)
        self->sources[self->used + i] = bbpe_part_source(self->from, source);
    self->used += n;
    if (source < self->from->head) self->head = self->used;
}

/* Let `part` be what was written. */
BBPE_INLINE void bbpe_part_writer_end(bbpe_part_writer *self, bbpe_pipeline_run *run, bbpe_part *part) {
    if (self->sources == NULL) bbpe_arena_trim(&run->arena, self->to, self->used);
    *part = (bbpe_part){self->to, self->used, part->at, self->sources, false, self->head};
}

#endif
