/* The columns of rows for training: ids of one width copied to another, constants, and counts from 0.
 *
 * Ids are never negative, so that only their widths matter: 1, 2, 4 or 8 bytes.  The loops have no branches, and the
 * compiler makes vectors of them. */
#ifndef BBPE_FILL_H
#define BBPE_FILL_H

#include "base/common.h"

/* Copy n ids of `from_size` bytes each to ids of `to_size` bytes. */
void bbpe_fill_ids(void *to, size_t to_size, const void *from, size_t from_size, size_t n);
/* Write one value n times. */
void bbpe_fill_value(void *to, size_t to_size, int64_t value, size_t n);
/* Replace the ids whose mask is 0 by a value. */
void bbpe_fill_unmasked(void *to, size_t to_size, const uint8_t *masks, int64_t value, size_t n);
/* Write 0 to n - 1. */
void bbpe_fill_count(int32_t *to, size_t n);

#endif
