/* The Arrow C data interface: structs of a public ABI, by which libraries hand each other columns in memory.
 *
 * https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html define what each field means.  A
 * struct with a `release` is owned by whoever holds it; calling it sets it to NULL, and a struct without one is empty. */
#ifndef BBPE_TEXT_ARROW_H
#define BBPE_TEXT_ARROW_H

#include "base/common.h"

enum { BBPE_ARROW_NULLABLE = 2 }; /* of the flags of a schema */

typedef struct bbpe_arrow_schema bbpe_arrow_schema;
typedef struct bbpe_arrow_array bbpe_arrow_array;
typedef struct bbpe_arrow_stream bbpe_arrow_stream;

struct bbpe_arrow_schema {
    const char *format, *name, *metadata;
    int64_t flags, child_count;
    bbpe_arrow_schema **children, *dictionary;
    void (*release)(bbpe_arrow_schema *self);
    void *owner;
};

struct bbpe_arrow_array {
    int64_t length, null_count, offset, buffer_count, child_count;
    const void **buffers;
    bbpe_arrow_array **children, *dictionary;
    void (*release)(bbpe_arrow_array *self);
    void *owner;
};

struct bbpe_arrow_stream {
    int (*get_schema)(bbpe_arrow_stream *self, bbpe_arrow_schema *out);
    int (*get_next)(bbpe_arrow_stream *self, bbpe_arrow_array *out);
    const char *(*get_last_error)(bbpe_arrow_stream *self);
    void (*release)(bbpe_arrow_stream *self);
    void *owner;
};

#endif
