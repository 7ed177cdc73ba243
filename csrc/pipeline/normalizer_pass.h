/* One step over one text: what is left as it is, is copied in stretches, and the rest is put between. */
#ifndef BBPE_PIPELINE_NORMALIZER_PASS_H
#define BBPE_PIPELINE_NORMALIZER_PASS_H

#include "memory/memory.h"
#include "pipeline/normalizer.h"

typedef struct {
    bbpe_normalizer_scratch *scratch;
    bbpe_search_blocks search;
    const uint8_t *text;
    size_t n, done; /* text[0, done) has been dealt with */
    bbpe_charsmap_output *out;
    bool is_changed, lowers; /* ASCII that is copied becomes lower case */
} bbpe_pass;

enum { BBPE_PASS_SLACK = 32 }; /* bytes after what is written that may be overwritten */

/* Room for what is left of the text, and for some bytes more, as many puts. */
BBPE_INLINE bbpe_status bbpe_pass_reserve(bbpe_pass *self, size_t more) {
    const size_t left = self->n - self->done;
    if (more > SIZE_MAX / 4 || left > SIZE_MAX / 4 || self->out->used > SIZE_MAX / 4) return BBPE_TOO_LARGE;
    return bbpe_charsmap_reserve(self->out, self->out->used + left + more + BBPE_PASS_SLACK, more);
}

BBPE_INLINE void bbpe_pass_copy_lowered(uint8_t *to, const uint8_t *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = (uint8_t)(from[i] + ((uint8_t)(from[i] - 'A') < 26 ? 32 : 0));
}

/* Copy n bytes, of which `left` can be read; up to 32 are written whatever n is, as most stretches are short. */
BBPE_INLINE void bbpe_pass_copy(uint8_t *to, const uint8_t *from, size_t n, size_t left, bool lowers) {
    if (n <= BBPE_PASS_SLACK && left >= BBPE_PASS_SLACK) {
        if (lowers) bbpe_pass_copy_lowered(to, from, BBPE_PASS_SLACK);
        else memcpy(to, from, BBPE_PASS_SLACK);
    } else if (lowers) {
        bbpe_pass_copy_lowered(to, from, n);
    } else {
        memcpy(to, from, n);
    }
}

/* Put bytes that come from one place of the text, for which there is room. */
BBPE_INLINE void bbpe_pass_put(bbpe_pass *self, const uint8_t *bytes, size_t length, size_t source) {
    bbpe_charsmap_output *out = self->out;
    uint8_t *to = out->bytes + out->used;
    if (length == 3) memcpy(to, bytes, 3); /* U+2581 */
    else if (length) memcpy(to, bytes, length);
    if (out->with_places) bbpe_sources_put(&out->sources, out->used, length, source);
    out->used += length;
}

BBPE_INLINE void bbpe_pass_put_character(bbpe_pass *self, uint32_t c, size_t source) {
    bbpe_charsmap_output *out = self->out;
    const size_t length = bbpe_utf8_write(out->bytes + out->used, c);
    if (out->with_places) bbpe_sources_put(&out->sources, out->used, length, source);
    out->used += length;
}

/* Copy what is not dealt with before text[end], for which there is room. */
BBPE_INLINE void bbpe_pass_keep(bbpe_pass *self, size_t end) {
    bbpe_charsmap_output *out = self->out;
    const size_t size = end - self->done;
    if (size == 0) return;
    bbpe_pass_copy(out->bytes + out->used, self->text + self->done, size, self->n - self->done, self->lowers);
    if (out->with_places) bbpe_sources_copy(&out->sources, out->used, self->done);
    out->used += size;
    self->done = end;
}

/* Leave text[start, end) out, and have room for some bytes in its place. */
BBPE_INLINE bbpe_status bbpe_pass_cut(bbpe_pass *self, size_t start, size_t end, size_t more) {
    BBPE_ASSERT(self->done <= start && start <= end && end <= self->n);
    const bbpe_status status = bbpe_pass_reserve(self, more);
    if (status != BBPE_OK) return status;
    bbpe_pass_keep(self, start);
    self->done = end;
    self->is_changed = true;
    return BBPE_OK;
}

/* The steps that have a file of their own. */
bbpe_status bbpe_pass_form(const bbpe_normalizer_step *step, bbpe_pass *pass);
bbpe_status bbpe_pass_map(const bbpe_normalizer_step *step, bbpe_pass *pass);
bbpe_status bbpe_pass_replace(const bbpe_normalizer_step *step, bbpe_pass *pass);
bbpe_status bbpe_pass_precompiled(const bbpe_normalizer_step *step, bbpe_pass *pass);
/* Fill step->borders. */
bbpe_status bbpe_normalizer_step_prepare(bbpe_normalizer_step *step);

#endif
