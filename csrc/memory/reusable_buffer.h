/* Memory that is filled from its beginning by what does not know how far: it takes pages only where it is touched, gives
 * back what is not used, and may be filled again.
 *
 * Pages of one text that serve the next are not cleared anew, which for the ids of 8 MB of English takes 1.2 ms of 14 on
 * a quiet machine, and 5 where the host has to find them first.  So that they do, whatever else is mapped meanwhile, a
 * buffer keeps all of its addresses: to give them back and to ask for them again would take 50 us besides.
 *
 * A buffer is as large as what it may have to hold at most, four times that of a text and more.  A system that commits
 * itself to all memory that may be written to refuses so much, so a step after the other is asked for.  Without pages it
 * is the allocator's memory.  The struct is zeroed before use. */
#ifndef BBPE_MEMORY_REUSABLE_BUFFER_H
#define BBPE_MEMORY_REUSABLE_BUFFER_H

#include "base/common.h"

#define BBPE_REUSABLE_BUFFER_STEP ((size_t)256 << 20)

typedef struct {
    void *start;
    size_t size;  /* bytes */
    size_t ready; /* of these the first ones, which may be written to */
    size_t kept;  /* bytes that take memory between two uses */
    bool is_pages;
} bbpe_reusable_buffer;

/* Have room for so many bytes, whose content is undefined; without memory false, and the buffer is closed.  Of them
 * BBPE_REUSABLE_BUFFER_STEP, or all, may be written to. */
bool bbpe_reusable_buffer_open(bbpe_reusable_buffer *self, size_t size);
/* Have so many bytes of the buffer that may be written to; false without memory. */
bool bbpe_reusable_buffer_extend(bbpe_reusable_buffer *self, size_t bytes);
/* Have memory for the first bytes alone, the only ones that were used. */
void bbpe_reusable_buffer_trim(bbpe_reusable_buffer *self, size_t size);
void bbpe_reusable_buffer_close(bbpe_reusable_buffer *self);

#endif
