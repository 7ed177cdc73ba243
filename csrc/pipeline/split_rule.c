#include "pipeline/split_rule.h"

/* The parts of one span: where they go, the first of them there, whether the last was a match, and whether an empty match was
 * after it. */
typedef struct {
    bbpe_spans *out;
    size_t first;
    bool after_match, is_cut;
} parts;

/* Add a part that is not empty, for which there is room. */
BBPE_INLINE void put(parts *self, bbpe_split_behavior behavior, size_t start, size_t end, bool is_match) {
    bbpe_spans *out = self->out;
    const bool has_part = out->count > self->first;
    bool extends = false;
    if (behavior == BBPE_SPLIT_CONTIGUOUS) extends = has_part && is_match == self->after_match && !self->is_cut;
    if (behavior == BBPE_SPLIT_MERGED_WITH_PREVIOUS) extends = has_part && is_match && !self->after_match;
    if (behavior == BBPE_SPLIT_MERGED_WITH_NEXT) extends = has_part && !is_match && self->after_match;
    self->after_match = is_match;
    self->is_cut = false;
    if (extends) {
        out->items[out->count - 1].end = end;
    } else if (behavior != BBPE_SPLIT_REMOVED || !is_match) {
        out->items[out->count++] = (bbpe_span){start, end};
    }
}

/* Split one span from where the cursor is, until `out` has `limit` spans, or to its end. */
BBPE_INLINE bbpe_status split_span(const bbpe_split_rule *self, bool reads_bytes, bbpe_split_behavior behavior,
                                   bbpe_automaton_scratch *scratch, const uint8_t *text, bbpe_span span,
                                   bbpe_split_cursor *cursor, size_t limit, bbpe_spans *out) {
    const uint8_t *own = text + span.start;
    const size_t n = span.end - span.start;
    parts written = {out, out->count, false, false};
    size_t done = cursor->done;
    bbpe_span found = {0, cursor->from};
    bool refuses_empty = cursor->refuses_empty;
    while (out->count < limit) {
        bbpe_status status = bbpe_automaton_find_inline(self->automaton, reads_bytes, scratch, own, n, found.end,
                                                        refuses_empty, &found);
        if (status == BBPE_OK && out->capacity - out->count < 3) status = bbpe_spans_reserve(out, 3);
        if (BBPE_UNLIKELY(status != BBPE_OK)) return status;
        if (found.start == BBPE_AUTOMATON_NONE) {
            if (done < n) put(&written, behavior, span.start + done, span.end, self->inverts);
            cursor->is_over = true;
            return BBPE_OK;
        }
        if (found.start > done) put(&written, behavior, span.start + done, span.start + found.start, self->inverts);
        if (found.end > found.start)
            put(&written, behavior, span.start + found.start, span.start + found.end, !self->inverts);
        else written.is_cut = true;
        done = found.end;
        cursor->is_over = done == n; /* an empty match at the end changes nothing */
        if (cursor->is_over) return BBPE_OK;
        refuses_empty = found.end == found.start;
    }
    *cursor = (bbpe_split_cursor){done, found.end, refuses_empty, false};
    return BBPE_OK;
}

BBPE_INLINE bbpe_status split_spans(const bbpe_split_rule *self, bool reads_bytes, bbpe_split_behavior behavior,
                                    bbpe_automaton_scratch *scratch, const uint8_t *text, const bbpe_spans *in,
                                    bbpe_spans *out) {
    /* a span without a match stays as it is */
    const bool may_copy = !self->inverts && !self->automaton->may_be_empty && !self->automaton->goes_on;
    const size_t count = in->count, stop = count ? in->items[count - 1].end : 0;
    size_t active = 0, i = 0; /* no match begins in a span before `active` */
    while (i < count) {
        bbpe_status status = bbpe_spans_reserve(out, count - i + 3);
        if (may_copy && status == BBPE_OK) {
            if (active <= in->items[i].start)
                active = bbpe_automaton_skip(self->automaton, reads_bytes, text, in->items[i].start, stop);
            bbpe_span *to = out->items + out->count;
            while (i < count && in->items[i].end <= active) *to++ = in->items[i++];
            out->count = (size_t)(to - out->items);
            if (i == count) break;
        }
        const bbpe_span span = in->items[i++];
        if (status == BBPE_OK) {
            const size_t from = may_copy && active > span.start ? active : span.start;
            bbpe_split_cursor cursor = {0, from - span.start, false, false};
            bbpe_automaton_scratch_clear(scratch);
            status = split_span(self, reads_bytes, behavior, scratch, text, span, &cursor, SIZE_MAX, out);
        }
        if (status != BBPE_OK) return status;
        active = span.end;
    }
    return BBPE_OK;
}

bbpe_status bbpe_split_rule_apply(const bbpe_split_rule *self, bbpe_automaton_scratch *scratch, const uint8_t *text,
                                  const bbpe_spans *in, bbpe_spans *out) {
#define BBPE_SPLIT_CASE(name)                                                                            \
    case name:                                                                                           \
        return self->automaton->reads_bytes ? split_spans(self, true, name, scratch, text, in, out)       \
                                            : split_spans(self, false, name, scratch, text, in, out)
    switch (self->behavior) {
        BBPE_SPLIT_CASE(BBPE_SPLIT_REMOVED);
        BBPE_SPLIT_CASE(BBPE_SPLIT_ISOLATED);
        BBPE_SPLIT_CASE(BBPE_SPLIT_MERGED_WITH_PREVIOUS);
        BBPE_SPLIT_CASE(BBPE_SPLIT_MERGED_WITH_NEXT);
        BBPE_SPLIT_CASE(BBPE_SPLIT_CONTIGUOUS);
    }
#undef BBPE_SPLIT_CASE
    return BBPE_OK;
}

bbpe_status bbpe_split_rule_next(const bbpe_split_rule *self, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n,
                                 bbpe_split_cursor *cursor, size_t limit, bbpe_spans *out) {
    BBPE_ASSERT(self->behavior == BBPE_SPLIT_ISOLATED || self->behavior == BBPE_SPLIT_REMOVED);
    const bbpe_span whole = {0, n};
    if (self->automaton->reads_bytes)
        return split_span(self, true, self->behavior, scratch, text, whole, cursor, limit, out);
    return split_span(self, false, self->behavior, scratch, text, whole, cursor, limit, out);
}
