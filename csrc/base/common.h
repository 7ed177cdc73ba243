/* The conventions of every C file here: status codes, contracts, the machines that this is for.
 *
 * Naming: bbpe_<concept>_<verb>(self, ...).  A function that can fail returns a bbpe_status; one that
 * cannot returns its value.  Nothing here touches Python, and nothing is global and mutable. */
#ifndef BBPE_BASE_COMMON_H
#define BBPE_BASE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"

/* Words hold byte strings, and sizes hold flags in their highest bits: caches, cut points, tables of merges and counts. */
_Static_assert(sizeof(size_t) == 8 && sizeof(void *) == 8, "this needs a machine of 64 bits");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "this needs a little-endian machine");

typedef enum {
    BBPE_OK = 0,
    BBPE_NO_MEMORY = 1, /* an allocation failed; the object is as it was before the call */
    BBPE_TOO_LARGE = 2, /* a size does not fit the type that holds it */
    BBPE_CHANGED = 3,   /* another thread wrote to what the caller lent, so that it no longer fits together */
    BBPE_INTERRUPTED = 4, /* the caller was asked whether to go on, and said no */
} bbpe_status;

/* A checked build, as those for sanitizers are, ends where a contract is broken: BBPE_ASSERT.  It also fills memory of which
 * more is read than was written, where the rest does not matter, so that a tool which follows values that were never
 * set reports the others: BBPE_DEFINE. */
#ifdef BBPE_CHECKED
#undef NDEBUG
#include <assert.h>
#define BBPE_ASSERT(condition) assert(condition)
#define BBPE_DEFINE(object) ((void)memset(&(object), 0, sizeof(object)))
#else
#define BBPE_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#define BBPE_DEFINE(object) ((void)0)
#endif

#endif
