/* Memory that is handed out piece by piece, stays where it is, and is taken back all at once.
 *
 * The struct is zeroed before use, and for one thread at a time. */
#ifndef BBPE_MEMORY_ARENA_H
#define BBPE_MEMORY_ARENA_H

#include "base/common.h"

enum { BBPE_ARENA_BLOCKS = 48 }; /* each is twice as large as the one before */

typedef struct {
    uint8_t *blocks[BBPE_ARENA_BLOCKS];
    size_t count, used, size; /* blocks, and bytes of the last one */
    size_t given;             /* bytes since the last reset */
} bbpe_arena;

/* So many bytes, aligned for words, with undefined content; NULL without memory. */
void *bbpe_arena_take(bbpe_arena *self, size_t bytes);
/* Give back the end of what was taken last, of which `used` bytes stay. */
void bbpe_arena_trim(bbpe_arena *self, void *taken, size_t used);
/* Take everything back; the largest block stays for the next use, unless it is larger than `most`. */
void bbpe_arena_reset(bbpe_arena *self, size_t most);
void bbpe_arena_free(bbpe_arena *self);

#endif
