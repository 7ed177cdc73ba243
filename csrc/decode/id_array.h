/* Ids in an array of any integer type, read as uint32.
 *
 * The memory is the caller's, who may let another thread write to it meanwhile: so a block of ids is copied
 * out first and then checked and used as it was copied, and nothing reads the array twice and trusts it.
 * Elements may lie at any distance, in any direction and unaligned.  The byte order is the machine's. */
#ifndef BBPE_DECODE_ID_ARRAY_H
#define BBPE_DECODE_ID_ARRAY_H

#include "base/common.h"

/* Stands for a value that no id can have: a negative one, or one of 2^32 - 1 and more. */
#define BBPE_ID_NONE UINT32_MAX
/* Ids that are worth copying out at a time: 8 KiB, which stay in the L1 cache beside what they decode to. */
#define BBPE_ID_BLOCK 2048

typedef enum {
    BBPE_ID_U8,
    BBPE_ID_U16,
    BBPE_ID_U32,
    BBPE_ID_U64,
    BBPE_ID_I8,
    BBPE_ID_I16,
    BBPE_ID_I32,
    BBPE_ID_I64,
} bbpe_id_type;

typedef struct {
    const void *data;  /* the first element; borrowed */
    ptrdiff_t stride;  /* bytes from one element to the next */
    size_t count;
    bbpe_id_type type;
} bbpe_id_array;

/* Ids [start, start + count), which the array must have, into `out`. */
void bbpe_id_array_load(const bbpe_id_array *self, size_t start, size_t count, uint32_t *out);

#endif
