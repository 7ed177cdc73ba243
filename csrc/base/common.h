/* What every C file here agrees on: status codes, inlining, branch hints.
 *
 * Naming: bbpe_<file>_<verb>(self, ...).  A function that can fail returns a bbpe_status; one that
 * cannot returns its value.  Nothing here touches Python, and nothing is global and mutable. */
#ifndef BBPE_BASE_COMMON_H
#define BBPE_BASE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Words hold byte strings and sizes hold flags in their highest bits: caches, cut points, tables of merges and counts. */
_Static_assert(sizeof(size_t) == 8 && sizeof(void *) == 8, "this needs a machine of 64 bits");
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "this needs a little-endian machine"
#endif

typedef enum {
    BBPE_OK = 0,
    BBPE_NO_MEMORY = 1, /* an allocation failed; the object is as it was before the call */
    BBPE_TOO_LARGE = 2, /* a size does not fit the type that holds it */
    BBPE_CHANGED = 3,   /* another thread wrote to what the caller lent, so that it no longer fits together */
} bbpe_status;

/* Memory of which more is read than was written, where what comes of the rest is thrown away.  A checked build fills it, so
 * that a tool that follows values which were never set reports the others. */
#ifdef BBPE_CHECKED
#define BBPE_DEFINE(object) ((void)memset(&(object), 0, sizeof(object)))
#else
#define BBPE_DEFINE(object) ((void)0)
#endif

#if defined(__GNUC__) || defined(__clang__)
#define BBPE_INLINE static inline __attribute__((always_inline, unused))
#define BBPE_LIKELY(x) __builtin_expect(!!(x), 1)
#define BBPE_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define BBPE_PREFETCH(p) __builtin_prefetch(p)
#define BBPE_NOINLINE __attribute__((noinline))
/* of a table that other files read: its address is known without a load, which is 2 % of encoding English */
#define BBPE_HIDDEN __attribute__((visibility("hidden")))
#else
#define BBPE_INLINE static inline
#define BBPE_LIKELY(x) (x)
#define BBPE_UNLIKELY(x) (x)
#define BBPE_PREFETCH(p) ((void)(p))
#define BBPE_NOINLINE
#define BBPE_HIDDEN
#endif

#endif
