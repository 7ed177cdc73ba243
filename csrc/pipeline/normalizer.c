#include "pipeline/alphabet.h"
#include "pipeline/normalizer_pass.h"

static const uint8_t blank_mark[3] = {0xE2, 0x96, 0x81}; /* U+2581 */

void bbpe_normalizer_init(bbpe_normalizer *self) {
    *self = (bbpe_normalizer){NULL, 0, 0, bbpe_search_select()};
}

static void free_step(bbpe_normalizer_step *step) {
    bbpe_memory_free((void *)(uintptr_t)step->pattern);
    bbpe_memory_free((void *)(uintptr_t)step->content);
    bbpe_memory_free(step->borders);
}

void bbpe_normalizer_free(bbpe_normalizer *self) {
    for (size_t i = 0; i < self->count; i++) free_step(self->steps + i);
    bbpe_memory_free(self->steps);
}

static const uint8_t *copy_of(const uint8_t *bytes, size_t n) {
    uint8_t *copy = bbpe_memory_new(n, 1);
    if (copy != NULL && n) memcpy(copy, bytes, n);
    return copy;
}

bbpe_status bbpe_normalizer_add(bbpe_normalizer *self, bbpe_normalizer_step step) {
    bbpe_normalizer_step *steps = bbpe_memory_reserve(self->steps, &self->capacity, self->count + 1, sizeof *steps);
    if (steps == NULL) return BBPE_NO_MEMORY;
    self->steps = steps;
    step.pattern = copy_of(step.pattern, step.pattern_length);
    step.content = copy_of(step.content, step.content_length);
    step.borders = NULL;
    bbpe_status status = step.pattern != NULL && step.content != NULL ? BBPE_OK : BBPE_NO_MEMORY;
    if (status == BBPE_OK && step.kind == BBPE_NORMALIZER_REPLACE && step.automaton == NULL)
        status = bbpe_normalizer_step_prepare(&step);
    if (status == BBPE_OK) self->steps[self->count++] = step;
    else free_step(&step);
    return status;
}

void bbpe_normalizer_scratch_free(bbpe_normalizer_scratch *self) {
    for (size_t i = 0; i < 2; i++) bbpe_charsmap_output_free(self->buffers + i);
    bbpe_memory_free(self->items);
    bbpe_memory_free(self->sorted);
    bbpe_memory_free(self->starts);
    bbpe_memory_free(self->bytes);
    bbpe_sources_free(&self->composed);
    bbpe_automaton_scratch_free(&self->automaton);
}

static bool is_space(const uint8_t *text, size_t start, size_t end) {
    size_t next;
    const uint32_t c = bbpe_utf8_decode(text, start, end, &next);
    return c != BBPE_UTF8_INVALID && bbpe_character_get(c)->flags & BBPE_CHARACTER_SPACE;
}

static void strip(const bbpe_normalizer_step *step, bbpe_pass *pass) {
    size_t start = 0, end = pass->n, next;
    while (step->left && start < end && is_space(pass->text, start, end)) {
        bbpe_utf8_decode(pass->text, start, end, &next);
        start = next;
    }
    while (step->right && end > start) {
        const size_t before = bbpe_search_before(pass->text, end);
        if (!is_space(pass->text, before, end)) break;
        end = before;
    }
    pass->is_changed = start > 0 || end < pass->n;
    pass->done = start;
    pass->n = end;
}

static bbpe_status prepend(const bbpe_normalizer_step *step, bbpe_pass *pass) {
    if (pass->n == 0 || step->content_length == 0) return BBPE_OK;
    const bbpe_status status = bbpe_pass_cut(pass, 0, 0, step->content_length);
    if (status == BBPE_OK) bbpe_pass_put(pass, step->content, step->content_length, 0);
    return status;
}

/* Where the suffix begins that a text ends with, or its end. */
static size_t before_suffix(const bbpe_normalizer_step *step, const uint8_t *text, size_t n) {
    const size_t length = step->content_length;
    return length <= n && (length == 0 || !memcmp(text + n - length, step->content, length)) ? n - length : n;
}

static bbpe_status squeeze(const bbpe_normalizer_step *step, bbpe_pass *pass) {
    const uint8_t *text = pass->text;
    const size_t suffix = before_suffix(step, text, pass->n);
    size_t start = 0, end = suffix;
    while (start < end && text[start] == ' ') start++;
    for (; end > start; end -= text[end - 1] == ' ' ? 1 : 3) {
        const bool is_mark = step->right && end - start >= 3 && !memcmp(text + end - 3, blank_mark, 3);
        if (text[end - 1] != ' ' && !is_mark) break;
    }
    pass->is_changed = start > 0 || end < suffix;
    pass->done = start;
    if (suffix == pass->n) pass->n = end;
    for (size_t i = start; i + 1 < end;) {
        const uint8_t *found = memchr(text + i, ' ', end - 1 - i);
        if (found == NULL) break;
        i = (size_t)(found - text) + 1;
        size_t next = i;
        while (next < end && text[next] == ' ') next++;
        if (next == i) continue;
        const bbpe_status status = bbpe_pass_cut(pass, i, next, 0);
        if (status != BBPE_OK) return status;
        i = next;
    }
    return pass->n > suffix && end < suffix ? bbpe_pass_cut(pass, end, suffix, 0) : BBPE_OK;
}

static bbpe_status charsmap(const bbpe_normalizer_step *step, bbpe_pass *pass) {
    if (pass->n == 0) return BBPE_OK;
    if (step->left && bbpe_charsmap_are_blanks(step->charsmap, pass->text, pass->n)) {
        pass->is_changed = true;
        pass->done = pass->n;
        return BBPE_OK;
    }
    bbpe_status status = bbpe_pass_reserve(pass, step->content_length);
    if (status != BBPE_OK) return status;
    bbpe_pass_put(pass, step->content, step->content_length, 0);
    status = bbpe_charsmap_apply(step->charsmap, pass->text, pass->n, pass->out);
    if (status == BBPE_OK) status = bbpe_pass_reserve(pass, step->pattern_length);
    if (status != BBPE_OK) return status;
    bbpe_pass_put(pass, step->pattern, step->pattern_length, bbpe_search_before(pass->text, pass->n));
    pass->is_changed = pass->out->used != pass->n || memcmp(pass->out->bytes, pass->text, pass->n) != 0;
    if (pass->is_changed) pass->done = pass->n;
    else pass->out->used = pass->out->sources.count = 0;
    return status;
}

static bbpe_status spell_bytes(bbpe_pass *pass) {
    bbpe_alphabet alphabet;
    bbpe_alphabet_fill(&alphabet);
    size_t i = 0;
    while (i < pass->n && pass->text[i] < 0x80 && bbpe_alphabet_is_printable(pass->text[i])) i++;
    if (i == pass->n) return BBPE_OK;
    const bbpe_status status = bbpe_pass_cut(pass, i, i, pass->n);
    if (status != BBPE_OK) return status;
    bbpe_charsmap_output out = *pass->out; /* in registers */
    for (; i < pass->n; i++) {
        const uint8_t byte = pass->text[i];
        memcpy(out.bytes + out.used, alphabet.bytes[byte], 2);
        if (out.with_places) bbpe_sources_put(&out.sources, out.used, alphabet.sizes[byte], i);
        out.used += alphabet.sizes[byte];
    }
    *pass->out = out;
    pass->done = pass->n;
    return BBPE_OK;
}

static bbpe_status run(const bbpe_normalizer_step *step, bbpe_pass *pass) {
    switch (step->kind) {
    case BBPE_NORMALIZER_FORM: return bbpe_pass_form(step, pass);
    case BBPE_NORMALIZER_MAP: return bbpe_pass_map(step, pass);
    case BBPE_NORMALIZER_STRIP: strip(step, pass); return BBPE_OK;
    case BBPE_NORMALIZER_PREPEND: return prepend(step, pass);
    case BBPE_NORMALIZER_REPLACE: return bbpe_pass_replace(step, pass);
    case BBPE_NORMALIZER_SQUEEZE: return squeeze(step, pass);
    case BBPE_NORMALIZER_CHARSMAP: return charsmap(step, pass);
    case BBPE_NORMALIZER_PRECOMPILED: return bbpe_pass_precompiled(step, pass);
    case BBPE_NORMALIZER_BYTES: return spell_bytes(pass);
    }
    return BBPE_OK;
}

void bbpe_normalizer_find_sources(const bbpe_normalizer_scratch *scratch, const uint8_t *text, size_t n, size_t out_n,
                                  size_t *sources) {
    const bbpe_sources *found = scratch->sources;
    const bbpe_source_view view = found == NULL ? (bbpe_source_view){0} : bbpe_sources_view(found);
    for (size_t i = 0, run = 0; i < out_n; i++) {
        if (found != NULL) run = bbpe_source_view_find(&view, run, i);
        sources[i] = bbpe_utf8_start(text, found == NULL ? i : bbpe_source_run_at(found->runs + run, i), n);
    }
}

/* Let the sources of a step be those in the text before all steps, where those of the step before are known. */
static bbpe_status compose_sources(bbpe_normalizer_scratch *scratch, const bbpe_charsmap_output *before, bbpe_charsmap_output *out) {
    if (before == NULL) return BBPE_OK;
    const bbpe_source_view from = bbpe_sources_view(&before->sources), of = bbpe_sources_view(&out->sources);
    const bbpe_status status = bbpe_sources_compose(from, of, out->used, &scratch->composed);
    const bbpe_sources other = out->sources;
    out->sources = scratch->composed;
    scratch->composed = other;
    return status;
}

/* How many of n bytes come from the first `head` of the text that they were made of. */
static size_t find_head(const bbpe_sources *sources, size_t n, size_t head) {
    size_t next = 0;
    while (next < sources->count && sources->runs[next].source < head) next++;
    if (next == 0) return 0;
    const bbpe_source_run *last = sources->runs + next - 1;
    const size_t size = (next < sources->count ? last[1].start : n) - last->start;
    if (last->held >= size || head - last->source >= size - last->held) return last->start + size;
    return last->start + last->held + (head - last->source);
}

bbpe_status bbpe_normalizer_apply(const bbpe_normalizer *self, bbpe_normalizer_scratch *scratch, const uint8_t *text,
                                  size_t n, bool with_places, const uint8_t **out, size_t *out_n) {
    bbpe_charsmap_output *done = NULL, *next = scratch->buffers;
    *out = text;
    *out_n = n;
    scratch->buffers[0].with_places = scratch->buffers[1].with_places = with_places;
    for (size_t i = 0; i < self->count; i++) {
        bbpe_pass pass = {scratch, self->search, *out, *out_n, 0, next, false, false};
        next->used = next->sources.count = 0;
        bbpe_status status = run(self->steps + i, &pass);
        if (status != BBPE_OK) return status;
        if (!pass.is_changed) continue;
        if (!with_places && !pass.lowers && next->used == 0) { /* a part of what it was */
            *out += pass.done;
            *out_n = pass.n - pass.done;
            continue;
        }
        status = bbpe_pass_reserve(&pass, 0);
        if (status != BBPE_OK) return status;
        bbpe_pass_keep(&pass, pass.n);
        if (with_places && self->steps[i].kind != BBPE_NORMALIZER_PRECOMPILED)
            scratch->head = find_head(&next->sources, next->used, scratch->head);
        if (with_places) status = compose_sources(scratch, done, next);
        if (status != BBPE_OK) return status;
        done = next;
        next = scratch->buffers + (done == scratch->buffers);
        *out = done->bytes;
        *out_n = done->used;
    }
    scratch->sources = with_places && done != NULL ? &done->sources : NULL;
    return BBPE_OK;
}
