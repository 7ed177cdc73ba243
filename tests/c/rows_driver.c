/* Rows of ids against their definition: exits with 1 when they differ.
 *
 *     rows_driver ROUNDS     random batches, templates, truncation and padding: all ids of all texts are in the rows, at most
 *                            `limit` in each, the cells are those of the template, and nothing beside the arrays is written */
#include <stdio.h>
#include <stdlib.h>

#include "memory/memory.h"
#include "pipeline/template.h"
#include "random_below.h"

enum { MOST_ITEMS = 6, MOST_IDS = 12 };

static uint64_t rows_seen, failed;

static void expect(bool holds, const char *what) {
    if (!holds && failed++ < 5) fprintf(stderr, "%s\n", what);
}

static bbpe_template_item single_items[] = {{BBPE_TEMPLATE_ID, 900, 3}, {BBPE_TEMPLATE_FIRST, 0, 4}, {BBPE_TEMPLATE_ID, 901, 5}};
static bbpe_template_item pair_items[2][3] = {
    {{BBPE_TEMPLATE_FIRST, 0, 0}, {BBPE_TEMPLATE_ID, 902, 1}, {BBPE_TEMPLATE_SECOND, 0, 1}},
    {{BBPE_TEMPLATE_SECOND, 0, 1}, {BBPE_TEMPLATE_FIRST, 0, 0}, {BBPE_TEMPLATE_ID, 902, 1}},
};

/* A batch, whose ids are their own places. */
typedef struct {
    uint32_t ids[2 * MOST_ITEMS * MOST_IDS];
    int64_t offsets[2 * MOST_ITEMS + 1];
    uint8_t sizes[MOST_ITEMS];
    bool seen[2 * MOST_ITEMS * MOST_IDS];
    bbpe_row_texts texts;
    size_t total;
} batch;

static void make_batch(batch *self) {
    memset(self, 0, sizeof *self);
    self->texts = (bbpe_row_texts){self->offsets, 0, self->sizes, next(MOST_ITEMS + 1)};
    for (size_t i = 0; i < self->texts.item_count; i++) {
        self->sizes[i] = (uint8_t)(1 + next(2));
        for (size_t k = 0; k < self->sizes[i]; k++) {
            const size_t n = next(MOST_IDS);
            for (size_t j = 0; j < n; j++, self->total++) self->ids[self->total] = (uint32_t)self->total;
            self->offsets[++self->texts.text_count] = (int64_t)self->total;
        }
    }
}

static uint64_t read_id(const bbpe_padded *to, size_t at) {
    return to->id_size == 2 ? ((uint16_t *)to->ids)[at] : to->id_size == 4 ? ((uint32_t *)to->ids)[at] : ((uint64_t *)to->ids)[at];
}

static void check_row(batch *self, const bbpe_rows *rows, const bbpe_row_rules *rules, const bbpe_padded *to,
                      const bbpe_row_details *details, size_t i) {
    const bbpe_row *row = rows->rows + i;
    const bbpe_template *form = row->is_pair ? rules->pair : rules->single;
    const size_t length = (size_t)details->counts[i];
    size_t at = i * to->width + (to->pads_left ? to->width - length : 0);
    expect(length <= rules->limit && length <= to->width, "a row is too long");
    expect(details->items[i] == (int64_t)row->item, "the item of a row");
    for (size_t k = 0; k < form->count; k++) {
        const bbpe_template_item *item = form->items + k;
        const int which = item->kind == BBPE_TEMPLATE_SECOND;
        const size_t count = item->kind == BBPE_TEMPLATE_ID ? 1 : row->counts[which];
        for (size_t j = 0; j < count; j++, at++) {
            const uint64_t id = item->kind == BBPE_TEMPLATE_ID ? item->id : self->ids[row->starts[which] + j];
            expect(read_id(to, at) == id && to->mask[at] == 1 && details->types[at] == item->type, "a cell");
            expect(details->special[at] == (item->kind == BBPE_TEMPLATE_ID), "the mark of a cell");
            if (item->kind != BBPE_TEMPLATE_ID) self->seen[id] = true;
        }
    }
    for (size_t k = length; k < to->width; k++) {
        const size_t cell = i * to->width + (to->pads_left ? k - length : k);
        expect(read_id(to, cell) == to->pad_id && to->mask[cell] == 0 && details->types[cell] == details->pad_type &&
                   details->special[cell] == 1, "padding");
    }
}

static void check_batch(batch *self, const bbpe_rows *rows, const bbpe_row_rules *rules) {
    static const unsigned SIZES[] = {2, 4, 8};
    bbpe_padded to = {.width = rows->longest + next(4), .pads_left = next(2), .pad_id = 7, .id_size = SIZES[next(3)]};
    bbpe_row_details details = {.width = to.width, .pads_left = to.pads_left, .pad_type = 9};
    const size_t cells = rows->count * to.width;
    to.ids = bbpe_memory_new(cells, to.id_size);
    to.mask = bbpe_memory_new(cells, 1);
    details.types = bbpe_memory_new(cells, 1);
    details.special = bbpe_memory_new(cells, 1);
    details.items = bbpe_memory_new(rows->count, sizeof *details.items);
    details.counts = bbpe_memory_new(rows->count, sizeof *details.counts);
    uint32_t *joined = bbpe_memory_new(rows->total, sizeof *joined);
    int64_t *offsets = bbpe_memory_new(rows->count + 1, sizeof *offsets);
    bbpe_rows_write(rows, rules, self->ids, &to);
    bbpe_rows_describe(rows, rules, &details);
    bbpe_rows_join(rows, rules, self->ids, joined, offsets);
    for (size_t i = 0; i < rows->count; i++, rows_seen++) {
        check_row(self, rows, rules, &to, &details, i);
        const size_t begin = i * to.width + (to.pads_left ? to.width - (size_t)details.counts[i] : 0);
        expect(offsets[i + 1] - offsets[i] == details.counts[i], "the length of a joined row");
        for (size_t k = 0; k < (size_t)details.counts[i]; k++)
            expect(joined[(size_t)offsets[i] + k] == read_id(&to, begin + k), "an id of a joined row");
    }
    for (size_t i = 0; i < self->total; i++) expect(self->seen[i] || !rules->continues, "an id is in no row");
    void *const all[] = {to.ids, to.mask, details.types, details.special, details.items, details.counts, joined,
                         offsets};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) bbpe_memory_free(all[i]);
}

int main(int count, char **options) {
    const size_t rounds = count > 1 ? (size_t)atol(options[1]) : 1000;
    for (size_t i = 0; i < rounds; i++) {
        const bool is_swapped = next(2);
        const bbpe_template single = {single_items, 3, 2, {1, 0}, false};
        const bbpe_template pair = {pair_items[is_swapped], 3, 1, {1, 1}, is_swapped};
        const bbpe_row_rules rules = {&single, &pair, next(4) ? 2 + next(2 * MOST_IDS) : SIZE_MAX,
                                      (bbpe_truncation_strategy)next(3), next(2), next(2), next(4)};
        bbpe_rows rows = {0};
        batch given;
        make_batch(&given);
        expect(bbpe_rows_plan(&rows, &rules, &given.texts, given.total) == BBPE_OK, "a plan failed");
        if (rows.problem == BBPE_ROWS_FINE) check_batch(&given, &rows, &rules);
        bbpe_rows_free(&rows);
        if (given.total > 0) { /* what another thread has written */
            expect(bbpe_rows_plan(&rows, &rules, &given.texts, given.total - 1) == BBPE_CHANGED || rows.problem, "too few ids");
            bbpe_rows_free(&rows);
        }
    }
    printf("%llu rows\n", (unsigned long long)rows_seen);
    return failed > 0;
}
