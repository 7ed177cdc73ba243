#include "pipeline/compiled.h"

#include "base/utf8.h"
#include "pipeline/part_writer.h"

enum {
    MOST_STRETCHES = 4096,
    MOST_KEPT = 1 << 22, /* bytes of memory that stay for the next text */
    AFTER = 16,          /* bytes that transcoding may overwrite */
};

static const uint8_t MARK[3] = {0xE2, 0x96, 0x81}; /* U+2581 */

/* A token after a stretch. */
typedef struct {
    uint32_t id;
    size_t start, end; /* in the text as given */
    const uint8_t *text; /* as it was found */
    size_t n;
} next_token;
static const next_token NO_TOKEN = {BBPE_STRETCH_NO_ID, 0, 0, NULL, 0};

/* The pretokens of a part by their ends; none: the encoder splits it. */
typedef struct {
    const size_t *ends;
    size_t count;
} part_pretokens;
static const part_pretokens NO_PRETOKENS = {NULL, 0};

/* The sources from a byte on. */
static bbpe_source_view after_source(bbpe_source_view sources, size_t i) {
    return (bbpe_source_view){sources.runs, sources.count, sources.from + i};
}

static bbpe_status add_stretch(bbpe_pipeline_run *self, const bbpe_pipeline_call *call, const bbpe_part *part,
                               part_pretokens pretokens, next_token token, bool ends_text) {
    if (self->count == self->capacity) {
        bbpe_stretch *grown = bbpe_memory_reserve(self->stretches, &self->capacity, self->count + 1, sizeof *grown);
        if (grown == NULL) return BBPE_NO_MEMORY;
        self->stretches = grown;
    }
    if (call->with_places) {
        bbpe_stretch_source *grown =
            bbpe_memory_reserve(self->sources, &self->source_capacity, self->count + 1, sizeof *grown);
        if (grown == NULL) return BBPE_NO_MEMORY;
        self->sources = grown;
        grown[self->count] =
            (bbpe_stretch_source){part->at, part->sources, part->is_exact, token.start, token.end, token.text, token.n};
    }
    self->stretches[self->count++] =
        (bbpe_stretch){part->text, part->n, pretokens.ends, pretokens.count, token.id, ends_text};
    self->bytes += part->n;
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

static bbpe_status unmark(bbpe_pipeline_run *self, bool with_places, bbpe_part *part) {
    size_t at = find_mark(part->text, 0, part->n), done = 0;
    bbpe_part_writer writer;
    if (at == part->n) return BBPE_OK;
    const bbpe_part from = *part;
    if (!bbpe_part_writer_begin(&writer, self, &from, part->n, with_places)) return BBPE_NO_MEMORY;
    for (; at < from.n; at = find_mark(from.text, done, from.n)) {
        const bbpe_status status = bbpe_part_writer_reserve(&writer, 3);
        if (status != BBPE_OK) return status;
        bbpe_part_writer_copy(&writer, done, at);
        bbpe_part_writer_put(&writer, (const uint8_t *)" ", 1, at);
        done = at + sizeof MARK;
    }
    bbpe_part_writer_copy(&writer, done, from.n);
    return bbpe_part_writer_end(&writer, self, part);
}

static bbpe_status add_prefix(bbpe_pipeline_run *self, const bbpe_pipeline_call *call, bbpe_part *part) {
    const bbpe_pipeline *rules = call->pipeline;
    const size_t size = rules->prefix_length;
    bbpe_part_writer writer;
    if (size == 0 || part->n == 0 || (rules->prefix_first && part->head == 0)) return BBPE_OK;
    if (part->n >= size && memcmp(part->text, rules->prefix, size) == 0) return BBPE_OK;
    const bbpe_part from = *part;
    if (!bbpe_part_writer_begin(&writer, self, &from, size + part->n, call->with_places)) return BBPE_NO_MEMORY;
    const bbpe_status status = bbpe_part_writer_reserve(&writer, 2);
    if (status != BBPE_OK) return status;
    bbpe_part_writer_put(&writer, rules->prefix, size, 0);
    bbpe_part_writer_copy(&writer, 0, from.n);
    return bbpe_part_writer_end(&writer, self, part);
}

static size_t find_invalid(const uint8_t *text, size_t at, size_t n) {
    size_t next;
    for (; at < n; at = next) {
        if (text[at] < 0x80) next = at + 1;
        else if (bbpe_utf8_decode(text, at, n, &next) == BBPE_UTF8_INVALID) break;
    }
    return at;
}

static bbpe_status replace_invalid(bbpe_pipeline_run *self, bool with_places, bbpe_part *part) {
    static const uint8_t REPLACEMENT[3] = {0xEF, 0xBF, 0xBD}; /* U+FFFD */
    size_t at = find_invalid(part->text, 0, part->n), done = 0;
    bbpe_part_writer writer;
    if (at == part->n) return BBPE_OK;
    const bbpe_part from = *part;
    if (from.n > SIZE_MAX / 4 || !bbpe_part_writer_begin(&writer, self, &from, 3 * from.n, with_places)) return BBPE_NO_MEMORY;
    for (; at < from.n; at = find_invalid(from.text, done, from.n)) {
        const bbpe_status status = bbpe_part_writer_reserve(&writer, 3);
        if (status != BBPE_OK) return status;
        bbpe_part_writer_copy(&writer, done, at);
        bbpe_part_writer_put(&writer, REPLACEMENT, sizeof REPLACEMENT, at);
        done = at + 1;
    }
    bbpe_part_writer_copy(&writer, done, from.n);
    return bbpe_part_writer_end(&writer, self, part);
}

static bbpe_status normalize(bbpe_pipeline_run *self, const bbpe_pipeline_call *call, bbpe_part *part) {
    const uint8_t *out;
    size_t n;
    const bbpe_part from = *part;
    const bool with_places = call->with_places, finds_head = call->pipeline->finds_head && from.head > 0;
    self->normalizer.head = finds_head ? from.head : 0;
    const bbpe_status status = bbpe_normalizer_apply(call->pipeline->normalizer, &self->normalizer, from.text, from.n,
                                               with_places || finds_head, &out, &n);
    if (status != BBPE_OK) return status;
    const size_t head = finds_head ? self->normalizer.head : from.head > 0;
    if (n == 0 || (out >= from.text && out + n <= from.text + from.n)) {
        const size_t start = n == 0 ? 0 : (size_t)(out - from.text);
        *part = (bbpe_part){from.text + start, n, from.at + start, after_source(from.sources, start), from.is_exact, head};
        return BBPE_OK;
    }
    uint8_t *to = bbpe_arena_take(&self->arena, n);
    if (to == NULL) return BBPE_NO_MEMORY;
    *part = (bbpe_part){memcpy(to, out, n), n, from.at, {0}, false, head};
    if (!with_places) return BBPE_OK;
    return bbpe_part_find_sources(&from, self, bbpe_sources_view(self->normalizer.sources), n, &part->sources);
}

/* Whether spans are all of a text, one after another. */
static bool is_whole(const bbpe_pre_tokenized *found) {
    size_t end = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (found->spans[i].start != end) return false;
        end = found->spans[i].end;
    }
    return end == found->n;
}

/* Copy the bytes of a span of what was pre-tokenized, with blanks in place of U+2581 if the vocabulary has these. */
static bbpe_status copy_span(bbpe_part_writer *self, bbpe_span span, bool unmarks) {
    size_t done = span.start;
    bbpe_status status = bbpe_part_writer_reserve(self, 1);
    if (unmarks) {
        for (size_t at = find_mark(self->from->text, done, span.end); at < span.end && status == BBPE_OK;
             at = find_mark(self->from->text, done, span.end)) {
            status = bbpe_part_writer_reserve(self, 3);
            if (status != BBPE_OK) break;
            bbpe_part_writer_copy(self, done, at);
            bbpe_part_writer_put(self, (const uint8_t *)" ", 1, at);
            done = at + sizeof MARK;
        }
    }
    if (status == BBPE_OK) bbpe_part_writer_copy(self, done, span.end);
    return status;
}

/* Let a part be what pretokens have of it, one after another; `ends` are theirs. */
static bbpe_status keep_spans(bbpe_pipeline_run *self, const bbpe_pipeline_call *call, const bbpe_pre_tokenized *found,
                              bbpe_part *part, size_t *ends) {
    const bbpe_part outer = *part, from = {found->text, found->n, 0, found->sources, false, 0};
    bbpe_part_writer writer;
    bbpe_status status = BBPE_OK;
    if (!bbpe_part_writer_begin(&writer, self, &from, found->n, call->with_places)) return BBPE_NO_MEMORY;
    for (size_t i = 0; i < found->count && status == BBPE_OK; i++) {
        status = copy_span(&writer, found->spans[i], call->pipeline->unmarks_pretokens);
        ends[i] = writer.used;
    }
    if (status == BBPE_OK) status = bbpe_part_writer_end(&writer, self, part);
    if (status != BBPE_OK || !call->with_places) return status;
    part->at = outer.at;
    part->is_exact = outer.sources.runs == NULL || outer.is_exact;
    return bbpe_part_find_sources(&outer, self, part->sources, part->n, &part->sources);
}

/* Split a part into pretokens, and leave in it only what these have. */
static bbpe_status pre_tokenize(bbpe_pipeline_run *self, const bbpe_pipeline_call *call, bbpe_part *part,
                                part_pretokens *pretokens) {
    const bbpe_pipeline *rules = call->pipeline;
    bbpe_pre_tokenized found;
    const bbpe_status status = bbpe_pre_tokenizer_split(rules->pre_tokenizer, &self->pre_tokenizer, part->text, part->n,
                                                        part->head, call->with_places, &found);
    if (status != BBPE_OK) return status;
    size_t *ends = bbpe_arena_take(&self->arena, (found.count + 1) * sizeof *ends);
    if (ends == NULL) return BBPE_NO_MEMORY;
    *pretokens = (part_pretokens){ends, found.count};
    if (rules->unmarks_pretokens || !is_whole(&found)) return keep_spans(self, call, &found, part, ends);
    for (size_t i = 0; i < found.count; i++) ends[i] = found.spans[i].end;
    if (found.text == part->text) return BBPE_OK;
    uint8_t *to = bbpe_arena_take(&self->arena, found.n);
    if (to == NULL) return BBPE_NO_MEMORY;
    const bbpe_part outer = *part;
    const bool is_exact = outer.sources.runs == NULL || outer.is_exact;
    if (found.n > 0) memcpy(to, found.text, found.n); /* what is left of all that was removed has no memory */
    *part = (bbpe_part){to, found.n, outer.at, {0}, is_exact, 0};
    return call->with_places ? bbpe_part_find_sources(&outer, self, found.sources, found.n, &part->sources) : BBPE_OK;
}

/* -- from tokens to stretches ------------------------------------------------------------------------------------ */

/* Add a part of normalized text without tokens, and the token after it. */
static bbpe_status add_part(bbpe_pipeline_run *self, const bbpe_pipeline_call *call, bbpe_part part, next_token token) {
    const bbpe_pipeline *rules = call->pipeline;
    part_pretokens pretokens = NO_PRETOKENS;
    bbpe_status status = BBPE_OK;
    if (rules->unmarks) status = unmark(self, call->with_places, &part);
    if (status == BBPE_OK) status = add_prefix(self, call, &part);
    if (status == BBPE_OK && rules->pre_tokenizer != NULL && part.n > 0)
        status = pre_tokenize(self, call, &part, &pretokens);
    if (status != BBPE_OK || (part.n == 0 && token.id == BBPE_STRETCH_NO_ID)) return status;
    return add_stretch(self, call, &part, pretokens, token, false);
}

/* Normalize a piece of the text between tokens, and begin to look for tokens in it. */
static bbpe_status begin_piece(bbpe_pipeline_run *self, const bbpe_pipeline_call *call, bbpe_part part,
                               const bbpe_token_span *span) {
    bbpe_status status = call->pipeline->replaces_invalid ? replace_invalid(self, call->with_places, &part) : BBPE_OK;
    if (status == BBPE_OK && call->pipeline->normalizer != NULL && part.n > 0) status = normalize(self, call, &part);
    self->in_piece = true;
    self->next_id = span->id;
    self->next_start = span->token_start;
    self->next_end = span->token_end;
    self->piece = part;
    bbpe_token_cursor_begin(&self->normalized, part.text, part.n);
    if (status != BBPE_OK || call->in_normalized.ranges == NULL) return status;
    return bbpe_token_cursor_follow(&self->normalized, call->in_normalized, part.sources, part.at, &self->arena);
}

/* The end, in the text as given, of the character that begins at a place. */
static size_t character_end(const bbpe_pipeline_run *self, size_t at) {
    size_t next = at;
    if (at < self->tokens.n) (void)bbpe_utf8_decode(self->tokens.text, at, self->tokens.n, &next);
    return next;
}

/* Where in the text as given the character begins that byte i of a changed piece comes from. */
static size_t source_of(const bbpe_pipeline_run *self, const bbpe_part *piece, size_t i) {
    const bbpe_source_view from = after_source(piece->sources, i);
    const size_t at = bbpe_source_run_at(from.runs + bbpe_source_view_begin(&from), from.from);
    return at < self->tokens.n ? bbpe_utf8_start(self->tokens.text, at, self->tokens.n) : at;
}

/* A token that was found in the present piece. */
static next_token token_of_piece(const bbpe_pipeline_run *self, const bbpe_token_span *span) {
    const bbpe_part *piece = &self->piece;
    const size_t start = span->token_start, end = span->token_end;
    const uint8_t *text = piece->text + start;
    if (piece->sources.runs == NULL) return (next_token){span->id, piece->at + start, piece->at + end, text, end - start};
    const size_t first = source_of(self, piece, start), last = source_of(self, piece, end - 1);
    return (next_token){span->id, first, character_end(self, last), text, end - start};
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
    const bbpe_part *piece = &self->piece;
    const bbpe_part part = {piece->text + span.start, span.end - span.start, piece->at + span.start,
                            after_source(piece->sources, span.start), piece->is_exact,
                            piece->head > span.start ? piece->head - span.start : 0};
    self->in_piece = span.id != BBPE_STRETCH_NO_ID;
    if (self->in_piece) return add_part(self, call, part, token_of_piece(self, &span));
    const next_token next = {self->next_id, self->next_start, self->next_end, self->tokens.text + self->next_start,
                             self->next_end - self->next_start};
    return add_part(self, call, part, next);
}

/* Add the code that a piece begins with, and leave the rest of it in the part. */
static bbpe_status take_code(bbpe_pipeline_run *self, const bbpe_pipeline_call *call, bbpe_part *part) {
    uint32_t id;
    const bbpe_part piece = *part, before = {piece.text, 0, piece.at, {0}, false, 0};
    const size_t n = bbpe_token_codes_find(call->pipeline->codes, piece.text, piece.n, &id);
    if (n == 0) return BBPE_OK;
    *part = (bbpe_part){piece.text + n, piece.n - n, piece.at + n, {0}, false, 0};
    return add_stretch(self, call, &before, NO_PRETOKENS, (next_token){id, piece.at, piece.at + n, piece.text, n}, false);
}

/* Begin the next piece of the text. */
static bbpe_status next_piece(bbpe_pipeline_run *self, const bbpe_pipeline_call *call) {
    const bbpe_token_search *search = call->tokens != NULL ? call->tokens : &NOTHING;
    bbpe_token_span span;
    bool needs_linear;
    bbpe_status status = bbpe_token_cursor_next(&self->tokens, search, &span, &needs_linear);
    if (status != BBPE_OK) return status;
    if (needs_linear) return note_problem(self, search, BBPE_PIPELINE_NEEDS_LINEAR);
    bbpe_part part = {self->tokens.text + span.start, span.end - span.start, span.start, {0}, false, span.start == 0};
    if (call->pipeline->finds_head && part.head > 0) part.head = character_end(self, 0);
    self->is_cut = span.id == BBPE_STRETCH_NO_ID;
    if (call->pipeline->codes != NULL) status = take_code(self, call, &part);
    return status == BBPE_OK ? begin_piece(self, call, part, &span) : status;
}

static const bbpe_part NO_PART = {NULL, 0, 0, {0}, false, 0};

static bbpe_status add_ids(bbpe_pipeline_run *self, const bbpe_pipeline_call *call, const uint32_t *ids, size_t count) {
    bbpe_status status = BBPE_OK;
    for (size_t i = 0; i < count && status == BBPE_OK; i++)
        status = add_stretch(self, call, &NO_PART, NO_PRETOKENS, (next_token){ids[i], 0, 0, NULL, 0}, false);
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
    BBPE_ASSERT(call->in_text.ranges == NULL || call->with_places);
    self->tokens.levels = call->in_text;
    return add_ids(self, call, call->before, call->before_count);
}

static bbpe_status end_text(bbpe_pipeline_run *self, const bbpe_pipeline_call *call) {
    const bbpe_status status = add_ids(self, call, call->after, call->after_count);
    self->is_done = true;
    return status == BBPE_OK ? add_stretch(self, call, &NO_PART, NO_PRETOKENS, NO_TOKEN, true) : status;
}

bbpe_status bbpe_pipeline_next(bbpe_pipeline_run *self, const bbpe_pipeline_call *call) {
    const size_t most = self->count + MOST_STRETCHES;
    bbpe_status status = BBPE_OK;
    self->problem = BBPE_PIPELINE_FINE;
    self->normalizer.automaton.host = self->pre_tokenizer.automaton.host = call->host;
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

static void trim_sources(bbpe_sources *self) {
    if (self->capacity > MOST_KEPT / sizeof *self->runs) bbpe_sources_free(self);
}

void bbpe_pipeline_empty(bbpe_pipeline_run *self) {
    self->count = self->bytes = 0;
    if (!self->is_done) return;
    bbpe_arena_reset(&self->arena, MOST_KEPT);
    trim_sources(&self->written);
    trim_sources(&self->composed);
}

void bbpe_pipeline_free(bbpe_pipeline_run *self) {
    bbpe_memory_free(self->stretches);
    bbpe_memory_free(self->sources);
    bbpe_sources_free(&self->written);
    bbpe_sources_free(&self->composed);
    bbpe_memory_free(self->tokens.found.items);
    bbpe_memory_free(self->normalized.found.items);
    bbpe_normalizer_scratch_free(&self->normalizer);
    bbpe_pre_tokenizer_scratch_free(&self->pre_tokenizer);
    bbpe_arena_free(&self->arena);
    memset(self, 0, sizeof *self);
}
