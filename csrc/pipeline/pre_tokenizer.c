#include "pipeline/pre_tokenizer.h"

#include "memory/memory.h"
#include "pipeline/alphabet.h"
#include "pipeline/mark_step.h"

enum { MOST_PARTED = 32 };

bbpe_status bbpe_pre_tokenizer_init(bbpe_pre_tokenizer *self, const bbpe_pre_tokenizer_step *steps, size_t count,
                                    uint64_t number) {
    const bbpe_split_rule *rules[MOST_PARTED];
    size_t first = count, found = 0;
    *self = (bbpe_pre_tokenizer){.steps = steps, .count = count, .first_parted = count, .number = number};
    while (first > 0 && steps[first - 1].kind == BBPE_STEP_SPLIT) first--;
    if (count - first > MOST_PARTED) return BBPE_OK;
    for (size_t i = first; i < count; i++) rules[found++] = &steps[i].split;
    const bbpe_status status = bbpe_safe_pairs_init(&self->pairs, rules, found);
    if (self->pairs.has_any) self->first_parted = first;
    return status;
}

void bbpe_pre_tokenizer_scratch_free(bbpe_pre_tokenizer_scratch *self) {
    for (size_t i = 0; i < 2; i++) {
        bbpe_spans_free(self->spans + i);
        bbpe_memory_free(self->texts[i].bytes);
        bbpe_sources_free(&self->texts[i].sources);
    }
    bbpe_sources_free(&self->composed);
    bbpe_automaton_scratch_free(&self->automaton);
    bbpe_automaton_scratch_free(&self->first);
    bbpe_spans_free(&self->whole);
    bbpe_spans_free(&self->parted);
    bbpe_memory_free(self->remembered.parts);
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

static bbpe_status cut_at_blanks(const uint8_t *text, const bbpe_spans *in, bbpe_spans *out) {
    for (size_t i = 0; i < in->count; i++) {
        for (size_t start = in->items[i].start, end; start < in->items[i].end; start = end) {
            const uint8_t *found = memchr(text + start + 1, ' ', in->items[i].end - start - 1);
            end = found == NULL ? in->items[i].end : (size_t)(found - text);
            if (out->count == out->capacity && bbpe_spans_reserve(out, 1) != BBPE_OK) return BBPE_NO_MEMORY;
            out->items[out->count++] = (bbpe_span){start, end};
        }
    }
    return BBPE_OK;
}

static bool begins_with(const uint8_t *text, size_t n, const uint8_t *prefix, size_t size) {
    return n >= size && memcmp(text, prefix, size) == 0;
}

/* The size of what n bytes become without a prefix. */
static size_t marked_size(const bbpe_pre_tokenizer_step *step, const uint8_t *text, size_t n) {
    size_t size = n;
    for (size_t i = 0; step->mark_size > 1 && i < n; i++) size += text[i] == ' ' ? step->mark_size - 1 : 0;
    return size;
}

/* Write one span; a blank that becomes a mark counts as the mark where the prefix is looked for. */
static bbpe_status rewrite_span(const bbpe_pre_tokenizer_step *step, const uint8_t *text, size_t n, bool *has_prefix,
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
    *has_prefix = *has_prefix && !begins_with(changed, size, step->prefix, step->prefix_size);
    if (*has_prefix) {
        memcpy(own, step->prefix, step->prefix_size);
        out->used += step->prefix_size + size;
    } else {
        memmove(own, changed, size);
        out->used += size;
    }
    return BBPE_OK;
}

/* Add the sources of what was written last for a span, which begins at byte `start` there. */
static bbpe_status add_sources(const bbpe_pre_tokenizer_step *step, const uint8_t *text, bbpe_span span, bool has_prefix,
                               size_t start, bbpe_sources *out) {
    size_t to = start + (has_prefix ? step->prefix_size : 0);
    bbpe_status status = bbpe_sources_reserve(out, 1);
    if (status == BBPE_OK && has_prefix) bbpe_sources_put(out, start, step->prefix_size, span.start);
    for (size_t i = span.start; i < span.end && status == BBPE_OK;) {
        status = bbpe_sources_reserve(out, 2);
        if (status != BBPE_OK) break;
        const uint8_t *blank = step->mark_size > 0 ? memchr(text + i, ' ', span.end - i) : NULL;
        const size_t end = blank == NULL ? span.end : (size_t)(blank - text);
        if (end > i) bbpe_sources_copy(out, to, i);
        to += end - i;
        i = end;
        if (blank == NULL) continue;
        bbpe_sources_put(out, to, step->mark_size, i++);
        to += step->mark_size;
    }
    return status;
}

static bbpe_status rewrite(const bbpe_pre_tokenizer_step *step, const uint8_t *text, const bbpe_spans *in, size_t *head,
                           bool with_places, bbpe_spans *out, bbpe_rewritten *written) {
    size_t new_head = 0;
    written->used = written->sources.count = 0;
    for (size_t i = 0; i < in->count; i++) {
        const bbpe_span span = in->items[i];
        bool has_prefix = step->prefix_size && (!step->only_first || span.start < *head);
        const size_t start = written->used;
        bbpe_status status = rewrite_span(step, text + span.start, span.end - span.start, &has_prefix, written);
        if (status == BBPE_OK && with_places)
            status = add_sources(step, text, span, has_prefix, start, &written->sources);
        if (status == BBPE_OK) status = bbpe_spans_add(out, start, written->used);
        if (status != BBPE_OK) return status;
        if (span.start >= *head) continue;
        const size_t of_head = (*head < span.end ? *head : span.end) - span.start;
        new_head = start + (has_prefix ? step->prefix_size : 0) + marked_size(step, text + span.start, of_head);
    }
    *head = new_head;
    return BBPE_OK;
}

/* Have room for a byte's character, and its source. */
BBPE_INLINE bbpe_status note_byte(bbpe_rewritten *written, size_t size, size_t from) {
    const bbpe_status status = bbpe_sources_reserve(&written->sources, 1);
    if (status != BBPE_OK) return status;
    if (size == 1) bbpe_sources_copy(&written->sources, written->used, from);
    else bbpe_sources_put(&written->sources, written->used, size, from);
    return BBPE_OK;
}

/* Write the spans of n bytes in GPT-2's alphabet. */
static bbpe_status spell_bytes(const uint8_t *text, size_t n, const bbpe_spans *in, size_t *head, bool with_places,
                               bbpe_spans *out, bbpe_rewritten *written) {
    bbpe_alphabet alphabet;
    size_t new_head = 0;
    bbpe_alphabet_fill(&alphabet);
    if (n > SIZE_MAX / 4) return BBPE_NO_MEMORY;
    uint8_t *bytes = bbpe_memory_reserve(written->bytes, &written->capacity, 2 * n + 1, 1);
    if (bytes == NULL) return BBPE_NO_MEMORY;
    written->bytes = bytes;
    written->used = written->sources.count = 0;
    for (size_t i = 0; i < in->count; i++) {
        const size_t start = written->used;
        for (size_t at = in->items[i].start; at < in->items[i].end; at++) {
            const size_t size = alphabet.sizes[text[at]];
            memcpy(written->bytes + written->used, alphabet.bytes[text[at]], 2);
            if (with_places && note_byte(written, size, at) != BBPE_OK) return BBPE_NO_MEMORY;
            written->used += size;
            if (at < *head) new_head = written->used;
        }
        const bbpe_status status = bbpe_spans_add(out, start, written->used);
        if (status != BBPE_OK) return status;
    }
    *head = new_head;
    return BBPE_OK;
}

/* Apply the last steps to a part, and add its spans. */
static bbpe_status split_part(const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch, const uint8_t *text,
                              bbpe_span part, bbpe_spans *out) {
    unsigned own = 0;
    scratch->spans[0].count = 0;
    bbpe_status status = bbpe_spans_add(scratch->spans, part.start, part.end);
    for (size_t i = self->first_parted; i < self->count && status == BBPE_OK; i++) {
        const bbpe_spans *in = scratch->spans + own;
        own ^= 1;
        scratch->spans[own].count = 0;
        status = bbpe_split_rule_apply(&self->steps[i].split, &scratch->automaton, text, in, scratch->spans + own);
    }
    const bbpe_spans *found = scratch->spans + own;
    if (status == BBPE_OK) status = bbpe_spans_reserve(out, found->count);
    if (status != BBPE_OK) return status;
    memcpy(out->items + out->count, found->items, found->count * sizeof *found->items);
    out->count += found->count;
    return BBPE_OK;
}

/* Remember the spans of a part, unless they are too many. */
static void remember(const bbpe_remembered_spans *self, const bbpe_part_key *key, size_t start, const bbpe_span *spans,
                     size_t count) {
    bbpe_remembered_part part = {key->low, key->high, (uint8_t)key->length, (uint8_t)count, {0}};
    if (count > BBPE_REMEMBERED_MOST) return;
    for (size_t i = 0; i < count; i++) {
        part.edges[2 * i] = (uint8_t)(spans[i].start - start);
        part.edges[2 * i + 1] = (uint8_t)(spans[i].end - start);
    }
    *bbpe_remembered_slot(self, key) = part;
}

/* Add the spans of the parts of a span. */
static bbpe_status split_parts(const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch, const uint8_t *text,
                               bbpe_span whole, bbpe_spans *out) {
    bbpe_part_key key;
    for (size_t start = whole.start, end; start < whole.end; start = end) {
        end = bbpe_safe_pairs_next(&self->pairs, text, start, whole.end, &key);
        bbpe_status status = BBPE_OK;
        if (out->capacity - out->count < BBPE_REMEMBERED_MOST) status = bbpe_spans_reserve(out, BBPE_REMEMBERED_MOST);
        if (status != BBPE_OK) return status;
        if (BBPE_LIKELY(key.length > 0)) {
            const bbpe_remembered_part *slot = bbpe_remembered_slot(&scratch->remembered, &key);
            if (BBPE_LIKELY(bbpe_remembered_is(slot, &key))) {
                bbpe_span *to = out->items + out->count;
                for (size_t i = 0; i < slot->count; i++)
                    to[i] = (bbpe_span){start + slot->edges[2 * i], start + slot->edges[2 * i + 1]};
                out->count += slot->count;
                continue;
            }
        }
        const size_t before = out->count;
        status = split_part(self, scratch, text, (bbpe_span){start, end}, out);
        if (status != BBPE_OK) return status;
        if (key.length > 0) remember(&scratch->remembered, &key, start, out->items + before, out->count - before);
    }
    return BBPE_OK;
}

static void swap(bbpe_spans *a, bbpe_spans *b) {
    const bbpe_spans other = *a;
    *a = *b;
    *b = other;
}

/* Apply the last steps to spans, part by part. */
static bbpe_status split_by_parts(const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch, const uint8_t *text,
                                  bbpe_spans *spans) {
    bbpe_remembered_spans *remembered = &scratch->remembered;
    const size_t bytes = BBPE_REMEMBERED_SLOTS * sizeof *remembered->parts;
    if (remembered->parts == NULL) remembered->parts = bbpe_memory_zeroed(bytes, 1);
    else if (remembered->owner != self->number) memset(remembered->parts, 0, bytes);
    if (remembered->parts == NULL) return BBPE_NO_MEMORY;
    remembered->owner = self->number;
    swap(spans, &scratch->whole); /* the steps use it meanwhile */
    scratch->parted.count = 0;
    bbpe_status status = BBPE_OK;
    for (size_t i = 0; i < scratch->whole.count && status == BBPE_OK; i++)
        status = split_parts(self, scratch, text, scratch->whole.items[i], &scratch->parted);
    swap(spans, &scratch->parted);
    return status;
}

/* Let the sources of a step, of a text of n bytes, be those in the text before all steps; `*sources` are those of the steps before,
 * and then these. */
static bbpe_status compose_sources(bbpe_pre_tokenizer_scratch *scratch, size_t n, bbpe_rewritten *written,
                                   bbpe_source_view *sources) {
    if (sources->runs != NULL) {
        const bbpe_sources own = written->sources;
        const bbpe_status status = bbpe_sources_compose(*sources, bbpe_sources_view(&own), n, &scratch->composed);
        if (status != BBPE_OK) return status;
        written->sources = scratch->composed;
        scratch->composed = own;
    }
    *sources = bbpe_sources_view(&written->sources);
    return BBPE_OK;
}

/* Run the steps from `number` on over the spans of scratch->spans[0]. */
static bbpe_status run_steps(const bbpe_pre_tokenizer *self, size_t number, bbpe_pre_tokenizer_scratch *scratch,
                             const uint8_t *text, size_t n, size_t head, bool with_places, bbpe_pre_tokenized *result) {
    unsigned own = 0, text_number = 0;
    bbpe_source_view sources = {0};
    const bool by_parts = number <= self->first_parted && self->first_parted < self->count;
    bbpe_status status = BBPE_OK;
    for (size_t i = number; i < (by_parts ? self->first_parted : self->count) && status == BBPE_OK; i++) {
        const bbpe_pre_tokenizer_step *step = self->steps + i;
        const bbpe_spans *in = scratch->spans + own;
        bbpe_spans *out = scratch->spans + (own ^= 1);
        out->count = 0;
        if (step->kind == BBPE_STEP_SPLIT) {
            status = bbpe_split_rule_apply(&step->split, &scratch->automaton, text, in, out);
        } else if (step->kind == BBPE_STEP_LENGTH) {
            status = cut_by_length(step, text, in, out);
        } else if (step->kind == BBPE_STEP_BLANKS) {
            status = cut_at_blanks(text, in, out);
        } else {
            bbpe_rewritten *written = scratch->texts + text_number;
            if (step->kind == BBPE_STEP_ALPHABET)
                status = spell_bytes(text, n, in, &head, with_places, out, written);
            else if (step->kind == BBPE_STEP_MARK)
                status = bbpe_mark_step_apply(step, text, in, &head, with_places, out, written);
            else
                status = rewrite(step, text, in, &head, with_places, out, written);
            text = written->bytes;
            n = written->used;
            if (with_places && status == BBPE_OK) status = compose_sources(scratch, n, written, &sources);
            text_number ^= 1;
        }
    }
    if (by_parts && status == BBPE_OK) status = split_by_parts(self, scratch, text, scratch->spans + own);
    const bbpe_spans *last = scratch->spans + own;
    *result = (bbpe_pre_tokenized){text, n, last->items, status == BBPE_OK ? last->count : 0, sources};
    return status;
}

bbpe_status bbpe_pre_tokenizer_split(const bbpe_pre_tokenizer *self, bbpe_pre_tokenizer_scratch *scratch,
                                     const uint8_t *text, size_t n, size_t head, bool with_places,
                                     bbpe_pre_tokenized *result) {
    scratch->spans[0].count = 0;
    *result = (bbpe_pre_tokenized){text, n, NULL, 0, {0}};
    if (n == 0) return BBPE_OK;
    const bbpe_status status = bbpe_spans_add(scratch->spans, 0, n);
    return status == BBPE_OK ? run_steps(self, 0, scratch, text, n, head, with_places, result) : status;
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
        return bbpe_pre_tokenizer_split(self, scratch, text, n, 1, false, result);
    }
    scratch->spans[0].count = 0;
    *result = (bbpe_pre_tokenized){text, n, NULL, 0, {0}};
    if (cursor->from == 0) bbpe_automaton_scratch_clear(&scratch->first);
    const bbpe_status status =
        bbpe_split_rule_next(&first->split, &scratch->first, text, n, cursor, limit, scratch->spans);
    return status == BBPE_OK ? run_steps(self, 1, scratch, text, n, 1, false, result) : status;
}
