#include "pipeline/pre_tokenizer.h"

#include "memory/memory.h"

void bbpe_pre_tokenizer_scratch_free(bbpe_pre_tokenizer_scratch *self) {
    for (size_t i = 0; i < 2; i++) {
        bbpe_spans_free(self->spans + i);
        bbpe_memory_free(self->texts[i].bytes);
        bbpe_memory_free(self->texts[i].sources);
    }
    bbpe_automaton_scratch_free(&self->automaton);
    bbpe_automaton_scratch_free(&self->first);
    memset(self, 0, sizeof *self);
}

static bbpe_status cut_by_length(const bbpe_pre_tokenizer_step *step, const uint8_t *text, const bbpe_spans *in,
                                 bbpe_spans *out) {
    for (size_t i = 0; i < in->count; i++) {
        for (size_t at = in->items[i].start; at < in->items[i].end;) {
            const size_t start = at, left = in->items[i].end - at;
            if (step->counts_bytes) at += left < step->length ? left : step->length;
            for (size_t k = 0; !step->counts_bytes && k < step->length && at < in->items[i].end; k++)
                (void)bbpe_utf8_decode(text, at, in->items[i].end, &at);
            const bbpe_status status = bbpe_spans_add(out, start, at);
            if (status != BBPE_OK) return status;
        }
    }
    return BBPE_OK;
}

static bool begins_with(const uint8_t *text, size_t n, const uint8_t *prefix, size_t size) {
    return n >= size && memcmp(text, prefix, size) == 0;
}

/* Write one span; a blank that becomes a mark counts as the mark where the prefix is looked for. */
static bbpe_status rewrite_span(const bbpe_pre_tokenizer_step *step, const uint8_t *text, size_t n, bool has_prefix,
                                bbpe_rewritten *out) {
    const size_t most = step->prefix_size + (step->mark_size > 1 ? step->mark_size : 1) * n;
    uint8_t *bytes = bbpe_memory_reserve(out->bytes, &out->capacity, out->used + most, 1);
    if (bytes == NULL) return BBPE_NO_MEMORY;
    out->bytes = bytes;
    uint8_t *own = bytes + out->used, *to = own + step->prefix_size;
    if (step->mark_size > 0) {
        for (size_t i = 0; i < n; i++) {
            if (text[i] == ' ') {
                memcpy(to, step->mark, step->mark_size);
                to += step->mark_size;
            } else {
                *to++ = text[i];
            }
        }
    } else {
        memcpy(to, text, n);
        to += n;
    }
    const uint8_t *changed = own + step->prefix_size;
    const size_t size = (size_t)(to - changed);
    if (has_prefix && !begins_with(changed, size, step->prefix, step->prefix_size)) {
        memcpy(own, step->prefix, step->prefix_size);
        out->used += step->prefix_size + size;
    } else {
        memmove(own, changed, size);
        out->used += size;
    }
    return BBPE_OK;
}

/* Set the sources of what was written last for a span, which begins at `start` there; `before` are those of its text. */
static bbpe_status set_sources(const bbpe_pre_tokenizer_step *step, const uint8_t *text, bbpe_span span, const size_t *before, size_t start, bbpe_rewritten *out) {
    size_t *sources = bbpe_memory_reserve(out->sources, &out->source_capacity, out->used, sizeof *sources);
    if (sources == NULL) return BBPE_NO_MEMORY;
    out->sources = sources;
    size_t to = out->used;
    for (size_t i = span.end; i-- > span.start;) {
        for (size_t k = text[i] == ' ' && step->mark_size > 0 ? step->mark_size : 1; k-- > 0;) sources[--to] = before == NULL ? i : before[i];
    }
    const size_t first = before == NULL ? span.start : before[span.start];
    while (to > start) sources[--to] = first;
    return BBPE_OK;
}

static bbpe_status rewrite(const bbpe_pre_tokenizer_step *step, const uint8_t *text, const bbpe_spans *in, bool at_start,
                           const size_t *before, bool is_aligned, bbpe_spans *out, bbpe_rewritten *written) {
    written->used = 0;
    for (size_t i = 0; i < in->count; i++) {
        const bbpe_span span = in->items[i];
        const bool has_prefix = step->prefix_size && (!step->only_first || (i == 0 && at_start));
        const size_t start = written->used;
        bbpe_status status = rewrite_span(step, text + span.start, span.end - span.start, has_prefix, written);
        if (status == BBPE_OK && is_aligned) status = set_sources(step, text, span, before, start, written);
        if (status == BBPE_OK) status = bbpe_spans_add(out, start, written->used);
        if (status != BBPE_OK) return status;
    }
    return BBPE_OK;
}

/* Run the steps from `number` on over the spans of scratch->spans[0]. */
static bbpe_status run_steps(const bbpe_pre_tokenizer *self, size_t number, bbpe_pre_tokenizer_scratch *scratch,
                             const uint8_t *text, size_t n, bool at_start, bool is_aligned, bbpe_pre_tokenized *result) {
    unsigned own = 0, text_number = 0;
    const size_t *sources = NULL;
    bbpe_status status = BBPE_OK;
    for (size_t i = number; i < self->count && status == BBPE_OK; i++) {
        const bbpe_pre_tokenizer_step *step = self->steps + i;
        const bbpe_spans *in = scratch->spans + own;
        bbpe_spans *out = scratch->spans + (own ^= 1);
        out->count = 0;
        if (step->kind == BBPE_STEP_SPLIT) {
            status = bbpe_split_rule_apply(&step->split, &scratch->automaton, text, in, out);
        } else if (step->kind == BBPE_STEP_LENGTH) {
            status = cut_by_length(step, text, in, out);
        } else {
            bbpe_rewritten *written = scratch->texts + text_number;
            status = rewrite(step, text, in, at_start, sources, is_aligned, out, written);
            text = written->bytes;
            sources = is_aligned ? written->sources : NULL;
            n = written->used;
            text_number ^= 1;
        }
        at_start = at_start && out->count && out->items[0].start == 0;
    }
    const bbpe_spans *last = scratch->spans + own;
    *result = (bbpe_pre_tokenized){text, n, last->items, status == BBPE_OK ? last->count : 0, sources};
    return status;
}

bbpe_status bbpe_pre_tokenizer_split(const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch,
                                     const uint8_t *text, size_t n, bool is_first, bool is_aligned,
                                     bbpe_pre_tokenized *result) {
    scratch->spans[0].count = 0;
    *result = (bbpe_pre_tokenized){text, n, NULL, 0, NULL};
    if (n == 0) return BBPE_OK;
    const bbpe_status status = bbpe_spans_add(scratch->spans, 0, n);
    return status == BBPE_OK ? run_steps(self, 0, scratch, text, n, is_first, is_aligned, result) : status;
}

bbpe_status bbpe_pre_tokenizer_next(const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch,
                                    bbpe_split_cursor *cursor, const uint8_t *text, size_t n, size_t limit,
                                    bbpe_pre_tokenized *result) {
    BBPE_ASSERT(n > 0);
    const bbpe_pre_tokenizer_step *first = self->steps;
    bool is_parted = self->count > 0 && first->kind == BBPE_STEP_SPLIT;
    if (is_parted) is_parted = first->split.behavior == BBPE_SPLIT_ISOLATED || first->split.behavior == BBPE_SPLIT_REMOVED;
    if (!is_parted) {
        cursor->is_over = true;
        return bbpe_pre_tokenizer_split(self, scratch, text, n, true, false, result);
    }
    scratch->spans[0].count = 0;
    *result = (bbpe_pre_tokenized){text, n, NULL, 0, NULL};
    if (cursor->from == 0) bbpe_automaton_scratch_clear(&scratch->first);
    const bbpe_status status =
        bbpe_split_rule_next(&first->split, &scratch->first, text, n, cursor, limit, scratch->spans);
    return status == BBPE_OK ? run_steps(self, 1, scratch, text, n, true, false, result) : status;
}
