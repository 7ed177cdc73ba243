/* Texts in an Arrow array: strings or bytes by offsets of 32 or 64 bits or by views, and dictionaries of these.
 *
 * Nothing is copied or owned: a column borrows from its array, and a text from the column.  Another thread may write to the
 * buffers, so what leads to a text is checked whenever it is read.  The interface does not give the size of a buffer: the
 * last offset is the end of the data, and only the data of views has a size that can be checked. */
#ifndef BBPE_TEXT_TEXT_COLUMN_H
#define BBPE_TEXT_TEXT_COLUMN_H

#include "text/arrow.h"

typedef enum {
    BBPE_COLUMN_NULLS,  /* nothing but nulls */
    BBPE_COLUMN_ENDS32, /* offsets of 32 bits into one buffer */
    BBPE_COLUMN_ENDS64,
    BBPE_COLUMN_VIEWS /* lengths and what is within 16 bytes, or leads to one of several buffers */
} bbpe_text_column_kind;

typedef enum {
    BBPE_COLUMN_FINE,
    BBPE_COLUMN_OTHER, /* not a column of texts */
    BBPE_COLUMN_BROKEN /* its array does not have the buffers that its schema asks for */
} bbpe_column_state;
typedef enum { BBPE_ROW_FINE, BBPE_ROW_NULL, BBPE_ROW_BROKEN } bbpe_row_state;

typedef struct {
    bbpe_text_column_kind kind;
    const bbpe_arrow_array *texts;   /* the array, or its dictionary */
    const bbpe_arrow_array *indices; /* into the dictionary, or NULL */
    unsigned index_size;             /* the bytes of an index */
    bool signed_indices;
    size_t rows, end; /* the end of the data of offsets */
} bbpe_text_column;

/* Make a column of an array of this schema. */
bbpe_column_state bbpe_text_column_init(bbpe_text_column *self, const bbpe_arrow_schema *schema,
                                        const bbpe_arrow_array *array);
/* Find a text of `length` bytes; the row is less than `rows`. */
bbpe_row_state bbpe_text_column_row(const bbpe_text_column *self, size_t row, const uint8_t **text, size_t *length);
/* Add the lengths of all texts to `*total`, which after each of them goes to `ends`; the row of a problem, or `rows`. */
size_t bbpe_text_column_ends(const bbpe_text_column *self, int64_t *ends, int64_t *total, bbpe_row_state *problem);

#endif
