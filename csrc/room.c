#include "room.h"

#include "memory.h"
#include "pages.h"

enum { PAGE = 4096 };

#define MOST_ROUNDED ((size_t)1 << 32)

static size_t whole_pages(size_t size) {
    return (size + PAGE - 1) / PAGE * PAGE;
}

/* New pages that begin where a large one may. */
static bool open_pages(bbpe_room *self, size_t size) {
    uint8_t *pages = bbpe_pages_new(size + BBPE_PAGES_HUGE);
    if (pages == NULL) return false;
    const size_t before = (BBPE_PAGES_HUGE - (uintptr_t)pages % BBPE_PAGES_HUGE) % BBPE_PAGES_HUGE;
    const size_t after = BBPE_PAGES_HUGE - before;
    if (before > 0) bbpe_pages_free(pages, before);
    if (after > 0) bbpe_pages_free(pages + before + size, after);
    *self = (bbpe_room){pages + before, size, 0, true};
    bbpe_pages_expect(self->start, size);
    return true;
}

bool bbpe_room_open(bbpe_room *self, size_t size) {
    if (size > SIZE_MAX - BBPE_PAGES_HUGE - PAGE) return false;
    size = whole_pages(size);
    if (self->start != NULL && size <= self->size) return true;
    bbpe_room_close(self);
    /* addresses alone cost nothing, and the next text may be somewhat longer */
    size_t more = PAGE;
    while (more < size && more < MOST_ROUNDED) more *= 2;
    if ((more > size && open_pages(self, more)) || open_pages(self, size)) return true;
    *self = (bbpe_room){bbpe_memory_new(size, 1), size, size, false};
    if (self->start == NULL) self->size = self->kept = 0;
    return self->start != NULL;
}

void bbpe_room_trim(bbpe_room *self, size_t size) {
    if (!self->is_pages) return;
    size = whole_pages(size);
    /* behind what was used lies what an earlier use kept, and a large page that the end of this one stands in */
    size_t end = size + BBPE_PAGES_HUGE > self->kept ? size + BBPE_PAGES_HUGE : self->kept;
    if (end > self->size) end = self->size;
    if (size < end) bbpe_pages_empty((uint8_t *)self->start + size, end - size);
    self->kept = size;
}

void bbpe_room_close(bbpe_room *self) {
    if (self->is_pages)
        bbpe_pages_free(self->start, self->size);
    else
        bbpe_memory_free(self->start);
    *self = (bbpe_room){NULL, 0, 0, false};
}
