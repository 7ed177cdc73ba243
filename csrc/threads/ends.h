/* Ends of parts of a text that a caller lends as int64, where another thread may write to them meanwhile.
 *
 * So each is read once, checked as it was read, and used as it was checked. */
#ifndef BBPE_THREADS_ENDS_H
#define BBPE_THREADS_ENDS_H

#include "base/atomic.h"

/* Read the next of some ends, none of which is before the last one or after n; false if this one is. */
BBPE_INLINE bool bbpe_ends_next(const int64_t *given, size_t n, size_t *end) {
    const size_t read = (size_t)BBPE_ATOMIC_LOAD(given);
    if (BBPE_UNLIKELY(read < *end || read > n)) return false;
    *end = read;
    return true;
}

/* Read where a part of a text begins and ends; false if that is not within its n bytes. */
BBPE_INLINE bool bbpe_ends_part(const int64_t *first, const int64_t *last, size_t n, size_t *start, size_t *end) {
    *start = 0;
    if (!bbpe_ends_next(first, n, start)) return false;
    *end = *start;
    return bbpe_ends_next(last, n, end);
}

#endif
