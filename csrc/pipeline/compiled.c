#include "pipeline/compiled.h"

#include "base/utf8.h"

enum {
    MOST_STRETCHES = 4096,
    MOST_KEPT = 1 << 22, /* bytes of memory that stay for the next text */
    AFTER = 16,          /* bytes that transcoding may overwrite */
};

static const uint8_t MARK[3] = {0xE2, 0x96, 0x81}; /* U+2581 */

/* A part of a text on its way. */
typedef struct {
    const uint8_t *text;
    size_t n;
} part;

static bbpe_status add_stretch(bbpe_pipeline_run *self, part text, uint32_t id, bool ends_text) {
    if (self->count == self->capacity) {
        bbpe_stretch *grown = bbpe_memory_reserve(self->stretches, &self->capacity, self->count + 1, sizeof *grown);
        if (grown == NULL) return BBPE_NO_MEMORY;
        self->stretches = grown;
    }
    self->stretches[self->count++] = (bbpe_stretch){text.text, text.n, NULL, 0, id, ends_text};
    self->bytes += text.n;
    return BBPE_OK;
}

/* -- steps: each leaves a part as it is, or points it to memory of the run --------------------------------------- */

static size_t find_mark(const uint8_t *text, size_t at, size_t n) {
    while (n - at >= sizeof MARK) {
        const uint8_t *found = memchr(text + at, MARK[0], n - at - 2);
        if (found == NULL) break;
        if (memcmp(found, MARK, sizeof MARK) == 0) return (size_t)(found - text);
        at = (size_t)(found - text) + 1;
    }
    return n;
}

static bbpe_status unmark(bbpe_pipeline_run *self, part *text) {
    size_t at = find_mark(text->text, 0, text->n), done = 0, used = 0;
    if (at == text->n) return BBPE_OK;
    uint8_t *to = bbpe_arena_take(&self->arena, text->n);
    if (to == NULL) return BBPE_NO_MEMORY;
    for (; at < text->n; at = find_mark(text->text, done, text->n)) {
        memcpy(to + used, text->text + done, at - done);
        used += at - done;
        to[used++] = ' ';
        done = at + sizeof MARK;
    }
    memcpy(to + used, text->text + done, text->n - done);
    used += text->n - done;
    bbpe_arena_trim(&self->arena, to, used);
    *text = (part){to, used};
    return BBPE_OK;
}

static bbpe_status add_prefix(bbpe_pipeline_run *self, const bbpe_pipeline *rules, bool is_first, part *text) {
    const size_t size = rules->prefix_length;
    if (size == 0 || text->n == 0 || (rules->prefix_first && !is_first)) return BBPE_OK;
    if (!rules->prefix_always && text->n >= size && memcmp(text->text, rules->prefix, size) == 0) return BBPE_OK;
    uint8_t *to = bbpe_arena_take(&self->arena, size + text->n);
    if (to == NULL) return BBPE_NO_MEMORY;
    memcpy(to, rules->prefix, size);
    memcpy(to + size, text->text, text->n);
    *text = (part){to, size + text->n};
    return BBPE_OK;
}

static size_t find_invalid(const uint8_t *text, size_t at, size_t n) {
    size_t next;
    for (; at < n; at = next) {
        if (text[at] < 0x80) next = at + 1;
        else if (bbpe_utf8_decode(text, at, n, &next) == BBPE_UTF8_INVALID) break;
    }
    return at;
}

static bbpe_status replace_invalid(bbpe_pipeline_run *self, part *text) {
    size_t at = find_invalid(text->text, 0, text->n), done = 0, used = 0;
    if (at == text->n) return BBPE_OK;
    uint8_t *to = text->n <= SIZE_MAX / 4 ? bbpe_arena_take(&self->arena, 3 * text->n) : NULL;
    if (to == NULL) return BBPE_NO_MEMORY;
    for (; at < text->n; at = find_invalid(text->text, done, text->n)) {
        memcpy(to + used, text->text + done, at - done);
        used += at - done;
        used += bbpe_utf8_write(to + used, 0xFFFD);
        done = at + 1;
    }
    memcpy(to + used, text->text + done, text->n - done);
    used += text->n - done;
    bbpe_arena_trim(&self->arena, to, used);
    *text = (part){to, used};
    return BBPE_OK;
}

/* -- from tokens to stretches ------------------------------------------------------------------------------------ */

/* Add a part of normalized text without tokens, and the id after it. */
static bbpe_status add_part(bbpe_pipeline_run *self, const bbpe_pipeline *rules, part text, bool is_first, uint32_t id) {
    bbpe_status status = rules->unmarks ? unmark(self, &text) : BBPE_OK;
    if (status == BBPE_OK) status = add_prefix(self, rules, is_first, &text);
    if (status != BBPE_OK || (text.n == 0 && id == BBPE_STRETCH_NO_ID)) return status;
    return add_stretch(self, text, id, false);
}

/* Normalize a piece of the text between tokens, and begin to look for tokens in it. */
static bbpe_status begin_piece(bbpe_pipeline_run *self, const bbpe_pipeline *rules, part text, bool is_first, uint32_t id) {
    const bbpe_status status = rules->replaces_invalid ? replace_invalid(self, &text) : BBPE_OK;
    self->in_piece = true;
    self->is_first = is_first;
    self->next_id = id;
    bbpe_token_cursor_begin(&self->normalized, text.text, text.n);
    return status;
}

static const bbpe_token_search NOTHING = {0};

static bbpe_status note_problem(bbpe_pipeline_run *self, const bbpe_token_search *search,
                                bbpe_pipeline_problem problem) {
    self->problem = problem;
    self->problem_search = search;
    return BBPE_OK;
}

/* Add the next part of the present piece. */
static bbpe_status next_part(bbpe_pipeline_run *self, const bbpe_pipeline_call *call) {
    const bbpe_token_search *search = call->normalized != NULL ? call->normalized : &NOTHING;
    bbpe_token_span span;
    bool needs_linear;
    const bbpe_status status = bbpe_token_cursor_next(&self->normalized, search, &span, &needs_linear);
    if (status != BBPE_OK) return status;
    if (needs_linear) return note_problem(self, search, BBPE_PIPELINE_NEEDS_LINEAR);
    const part text = {self->normalized.text + span.start, span.end - span.start};
    const bool is_last = span.id == BBPE_STRETCH_NO_ID;
    self->in_piece = !is_last;
    return add_part(self, call->pipeline, text, self->is_first && span.start == 0, is_last ? self->next_id : span.id);
}

/* Begin the next piece of the text. */
static bbpe_status next_piece(bbpe_pipeline_run *self, const bbpe_pipeline_call *call) {
    const bbpe_token_search *search = call->tokens != NULL ? call->tokens : &NOTHING;
    bbpe_token_span span;
    bool needs_linear;
    const bbpe_status status = bbpe_token_cursor_next(&self->tokens, search, &span, &needs_linear);
    if (status != BBPE_OK) return status;
    if (needs_linear) return note_problem(self, search, BBPE_PIPELINE_NEEDS_LINEAR);
    const part text = {self->tokens.text + span.start, span.end - span.start};
    self->is_cut = span.id == BBPE_STRETCH_NO_ID;
    return begin_piece(self, call->pipeline, text, span.start == 0, span.id);
}

static bbpe_status add_ids(bbpe_pipeline_run *self, const uint32_t *ids, size_t count) {
    bbpe_status status = BBPE_OK;
    for (size_t i = 0; i < count && status == BBPE_OK; i++) status = add_stretch(self, (part){NULL, 0}, ids[i], false);
    return status;
}

/* Look for a token that the call refuses, and add the ids before those of the text. */
static bbpe_status begin_text(bbpe_pipeline_run *self, const bbpe_pipeline_call *call) {
    if (call->refused != NULL) {
        bbpe_token_cursor cursor = self->tokens;
        bbpe_token_span span;
        bool needs_linear;
        const bbpe_status status = bbpe_token_cursor_next(&cursor, call->refused, &span, &needs_linear);
        self->tokens.found.items = cursor.found.items;
        self->tokens.found.capacity = cursor.found.capacity;
        if (status != BBPE_OK) return status;
        if (needs_linear) return note_problem(self, call->refused, BBPE_PIPELINE_NEEDS_LINEAR);
        if (span.id != BBPE_STRETCH_NO_ID) {
            self->refused_start = span.token_start;
            self->refused_end = span.token_end;
            return note_problem(self, call->refused, BBPE_PIPELINE_REFUSED);
        }
    }
    self->is_begun = true;
    return add_ids(self, call->before, call->before_count);
}

static bbpe_status end_text(bbpe_pipeline_run *self, const bbpe_pipeline_call *call) {
    const bbpe_status status = add_ids(self, call->after, call->after_count);
    self->is_done = true;
    return status == BBPE_OK ? add_stretch(self, (part){NULL, 0}, BBPE_STRETCH_NO_ID, true) : status;
}

bbpe_status bbpe_pipeline_next(bbpe_pipeline_run *self, const bbpe_pipeline_call *call) {
    const size_t most = self->count + MOST_STRETCHES;
    bbpe_status status = BBPE_OK;
    self->problem = BBPE_PIPELINE_FINE;
    if (!self->is_begun) status = begin_text(self, call);
    while (status == BBPE_OK && self->problem == BBPE_PIPELINE_FINE && !self->is_done && self->count < most) {
        if (self->in_piece) status = next_part(self, call);
        else if (!self->is_cut) status = next_piece(self, call);
        else status = end_text(self, call);
    }
    return status;
}

bbpe_status bbpe_pipeline_begin(bbpe_pipeline_run *self, const void *units, unsigned unit_size, size_t n) {
    static const uint8_t NO_TEXT[1] = {0};
    const uint8_t *text = n > 0 ? units : NO_TEXT;
    size_t next;
    if (unit_size > 0) {
        if (n > (SIZE_MAX - AFTER) / 8) return BBPE_TOO_LARGE;
        const size_t room = n * (unit_size == 4 ? 4 : unit_size + 1) + AFTER;
        uint8_t *to = bbpe_arena_take(&self->arena, room);
        if (to == NULL) return BBPE_NO_MEMORY;
        n = bbpe_transcode_utf8(units, unit_size, 0, n, &next, to, room);
        bbpe_arena_trim(&self->arena, to, n);
        text = to;
    }
    self->is_begun = self->is_cut = self->is_done = self->in_piece = false;
    bbpe_token_cursor_begin(&self->tokens, text, n);
    return BBPE_OK;
}

void bbpe_pipeline_empty(bbpe_pipeline_run *self) {
    self->count = self->bytes = 0;
    if (self->is_done) bbpe_arena_reset(&self->arena, MOST_KEPT);
}

void bbpe_pipeline_free(bbpe_pipeline_run *self) {
    bbpe_memory_free(self->stretches);
    bbpe_memory_free(self->tokens.found.items);
    bbpe_memory_free(self->normalized.found.items);
    bbpe_arena_free(&self->arena);
    memset(self, 0, sizeof *self);
}
