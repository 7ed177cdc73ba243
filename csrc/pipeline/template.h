/* Rows of ids: a template around the ids of one text or of a pair, truncated and padded as HF's `tokenizers` does.
 *
 * The ids of all texts are in one array.  A batch is planned first: the texts of each row, which part of them, and how long
 * the longest row is.  Then the rows are written, each in one pass, to arrays of the caller's. */
#ifndef BBPE_TEMPLATE_H
#define BBPE_TEMPLATE_H

#include "base/common.h"

/* An item of a template: an id of its own, or the ids of the first or second text. */
typedef enum { BBPE_TEMPLATE_ID, BBPE_TEMPLATE_FIRST, BBPE_TEMPLATE_SECOND } bbpe_template_kind;
typedef struct {
    bbpe_template_kind kind;
    uint32_t id;
    uint8_t type;
} bbpe_template_item;
/* The items of rows of one text, or of rows of pairs. */
typedef struct {
    const bbpe_template_item *items;
    size_t count;
    size_t added;           /* ids of its own */
    size_t uses[2];         /* how many times it has the ids of the first and of the second text */
    bool has_second_before; /* the second text precedes the first one */
} bbpe_template;

typedef enum { BBPE_LONGEST_FIRST, BBPE_ONLY_FIRST, BBPE_ONLY_SECOND } bbpe_truncation_strategy;
typedef struct {
    const bbpe_template *single, *pair; /* `pair` may be NULL if there are no pairs */
    size_t limit;                       /* of ids in a row, at least as many as the templates add */
    bbpe_truncation_strategy strategy;  /* the text of a pair that is truncated */
    bool from_left;                     /* texts lose ids at their beginning */
    bool continues;                     /* a truncated text continues in further rows, */
    size_t stride;                      /* which repeat so many ids */
} bbpe_row_rules;

/* The items of a batch: text i has the ids from offsets[i] to offsets[i + 1]. */
typedef struct {
    const int64_t *offsets; /* text_count + 1 */
    size_t text_count;
    const uint8_t *sizes; /* the number of texts of each item, 1 or 2; or NULL: one text each */
    size_t item_count;
} bbpe_row_texts;

typedef struct {
    size_t item;
    bool is_pair;
    size_t starts[2], counts[2]; /* which ids, of the first and of the second text */
} bbpe_row;

/* Why an item cannot be truncated. */
typedef enum {
    BBPE_ROWS_FINE,
    BBPE_ROWS_TOO_SHORT, /* the only text that may lose ids has no more than must go */
    BBPE_ROWS_NO_SECOND, /* only the second text of a pair may lose ids, and there is one text */
    BBPE_ROWS_STRIDE,    /* rows have room for no more ids of a text than they repeat */
} bbpe_rows_problem;

typedef struct {
    bbpe_row *rows;
    size_t count, capacity;
    size_t longest; /* row */
    size_t total;   /* ids of all rows */
    bbpe_rows_problem problem;
    size_t problem_item, problem_room; /* ids of the text that a row has room for */
} bbpe_rows;

/* Plan the rows of a batch; `self` is zeroed before.  BBPE_CHANGED if the offsets do not ascend to `id_count` at most or the
 * sizes are not those of as many texts.  With a problem there are no rows to write. */
bbpe_status bbpe_rows_plan(bbpe_rows *self, const bbpe_row_rules *rules, const bbpe_row_texts *texts, size_t id_count);
void bbpe_rows_free(bbpe_rows *self);

/* Arrays of self->count rows and `width` columns, at least `longest`. */
typedef struct {
    size_t width;
    bool pads_left;
    uint64_t pad_id;
    void *ids;
    unsigned id_size; /* bytes of an id: 2, 4 or 8 */
    uint8_t *mask;    /* 0 at padding, else 1 */
} bbpe_padded;
void bbpe_rows_write(const bbpe_rows *self, const bbpe_row_rules *rules, const uint32_t *ids, const bbpe_padded *to);

/* Arrays that callers seldom ask for: two of the same shape, and two of one element for each row. */
typedef struct {
    size_t width;
    bool pads_left;
    uint8_t pad_type;
    uint8_t *types;          /* the type ids */
    uint8_t *special;        /* 1 at padding and at ids of the template, else 0 */
    int64_t *items, *counts; /* of each row: the item, and how many ids are not padding */
} bbpe_row_details;
void bbpe_rows_describe(const bbpe_rows *self, const bbpe_row_rules *rules, const bbpe_row_details *to);
/* Write the rows one after another, self->total ids, and where each begins and the last one ends. */
void bbpe_rows_join(const bbpe_rows *self, const bbpe_row_rules *rules, const uint32_t *ids, uint32_t *to, int64_t *offsets);

#endif
