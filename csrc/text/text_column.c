#include "text/text_column.h"

enum { VIEW = 16, INLINE = 12 };

static bool find_kind(const char *format, bbpe_text_column_kind *kind) {
    const bool is_view = format[0] == 'v';
    format += is_view;
    if (format[0] == 0 || format[1] != 0) return false;
    *kind = is_view             ? BBPE_COLUMN_VIEWS
            : format[0] == 'n'  ? BBPE_COLUMN_NULLS
            : format[0] >= 'a'  ? BBPE_COLUMN_ENDS32
                                : BBPE_COLUMN_ENDS64;
    return strchr(is_view ? "uz" : "uzUZn", format[0]) != NULL;
}

/* The bytes of an index of this format, or 0 if it is none. */
static unsigned index_size(const char *format) {
    static const char formats[] = "cCsSiIlL";
    const char *found = format[0] != 0 && format[1] == 0 ? strchr(formats, format[0]) : NULL;
    return found == NULL ? 0 : 1u << ((found - formats) / 2);
}

static bool has_buffers(const bbpe_arrow_array *array, int64_t least) {
    return array->length >= 0 && array->offset >= 0 && array->length <= INT64_MAX / VIEW - array->offset &&
           array->buffer_count >= least && (least == 0 || array->buffers != NULL) &&
           (array->length == 0 || least < 2 || array->buffers[1] != NULL);
}

static int64_t offset_at(const bbpe_text_column *self, size_t at) {
    const unsigned char *offsets = self->texts->buffers[1];
    int32_t narrow;
    int64_t wide;
    if (self->kind == BBPE_COLUMN_ENDS64) {
        memcpy(&wide, offsets + at * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, offsets + at * sizeof narrow, sizeof narrow);
    return narrow;
}

bbpe_column_state bbpe_text_column_init(bbpe_text_column *self, const bbpe_arrow_schema *schema,
                                        const bbpe_arrow_array *array) {
    const bbpe_arrow_schema *texts = schema->dictionary == NULL ? schema : schema->dictionary;
    memset(self, 0, sizeof *self);
    self->index_size = index_size(schema->format);
    self->signed_indices = schema->format[0] >= 'a';
    if (!find_kind(texts->format, &self->kind) || texts->dictionary != NULL || (texts != schema && self->index_size == 0))
        return BBPE_COLUMN_OTHER;
    self->texts = array;
    if (texts != schema) {
        self->indices = array;
        self->texts = array->dictionary;
        if (self->texts == NULL || !has_buffers(array, 2)) return BBPE_COLUMN_BROKEN;
    }
    if (!has_buffers(self->texts, self->kind == BBPE_COLUMN_NULLS ? 0 : 3)) return BBPE_COLUMN_BROKEN;
    self->rows = (size_t)array->length;
    if (self->kind == BBPE_COLUMN_ENDS32 || self->kind == BBPE_COLUMN_ENDS64) {
        const size_t last = (size_t)(self->texts->offset + self->texts->length);
        const int64_t end = self->texts->length == 0 ? 0 : offset_at(self, last);
        if (end < 0 || (end > 0 && self->texts->buffers[2] == NULL)) return BBPE_COLUMN_BROKEN;
        self->end = (size_t)end;
    }
    return BBPE_COLUMN_FINE;
}

static bool is_null(const bbpe_arrow_array *array, size_t at) {
    const unsigned char *valid = array->null_count == 0 ? NULL : array->buffers[0];
    return valid != NULL && (valid[at / 8] >> at % 8 & 1) == 0;
}

/* The row of the dictionary that an index leads to. */
static bool find_entry(const bbpe_text_column *self, size_t at, size_t *row) {
    uint64_t index = 0;
    memcpy(&index, (const unsigned char *)self->indices->buffers[1] + at * self->index_size, self->index_size);
    *row = (size_t)index; /* a negative index is too large, or not one for the length of any array */
    return index < (uint64_t)self->texts->length &&
           !(self->signed_indices && index >> (8 * self->index_size - 1));
}

static bbpe_row_state find_view(const bbpe_arrow_array *array, size_t at, const uint8_t **text, size_t *length) {
    const uint8_t *view = (const uint8_t *)array->buffers[1] + at * VIEW;
    const int64_t buffers = array->buffer_count - 3;
    int32_t size, number, start;
    int64_t limit;
    memcpy(&size, view, sizeof size);
    if (size < 0) return BBPE_ROW_BROKEN;
    *length = (size_t)size;
    *text = view + sizeof size;
    if (size <= INLINE) return BBPE_ROW_FINE;
    memcpy(&number, view + 8, sizeof number);
    memcpy(&start, view + 12, sizeof start);
    if (number < 0 || number >= buffers || start < 0) return BBPE_ROW_BROKEN;
    const uint8_t *data = array->buffers[2 + number], *limits = array->buffers[2 + buffers];
    if (data == NULL || limits == NULL) return BBPE_ROW_BROKEN;
    memcpy(&limit, limits + (size_t)number * sizeof limit, sizeof limit);
    *text = data + start;
    return (int64_t)start + size <= limit ? BBPE_ROW_FINE : BBPE_ROW_BROKEN;
}

bbpe_row_state bbpe_text_column_row(const bbpe_text_column *self, size_t row, const uint8_t **text, size_t *length) {
    const bbpe_arrow_array *texts = self->texts;
    BBPE_ASSERT(row < self->rows);
    if (self->indices != NULL) {
        const size_t at = row + (size_t)self->indices->offset;
        if (is_null(self->indices, at)) return BBPE_ROW_NULL;
        if (!find_entry(self, at, &row)) return BBPE_ROW_BROKEN;
    }
    if (self->kind == BBPE_COLUMN_NULLS) return BBPE_ROW_NULL;
    row += (size_t)texts->offset;
    if (is_null(texts, row)) return BBPE_ROW_NULL;
    if (self->kind == BBPE_COLUMN_VIEWS) return find_view(texts, row, text, length);
    const int64_t start = offset_at(self, row), end = offset_at(self, row + 1);
    if (start < 0 || start > end || (size_t)end > self->end) return BBPE_ROW_BROKEN;
    *text = end == 0 ? (const uint8_t *)"" : (const uint8_t *)texts->buffers[2] + start;
    *length = (size_t)(end - start);
    return BBPE_ROW_FINE;
}

size_t bbpe_text_column_ends(const bbpe_text_column *self, int64_t *ends, int64_t *total, bbpe_row_state *problem) {
    const uint8_t *text;
    size_t length;
    for (size_t row = 0; row < self->rows; row++) {
        *problem = bbpe_text_column_row(self, row, &text, &length);
        if (*problem != BBPE_ROW_FINE || (int64_t)length > INT64_MAX - *total) return row;
        ends[row] = *total += (int64_t)length;
    }
    return self->rows;
}
