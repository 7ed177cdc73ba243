#include "memory/reusable_buffer.h"

#include "memory/memory.h"
#include "memory/pages.h"

#define LEAST_ROUNDED ((size_t)1 << 12)
#define MOST_ROUNDED ((size_t)1 << 32)

static size_t whole_pages(size_t size) {
    const size_t page = bbpe_pages_size();
    return (size + page - 1) / page * page;
}

/* Addresses that begin where a large page may. */
static bool open_pages(bbpe_reusable_buffer *self, size_t size) {
    void *pages = bbpe_pages_reserve(size, BBPE_PAGES_HUGE);
    if (pages == NULL) return false;
    *self = (bbpe_reusable_buffer){pages, size, 0, 0, true};
    return true;
}

static size_t less(size_t a, size_t b) {
    return a < b ? a : b;
}

bool bbpe_reusable_buffer_open(bbpe_reusable_buffer *self, size_t size) {
    if (size > SIZE_MAX / 2) return false;
    const size_t needed = size;
    size = whole_pages(size);
    if (self->start == NULL || size > self->size) {
        bbpe_reusable_buffer_close(self);
        /* addresses alone cost nothing, and the next text may be somewhat longer */
        size_t more = LEAST_ROUNDED;
        while (more < size && more < MOST_ROUNDED) more *= 2;
        if (!(more > size && open_pages(self, whole_pages(more))) && !open_pages(self, size))
            *self = (bbpe_reusable_buffer){bbpe_memory_new(size, 1), size, size, size, false};
    }
    if (self->start != NULL && bbpe_reusable_buffer_extend(self, less(needed, BBPE_REUSABLE_BUFFER_STEP))) return true;
    bbpe_reusable_buffer_close(self);
    return false;
}

bool bbpe_reusable_buffer_extend(bbpe_reusable_buffer *self, size_t bytes) {
    if (BBPE_LIKELY(bytes <= self->ready)) return true;
    if (bytes > self->size) return false;
    /* all of a step, where the system has so much */
    const size_t most = less(self->size, (bytes + BBPE_REUSABLE_BUFFER_STEP - 1) / BBPE_REUSABLE_BUFFER_STEP * BBPE_REUSABLE_BUFFER_STEP), least = whole_pages(bytes);
    uint8_t *const from = (uint8_t *)self->start + self->ready;
    size_t ready = most;
    if (!bbpe_pages_commit(from, ready - self->ready)) {
        ready = least;
        if (!bbpe_pages_commit(from, ready - self->ready)) return false;
    }
    bbpe_pages_expect(from, ready - self->ready);
    self->ready = ready;
    return true;
}

void bbpe_reusable_buffer_trim(bbpe_reusable_buffer *self, size_t size) {
    if (!self->is_pages) return;
    size = whole_pages(size);
    /* after what was used is what an earlier use kept, and a large page that the end of this one is in */
    const size_t end = less(size + BBPE_PAGES_HUGE > self->kept ? size + BBPE_PAGES_HUGE : self->kept, self->ready);
    if (size < end) bbpe_pages_empty((uint8_t *)self->start + size, end - size);
    self->kept = size;
    if (self->ready <= size + BBPE_REUSABLE_BUFFER_STEP) return;
    const size_t ready = size + BBPE_REUSABLE_BUFFER_STEP;
    bbpe_pages_decommit((uint8_t *)self->start + ready, self->ready - ready);
    self->ready = ready;
}

void bbpe_reusable_buffer_close(bbpe_reusable_buffer *self) {
    if (self->is_pages)
        bbpe_pages_free(self->start, self->size);
    else
        bbpe_memory_free(self->start);
    *self = (bbpe_reusable_buffer){NULL, 0, 0, 0, false};
}
