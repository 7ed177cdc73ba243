#include "pipeline/template.h"

#include "memory/memory.h"

/* The form of a row, and how many ids it has. */
BBPE_INLINE const bbpe_template *form_of(const bbpe_row_rules *rules, bool is_pair) {
    return is_pair ? rules->pair : rules->single;
}

BBPE_INLINE size_t length_of(const bbpe_template *form, const bbpe_row *row) {
    return form->added + form->uses[0] * row->counts[0] + form->uses[1] * row->counts[1];
}

/* -- which ids: truncation --------------------------------------------------------------------------------------- */

/* The windows of a text of `n` ids, each of `kept` ids but the last one; `step` ids are between their beginnings. */
typedef struct {
    size_t n, kept, step, count;
    bool from_left;
} windows;

static windows windows_of(const bbpe_row_rules *rules, size_t n, size_t kept) {
    if (kept >= n) return (windows){n, n, 0, 1, false};
    if (!rules->continues) return (windows){n, kept, 0, 1, rules->from_left};
    const size_t step = kept - rules->stride;
    return (windows){n, kept, step, 1 + (n - kept + step - 1) / step, rules->from_left};
}

/* Put window i of the first (`which` 0) or second text, whose ids begin at `start`, into a row. */
static void put_window(bbpe_row *row, int which, const windows *self, size_t start, size_t i) {
    const size_t away = i * self->step, left = self->n - away; /* from the end where the windows begin */
    row->counts[which] = left < self->kept ? left : self->kept;
    row->starts[which] = start + (self->from_left ? left - row->counts[which] : away);
}

/* How many ids remain of a pair of texts of n[0] and n[1], if the longer one is truncated first. */
static void share_room(const size_t n[2], size_t room, size_t kept[2]) {
    const int longer = n[0] <= n[1];
    size_t least = n[!longer], most = least;
    if (least <= room && room - least > least) most = room - least;
    if (most > room || least > room - most) {
        least = room / 2;
        most = least + room % 2;
    }
    kept[!longer] = least < n[!longer] ? least : n[!longer];
    kept[longer] = most < n[longer] ? most : n[longer];
}

static bbpe_rows_problem truncate(const bbpe_row_rules *rules, bool is_pair, const size_t n[2], size_t room, size_t kept[2]) {
    const size_t excess = n[0] + n[1] > room ? n[0] + n[1] - room : 0;
    const int which = rules->strategy == BBPE_ONLY_SECOND;
    kept[0] = n[0];
    kept[1] = n[1];
    if (excess == 0) return BBPE_ROWS_FINE;
    if (room == 0) kept[0] = kept[1] = 0;
    else if (rules->strategy == BBPE_LONGEST_FIRST && is_pair) share_room(n, room, kept);
    else if (rules->strategy == BBPE_LONGEST_FIRST) kept[0] = room;
    else if (which == 1 && !is_pair) return BBPE_ROWS_NO_SECOND;
    else if (n[which] <= excess) return BBPE_ROWS_TOO_SHORT;
    else kept[which] -= excess;
    return BBPE_ROWS_FINE;
}

static bbpe_row *add_rows(bbpe_rows *self, size_t count) {
    if (count > SIZE_MAX - self->count) return NULL;
    bbpe_row *grown = bbpe_memory_reserve(self->rows, &self->capacity, self->count + count, sizeof *grown);
    if (grown == NULL) return NULL;
    self->rows = grown;
    return grown + self->count;
}

/* Add the row of an item that has no more ids than rows have room for. */
static bbpe_status add_row(bbpe_rows *self, const bbpe_template *form, const bbpe_row *row) {
    bbpe_row *const to = add_rows(self, 1);
    if (to == NULL) return BBPE_NO_MEMORY;
    const size_t length = length_of(form, row);
    *to = *row;
    self->count++;
    self->total += length;
    if (length > self->longest) self->longest = length;
    return BBPE_OK;
}

/* Add the rows of an item: all windows of the text that comes first in a row with all of the other; but the first row has
 * the first windows of both, and the rows that share its window of the earlier text come last. */
static bbpe_status add_windows(bbpe_rows *self, const bbpe_row_rules *rules, const bbpe_row *whole) {
    const bbpe_template *form = form_of(rules, whole->is_pair);
    const int outer = form->has_second_before, inner = !outer;
    windows both[2];
    for (int i = 0; i < 2; i++) {
        size_t kept[2];
        self->problem = truncate(rules, whole->is_pair, whole->counts, rules->limit - form->added, kept);
        if (self->problem != BBPE_ROWS_FINE) return BBPE_OK;
        if (rules->continues && kept[i] < whole->counts[i] && rules->stride >= kept[i]) {
            self->problem = BBPE_ROWS_STRIDE;
            self->problem_room = kept[i];
            return BBPE_OK;
        }
        both[i] = windows_of(rules, whole->counts[i], kept[i]);
    }
    bbpe_status status = BBPE_OK;
    bbpe_row row = *whole;
    /* the first window of the outer text comes twice: with the first one of the inner text, and at last with the others */
    for (size_t i = 0; i <= both[outer].count && status == BBPE_OK; i++) {
        const bool is_last = i == both[outer].count;
        put_window(&row, outer, &both[outer], whole->starts[outer], is_last ? 0 : i);
        for (size_t k = is_last; k < (i == 0 ? 1 : both[inner].count) && status == BBPE_OK; k++) {
            put_window(&row, inner, &both[inner], whole->starts[inner], k);
            status = add_row(self, form, &row);
        }
    }
    return status;
}

bbpe_status bbpe_rows_plan(bbpe_rows *self, const bbpe_row_rules *rules, const bbpe_row_texts *texts, size_t id_count) {
    bbpe_status status = BBPE_OK;
    size_t text = 0;
    if (texts->item_count > 0 && add_rows(self, texts->item_count) == NULL) return BBPE_NO_MEMORY;
    for (size_t i = 0; i < texts->item_count && status == BBPE_OK && self->problem == BBPE_ROWS_FINE; i++) {
        const size_t size = texts->sizes == NULL ? 1 : texts->sizes[i];
        bbpe_row row = {.item = i, .is_pair = size == 2};
        if (size < 1 || size > 2 || texts->text_count - text < size) return BBPE_CHANGED;
        for (size_t k = 0; k < size; k++, text++) {
            const int64_t start = texts->offsets[text], end = texts->offsets[text + 1];
            if (start < 0 || end < start || (uint64_t)end > id_count) return BBPE_CHANGED;
            row.starts[k] = (size_t)start;
            row.counts[k] = (size_t)(end - start);
        }
        const bbpe_template *form = form_of(rules, row.is_pair);
        BBPE_ASSERT(rules->limit >= form->added);
        self->problem_item = i;
        if (row.counts[0] + row.counts[1] <= rules->limit - form->added) status = add_row(self, form, &row);
        else status = add_windows(self, rules, &row);
    }
    return status;
}

void bbpe_rows_free(bbpe_rows *self) {
    bbpe_memory_free(self->rows);
    memset(self, 0, sizeof *self);
}

/* -- writing ----------------------------------------------------------------------------------------------------- */

/* Write `count` ids as numbers of `size` bytes, from element `at` on. */
BBPE_INLINE void put_ids(void *to, unsigned size, size_t at, const uint32_t *ids, size_t count) {
    if (size == 4) {
        if (count > 0) memcpy((uint32_t *)to + at, ids, count * sizeof *ids);
    } else if (size == 8) {
        for (size_t i = 0; i < count; i++) ((uint64_t *)to)[at + i] = ids[i];
    } else {
        for (size_t i = 0; i < count; i++) ((uint16_t *)to)[at + i] = (uint16_t)ids[i];
    }
}

BBPE_INLINE void fill_ids(void *to, unsigned size, size_t at, uint64_t id, size_t count) {
    for (size_t i = at; i < at + count; i++) {
        if (size == 4) ((uint32_t *)to)[i] = (uint32_t)id;
        else if (size == 8) ((uint64_t *)to)[i] = id;
        else ((uint16_t *)to)[i] = (uint16_t)id;
    }
}

/* The cells of row i that are not padding: the first one, and how many. */
BBPE_INLINE size_t cells_of(const bbpe_row_rules *rules, const bbpe_row *row, size_t i, size_t width, bool pads_left,
                            size_t *length) {
    *length = length_of(form_of(rules, row->is_pair), row);
    BBPE_ASSERT(*length <= width);
    return i * width + (pads_left ? width - *length : 0);
}

BBPE_INLINE void write_rows(const bbpe_rows *self, const bbpe_row_rules *rules, const uint32_t *ids, const bbpe_padded *to,
                            unsigned size) {
    for (size_t i = 0; i < self->count; i++) {
        const bbpe_row *row = self->rows + i;
        const bbpe_template *form = form_of(rules, row->is_pair);
        size_t length, at = cells_of(rules, row, i, to->width, to->pads_left, &length);
        const size_t begin = at, padding = to->width - length;
        for (size_t k = 0; k < form->count; k++) {
            const bbpe_template_item *item = form->items + k;
            const int which = item->kind == BBPE_TEMPLATE_SECOND;
            const bool is_text = item->kind != BBPE_TEMPLATE_ID;
            const size_t count = is_text ? row->counts[which] : 1;
            put_ids(to->ids, size, at, is_text ? ids + row->starts[which] : &item->id, count);
            at += count;
        }
        memset(to->mask + begin, 1, length);
        const size_t rest = to->pads_left ? i * to->width : at;
        fill_ids(to->ids, size, rest, to->pad_id, padding);
        memset(to->mask + rest, 0, padding);
    }
}

void bbpe_rows_write(const bbpe_rows *self, const bbpe_row_rules *rules, const uint32_t *ids, const bbpe_padded *to) {
    BBPE_ASSERT(to->width >= self->longest);
    if (to->id_size == 2) write_rows(self, rules, ids, to, 2);
    else if (to->id_size == 4) write_rows(self, rules, ids, to, 4);
    else write_rows(self, rules, ids, to, 8);
}

void bbpe_rows_describe(const bbpe_rows *self, const bbpe_row_rules *rules, const bbpe_row_details *to) {
    BBPE_ASSERT(to->width >= self->longest);
    for (size_t i = 0; i < self->count; i++) {
        const bbpe_row *row = self->rows + i;
        const bbpe_template *form = form_of(rules, row->is_pair);
        size_t length, at = cells_of(rules, row, i, to->width, to->pads_left, &length);
        memset(to->types + i * to->width, to->pad_type, to->width);
        memset(to->special + i * to->width, 1, to->width);
        for (size_t k = 0; k < form->count; k++) {
            const bbpe_template_item *item = form->items + k;
            const bool is_text = item->kind != BBPE_TEMPLATE_ID;
            const size_t count = is_text ? row->counts[item->kind == BBPE_TEMPLATE_SECOND] : 1;
            memset(to->types + at, item->type, count);
            if (is_text) memset(to->special + at, 0, count);
            at += count;
        }
        to->items[i] = (int64_t)row->item;
        to->counts[i] = (int64_t)length;
    }
}

void bbpe_rows_join(const bbpe_rows *self, const bbpe_row_rules *rules, const uint32_t *ids, uint32_t *to,
                    int64_t *offsets) {
    size_t at = 0;
    offsets[0] = 0;
    for (size_t i = 0; i < self->count; i++) {
        const bbpe_row *row = self->rows + i;
        const bbpe_template *form = form_of(rules, row->is_pair);
        for (size_t k = 0; k < form->count; k++) {
            const bbpe_template_item *item = form->items + k;
            const int which = item->kind == BBPE_TEMPLATE_SECOND;
            if (item->kind == BBPE_TEMPLATE_ID) to[at++] = item->id;
            else {
                put_ids(to, 4, at, ids + row->starts[which], row->counts[which]);
                at += row->counts[which];
            }
        }
        offsets[i + 1] = (int64_t)at;
    }
    BBPE_ASSERT(at == self->total);
}
