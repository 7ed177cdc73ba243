#include "pipeline/token_search.h"

#include "base/utf8.h"
#include "memory/memory.h"

enum { BATCH = 4096 }; /* matches that are found at once, at least */

void bbpe_token_cursor_begin(bbpe_token_cursor *self, const uint8_t *text, size_t n) {
    self->text = text;
    self->n = n;
    self->done = self->searched = self->next = self->found.count = 0;
    self->blanks = self->blanks_end = 0;
    self->is_slow = false;
    self->levels = (bbpe_token_levels){NULL, 0, NULL};
}

/* The range of a byte of the text, looked for from another one on: near where a text is read in order. */
static size_t range_from(const bbpe_token_range *ranges, size_t range, size_t at) {
    while (range > 0 && ranges[range - 1].end > at) range--;
    while (ranges[range].end <= at) range++;
    return range;
}

/* Where a range ends without the blanks at its end, which a token after them may begin with once it is normalized: they count
 * as of the next range, unless there is nothing else. */
static size_t without_blanks(const uint8_t *text, size_t start, size_t end) {
    size_t at = end;
    for (;;) {
        if (at > start && text[at - 1] == ' ') at--;
        else if (at - start >= 3 && memcmp(text + at - 3, "\xE2\x96\x81", 3) == 0) at -= 3;
        else return at > start ? at : end;
    }
}

bbpe_status bbpe_token_cursor_follow(bbpe_token_cursor *self, bbpe_token_levels of, bbpe_source_view sources, size_t at,
                                     bbpe_arena *arena) {
    const bool is_changed = sources.runs != NULL;
    size_t run = is_changed ? bbpe_source_view_begin(&sources) : 0, used = 0, range = 0, next = 0;
    bbpe_token_range *made = bbpe_arena_take(arena, (self->n + 1) * sizeof *made);
    if (made == NULL) return BBPE_NO_MEMORY;
    for (size_t i = 0; i < self->n; i = next) {
        if (is_changed) run = bbpe_source_view_find(&sources, run, i);
        range = range_from(of.ranges, range, is_changed ? bbpe_source_run_at(sources.runs + run, sources.from + i) : at + i);
        /* unchanged bytes are in one range up to its end */
        next = is_changed ? i + 1 : of.ranges[range].end - at < self->n ? of.ranges[range].end - at : self->n;
        if (used == 0 || made[used - 1].level != of.ranges[range].level) made[used++].level = of.ranges[range].level;
        made[used - 1].end = next;
    }
    for (size_t i = 0, start = 0; i + 1 < used; start = made[i++].end)
        made[i].end = without_blanks(self->text, start, made[i].end);
    bbpe_arena_trim(arena, made, used * sizeof *made);
    self->levels = (bbpe_token_levels){made, used, of.levels};
    return BBPE_OK;
}

/* Whether a character is white space as HF's `tokenizers` strips it. */
static bool is_white_space(uint32_t c) {
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

static size_t after_white_space(bbpe_token_cursor *self, size_t at) {
    size_t next;
    if (at >= self->blanks && at < self->blanks_end) return self->blanks_end;
    self->blanks = at;
    while (at < self->n && is_white_space(bbpe_utf8_decode(self->text, at, self->n, &next))) at = next;
    return self->blanks_end = at;
}

/* Where the character before a place begins; `from` is not within a character, and less than the place. */
static size_t character_before(const uint8_t *text, size_t from, size_t at) {
    size_t start = at - 1, next;
    while (start > from && at - start < 4 && bbpe_utf8_is_tail(text[start])) start--;
    (void)bbpe_utf8_decode(text, start, at, &next);
    return next == at ? start : at - 1;
}

static size_t before_white_space(const uint8_t *text, size_t from, size_t at) {
    size_t next;
    while (at > from) {
        const size_t start = character_before(text, from, at);
        if (!is_white_space(bbpe_utf8_decode(text, start, at, &next))) break;
        at = start;
    }
    return at;
}

static bool touches_word(const bbpe_token_search *search, const bbpe_token_cursor *self, const bbpe_match *match) {
    size_t next;
    if (match->start > 0) {
        const size_t before = character_before(self->text, 0, match->start);
        const uint32_t c = bbpe_utf8_decode(self->text, before, match->start, &next);
        if (c != BBPE_UTF8_INVALID && (search->word_characters[c / 64] >> (c % 64) & 1)) return true;
    }
    if (match->end == self->n) return false;
    const uint32_t c = bbpe_utf8_decode(self->text, match->end, self->n, &next);
    return c != BBPE_UTF8_INVALID && (search->word_characters[c / 64] >> (c % 64) & 1);
}

size_t bbpe_token_codes_find(const bbpe_token_codes *self, const uint8_t *text, size_t n, uint32_t *id) {
    const size_t length = self->closes_length;
    if (n < self->opens_length + length || memcmp(text, self->opens, self->opens_length) != 0) return 0;
    for (const uint8_t *at = text + self->opens_length, *end = text + n; (size_t)(end - at) >= length; at++) {
        at = memchr(at, self->closes[0], (size_t)(end - at) - length + 1);
        if (at == NULL) break;
        if (memcmp(at, self->closes, length) != 0) continue;
        const size_t found = (size_t)(at - text) + length;
        const bbpe_pretoken_entry *entry = bbpe_pretoken_table_find(self->tokens, text, found);
        *id = entry == NULL ? self->unknown : (uint32_t)entry->value;
        return found;
    }
    return 0;
}

/* Each search takes the whole text between the tokens of those before it:
 *
 *     first     ------[b><cde>]---------
 *     then      --[x]-         -[x]-[ab]
 */
bbpe_status bbpe_token_search_in_turn(const bbpe_token_search *self, const uint8_t *text, size_t n, size_t most, size_t *at,
                                      bbpe_matches *found) {
    bbpe_matches own = {0};
    size_t done = *at;
    bbpe_status status = BBPE_OK;
    if (self->longest == 0) *at = n;
    else status = bbpe_matcher_linear_find(self->linear, self->best, self->lengths, self->longest, text, n, most, at, &own);
    for (size_t i = 0; status == BBPE_OK && i <= own.count; i++) {
        const size_t end = i < own.count ? own.items[i].start : *at;
        if (self->then != NULL && done < end)
            status = bbpe_token_search_in_turn(self->then, text, end, SIZE_MAX, &done, found);
        if (status != BBPE_OK || i == own.count) break;
        status = bbpe_matches_add(found, own.items[i]);
        done = own.items[i].end;
    }
    bbpe_memory_free(own.items);
    return status;
}

/* The tokens of text[start, end) that count in their ranges, each search between the tokens of those before it. */
static bbpe_status search_ranges(const bbpe_token_search *self, bbpe_token_levels levels, const uint8_t *text, size_t start,
                                 size_t end, bbpe_matches *found) {
    bbpe_matches own = {0};
    bbpe_status status =
        bbpe_matcher_find_in_ranges(self->matcher, self->policy, levels, text, start, end, self->then ? &own : found);
    if (self->then == NULL) return status;
    for (size_t i = 0, done = start; status == BBPE_OK && i <= own.count; i++) {
        const bbpe_match next = i < own.count ? own.items[i] : (bbpe_match){end, end, 0};
        if (done < next.start) status = search_ranges(self->then, levels, text, done, next.start, found);
        if (status == BBPE_OK && i < own.count) status = bbpe_matches_add(found, next);
        done = next.end;
    }
    bbpe_memory_free(own.items);
    return status;
}

/* Search on, once all that was found is taken. */
static bbpe_status search_on(bbpe_token_cursor *self, const bbpe_token_search *search, bool *needs_linear) {
    const size_t most = search->longest > BATCH ? search->longest : BATCH;
    self->found.count = self->next = 0;
    if (self->levels.ranges != NULL) {
        self->searched = self->n;
        return search_ranges(search, self->levels, self->text, 0, self->n, &self->found);
    }
    if (search->then != NULL)
        return bbpe_token_search_in_turn(search, self->text, self->n, most, &self->searched, &self->found);
    if (!self->is_slow) {
        const bbpe_status status = bbpe_matcher_find(search->matcher, search->policy, self->text, self->n, most,
                                                     &self->searched, &self->is_slow, &self->found);
        if (status != BBPE_OK || self->found.count > 0 || !self->is_slow) return status;
    }
    *needs_linear = search->linear == NULL;
    if (*needs_linear) return BBPE_OK;
    return bbpe_matcher_linear_find(search->linear, search->best, search->lengths, search->longest, self->text, self->n,
                                    most, &self->searched, &self->found);
}

/* The next match that counts, or NULL at the end of the text. */
static const bbpe_match *next_match(bbpe_token_cursor *self, const bbpe_token_search *search, bbpe_status *status,
                                    bool *needs_linear) {
    for (;;) {
        for (; self->next < self->found.count; self->next++) {
            const bbpe_match *match = self->found.items + self->next;
            const bool is_word = search->has_options && (search->tokens[match->token].options & BBPE_TOKEN_SINGLE_WORD);
            if (is_word && touches_word(search, self, match)) continue;
            self->next++;
            return match;
        }
        if ((search->longest == 0 && search->then == NULL) || self->searched >= self->n) return NULL;
        *status = search_on(self, search, needs_linear);
        if (*status != BBPE_OK || *needs_linear) return NULL;
    }
}

bbpe_status bbpe_token_cursor_next(bbpe_token_cursor *self, const bbpe_token_search *search, bbpe_token_span *span,
                                   bool *needs_linear) {
    bbpe_status status = BBPE_OK;
    *needs_linear = false;
    bbpe_added_token token;
    size_t start, end;
    do {
        const bbpe_match *match = next_match(self, search, &status, needs_linear);
        if (status != BBPE_OK || *needs_linear) return status;
        if (match == NULL) {
            *span = (bbpe_token_span){self->done, self->n, self->n, self->n, BBPE_STRETCH_NO_ID};
            self->done = self->n;
            return BBPE_OK;
        }
        token = search->tokens[match->token];
        start = match->start;
        end = match->end;
        if (token.options & BBPE_TOKEN_RSTRIP) end = after_white_space(self, end);
        /* what the token before has taken is not taken again, and may be the whole token */
        if (token.options & BBPE_TOKEN_LSTRIP)
            start = start > self->done ? before_white_space(self->text, self->done, start) : self->done;
    } while (start >= end);
    *span = (bbpe_token_span){self->done, start > self->done ? start : self->done, start, end, token.id};
    self->done = end;
    return BBPE_OK;
}
