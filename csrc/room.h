/* Memory that is filled from its beginning by what does not know how far: it takes pages only where it is touched, gives
 * back what is not used, and may be filled again.
 *
 * Pages of one text that serve the next are not cleared anew, which for the ids of 8 MB of English takes 1.2 ms of 14 on
 * a quiet machine, and 5 where the host has to find them first.  So that they do, whatever else is mapped meanwhile, a
 * room keeps all of its addresses: to give them back and to ask for them again would take 50 us besides.  Without such
 * pages it is the allocator's memory.  The struct is zeroed before use. */
#ifndef BBPE_ROOM_H
#define BBPE_ROOM_H

#include "common.h"

typedef struct {
    void *start;
    size_t size; /* bytes */
    size_t kept; /* bytes that take memory between two uses */
    bool is_pages;
} bbpe_room;

/* Have room for so many bytes, whose content is undefined; without memory false, and the room is closed. */
bool bbpe_room_open(bbpe_room *self, size_t size);
/* Have memory for the first bytes alone, the only ones that were used. */
void bbpe_room_trim(bbpe_room *self, size_t size);
void bbpe_room_close(bbpe_room *self);

#endif
