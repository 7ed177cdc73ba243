/* Unicode's normal forms (Unicode Standard Annex 15): only stretches with characters that are not stable are looked at, with
 * the character before them, as they never join what is around them. */
#include "pipeline/normalizer_pass.h"

enum { FEW = 32 }; /* marks that are sorted by inserting; more by counting */

/* One text on its way. */
typedef struct {
    bbpe_pass *pass;
    bbpe_normalizer_scratch *scratch;
    const bbpe_search *search;
    bool composes, is_compatible;
    unsigned changes; /* flags of characters that the normal form changes */
    size_t count, characters; /* of items, and of characters of the text that they are from */
} form;

/* The decomposition of a character: the number of its characters, and these; 0 for the character itself. */
static const uint32_t *text_of(const form *self, const bbpe_character_row *row) {
    return bbpe_character_texts + (self->is_compatible ? row->compatible : row->decomposed);
}

static bbpe_status push(form *self, uint32_t code, bool is_more) {
    bbpe_normalizer_scratch *scratch = self->scratch;
    bbpe_form_item *items =
        bbpe_memory_reserve(scratch->items, &scratch->item_capacity, self->count + 1, sizeof *scratch->items);
    if (items == NULL) return BBPE_NO_MEMORY;
    scratch->items = items;
    items[self->count++] = (bbpe_form_item){code, !is_more, bbpe_character_get(code)->order};
    return BBPE_OK;
}

static bbpe_status push_all(form *self, const uint32_t *codes, unsigned count) {
    bbpe_status status = BBPE_OK;
    for (unsigned i = 0; i < count && status == BBPE_OK; i++) status = push(self, codes[i], i > 0);
    return status;
}

static bbpe_status push_start(form *self, size_t start) {
    bbpe_normalizer_scratch *scratch = self->scratch;
    size_t *starts =
        bbpe_memory_reserve(scratch->starts, &scratch->start_capacity, self->characters + 1, sizeof *scratch->starts);
    if (starts == NULL) return BBPE_NO_MEMORY;
    scratch->starts = starts;
    starts[self->characters++] = start;
    return BBPE_OK;
}

/* Let the items be the decomposition of text[start, end), whose marks are not sorted. */
static bbpe_status decompose(form *self, size_t start, size_t end) {
    uint32_t jamo[3];
    self->count = self->characters = 0;
    for (size_t i = start; i < end;) {
        bbpe_status status = self->pass->out->with_places ? push_start(self, i) : BBPE_OK;
        if (status != BBPE_OK) return status;
        const uint32_t c = bbpe_utf8_decode(self->pass->text, i, end, &i);
        const uint32_t *text = text_of(self, bbpe_character_get(c));
        if (c - BBPE_HANGUL < BBPE_HANGUL_COUNT) {
            const unsigned count = bbpe_hangul_decompose(c - BBPE_HANGUL, jamo);
            status = push_all(self, jamo, count);
        } else if (*text) {
            status = push_all(self, text + 1, *text);
        } else {
            status = push(self, c, false);
        }
        if (status != BBPE_OK) return status;
    }
    return BBPE_OK;
}

static void insert_sorted(bbpe_form_item *items, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const bbpe_form_item item = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].order > item.order; at--) items[at] = items[at - 1];
        items[at] = item;
    }
}

static bbpe_status count_sorted(bbpe_normalizer_scratch *scratch, bbpe_form_item *items, size_t count) {
    size_t ends[257] = {0};
    bbpe_form_item *sorted = bbpe_memory_reserve(scratch->sorted, &scratch->sorted_capacity, count, sizeof *sorted);
    if (sorted == NULL) return BBPE_NO_MEMORY;
    scratch->sorted = sorted;
    for (size_t i = 0; i < count; i++) ends[items[i].order + 1]++;
    for (size_t order = 0; order < 256; order++) ends[order + 1] += ends[order];
    for (size_t i = 0; i < count; i++) sorted[ends[items[i].order]++] = items[i];
    memcpy(items, sorted, count * sizeof *items);
    return BBPE_OK;
}

/* Sort each run of marks; those of one order stay as they are. */
static bbpe_status sort(form *self) {
    bbpe_form_item *items = self->scratch->items;
    for (size_t i = 0; i < self->count;) {
        size_t end = i;
        while (end < self->count && items[end].order) end++;
        if (end - i > FEW) {
            const bbpe_status status = count_sorted(self->scratch, items + i, end - i);
            if (status != BBPE_OK) return status;
        } else if (end - i > 1) {
            insert_sorted(items + i, end - i);
        }
        i = end + 1;
    }
    return BBPE_OK;
}

static void compose(form *self) {
    bbpe_form_item *items = self->scratch->items;
    size_t kept = 0, starter = SIZE_MAX;
    for (size_t i = 0; i < self->count; i++) {
        const bbpe_form_item item = items[i];
        if (starter != SIZE_MAX && (kept == starter + 1 || items[kept - 1].order < item.order)) {
            const uint32_t composed = bbpe_character_compose(items[starter].code, item.code);
            if (composed) {
                items[starter].code = composed;
                items[starter].taken = (uint16_t)(items[starter].taken + item.taken);
                continue;
            }
        }
        if (item.order == 0) starter = kept;
        items[kept++] = item;
    }
    self->count = kept;
}

/* Put the items in place of text[start, end), unless they are the same. */
static bbpe_status replace(form *self, size_t start, size_t end) {
    bbpe_normalizer_scratch *scratch = self->scratch;
    uint8_t *bytes = bbpe_memory_reserve(scratch->bytes, &scratch->byte_capacity, 4 * self->count, 1);
    size_t size = 0, taken = 0;
    if (bytes == NULL) return BBPE_NO_MEMORY;
    scratch->bytes = bytes;
    for (size_t i = 0; i < self->count; i++) size += bbpe_utf8_write(bytes + size, scratch->items[i].code);
    if (size == end - start && !memcmp(bytes, self->pass->text + start, size)) return BBPE_OK;
    const bbpe_status status = bbpe_pass_cut(self->pass, start, end, size);
    if (status != BBPE_OK) return status;
    if (!self->pass->out->with_places) {
        bbpe_pass_put(self->pass, bytes, size, start);
        return BBPE_OK;
    }
    /* as HF's `tokenizers` counts: an item is from the next character that none is from, or from the last one */
    for (size_t i = 0; i < self->count; i++) {
        const bbpe_form_item item = scratch->items[i];
        bbpe_pass_put_character(self->pass, item.code, scratch->starts[item.taken || taken == 0 ? taken : taken - 1]);
        taken += item.taken;
    }
    return BBPE_OK;
}

static bbpe_status normalize(form *self, size_t start, size_t end) {
    bbpe_status status = decompose(self, start, end);
    if (status == BBPE_OK) status = sort(self);
    if (status != BBPE_OK) return status;
    if (self->composes) compose(self);
    return replace(self, start, end);
}

/* Where a stretch begins whose first character that is not stable is at text[run]: one character earlier, if there is one. */
static size_t begin(const uint8_t *text, size_t run, uint32_t *before) {
    size_t next;
    *before = BBPE_UTF8_INVALID;
    if (run == 0) return 0;
    const size_t start = bbpe_search_before(text, run);
    *before = bbpe_utf8_decode(text, start, run, &next);
    return *before == BBPE_UTF8_INVALID ? run : start;
}

/* Whether a mark at text[run] and the character before it stay as they are.  If that character decomposes, it may have marks
 * that are sorted after this one. */
static bool stays(const uint8_t *text, size_t run, uint32_t mark) {
    uint32_t before;
    begin(text, run, &before);
    if (before == BBPE_UTF8_INVALID) return true;
    return bbpe_character_get(before)->decomposed == 0 && bbpe_character_compose(before, mark) == 0;
}

/* Whether what is before a character does not matter to it: the first one that it decomposes to is not sorted and does not
 * compose. */
static bool is_inert(const form *self, const bbpe_character_row *row) {
    const uint32_t *text = text_of(self, row);
    const bbpe_character_row *first = *text ? bbpe_character_get(text[1]) : row;
    return !(first->flags & (BBPE_CHARACTER_ORDERED | (self->composes ? BBPE_CHARACTER_JOINS : 0)));
}

/* Put the decomposition of a character that has nothing to do with its neighbours: most of those that decompose. */
static bbpe_status replace_alone(form *self, const bbpe_search_match *found, bool *is_done) {
    const uint32_t *text = text_of(self, found->row) + 1;
    uint32_t jamo[3], count = text[-1];
    bbpe_search_match next;
    *is_done = found->row->flags & self->changes && is_inert(self, found->row)
            && !(found->end < self->pass->n && bbpe_search_is_at(self->search, found->end, &next) && !is_inert(self, next.row));
    for (uint32_t i = 1; self->composes && i < count; i++) *is_done &= is_inert(self, bbpe_character_get(text[i]));
    if (!*is_done) return BBPE_OK;
    if (found->code - BBPE_HANGUL < BBPE_HANGUL_COUNT) {
        count = bbpe_hangul_decompose(found->code - BBPE_HANGUL, jamo);
        text = jamo;
    }
    const bbpe_status status = bbpe_pass_cut(self->pass, found->start, found->end, 4 * (size_t)count);
    for (uint32_t i = 0; status == BBPE_OK && i < count; i++) bbpe_pass_put_character(self->pass, text[i], found->start);
    return status;
}

/* Put what a character and the marks after it compose to, if all do and are sorted: most of those that compose. */
static bbpe_status replace_marked(form *self, size_t start, uint32_t before, bbpe_search_match *mark, size_t *end,
                                  bool *is_done) {
    uint8_t order = 0;
    *is_done = before != BBPE_UTF8_INVALID && bbpe_character_get(before)->decomposed == 0;
    for (bool is_mark = true; *is_done && is_mark; is_mark = *end < self->pass->n && bbpe_search_is_at(self->search, *end, mark)) {
        const uint32_t composed = mark->row->flags & self->changes ? 0 : bbpe_character_compose(before, mark->code);
        *is_done = composed && mark->row->order >= order && mark->row->order;
        before = composed;
        order = mark->row->order;
        *end = mark->end;
    }
    if (!*is_done) return BBPE_OK;
    const bbpe_status status = bbpe_pass_cut(self->pass, start, *end, 4);
    if (status == BBPE_OK) bbpe_pass_put_character(self->pass, before, start);
    return status;
}

/* Normalize the stretch with a character that is not sorted as it is, of which text[run, found->start) is; `*end` is where
 * it ends. */
static bbpe_status normalize_at(form *self, size_t run, bbpe_search_match found, size_t *end) {
    bbpe_search_match more = found;
    uint32_t before = BBPE_UTF8_INVALID;
    bool is_done;
    *end = found.end;
    bbpe_status status = replace_alone(self, &found, &is_done);
    if (status != BBPE_OK || is_done) return status;
    const bool is_first = run == found.start, joins = self->composes && !(is_first && is_inert(self, found.row));
    const size_t start = joins ? begin(self->pass->text, run, &before) : run;
    if (joins && is_first) status = replace_marked(self, start, before, &more, end, &is_done);
    if (status != BBPE_OK || is_done) return status;
    for (*end = found.end; *end < self->pass->n && bbpe_search_is_at(self->search, *end, &more);) *end = more.end;
    return normalize(self, start, *end);
}

/* The mark that ends at text[start] and that the search has left out, after text[from). */
static bool find_left_out(const form *self, size_t from, size_t start, bbpe_search_match *mark) {
    if (start == from) return false;
    const size_t before = bbpe_search_before(self->pass->text, start);
    return before >= from && bbpe_search_is_at(self->search, before, mark) && mark->end == start;
}

bbpe_status bbpe_pass_form(const bbpe_normalizer_step *step, bbpe_pass *pass) {
    const bool composes = step->set == BBPE_CHARACTERS_NFC || step->set == BBPE_CHARACTERS_NFKC;
    bbpe_search search = bbpe_search_of(step->set, pass->search, pass->text, pass->n);
    const unsigned changes = search.set->flags & ~(unsigned)(BBPE_CHARACTER_ORDERED | BBPE_CHARACTER_JOINS);
    form self = {pass, pass->scratch, &search, composes, step->set >= BBPE_CHARACTERS_NFKC, changes, 0, 0};
    bbpe_search_match found, mark;
    size_t from = 0, run = 0, end = SIZE_MAX; /* text[run, end): characters that are not stable, and sorted as they are */
    uint8_t order = 0;
    while (bbpe_search_next(&search, from, &found)) {
        bool is_next = found.start == end;
        if (!is_next) run = found.start;
        if (!is_next && find_left_out(&self, from, found.start, &mark)) {
            is_next = true;
            run = mark.start;
            order = mark.row->order;
        }
        if (found.row->order && !(found.row->flags & changes) && (!is_next || found.row->order >= order)) {
            const bool joins = composes && found.row->flags & BBPE_CHARACTER_JOINS;
            if (!joins || (!is_next && stays(pass->text, run, found.code))) {
                from = end = found.end;
                order = found.row->order;
                continue;
            }
        }
        const bbpe_status status = normalize_at(&self, run, found, &from);
        if (status != BBPE_OK) return status;
        end = SIZE_MAX;
    }
    return BBPE_OK;
}
