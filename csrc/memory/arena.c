#include "memory/arena.h"

#include "memory/memory.h"

enum { FIRST = 1 << 16, WORD = 16 };

void *bbpe_arena_take(bbpe_arena *self, size_t bytes) {
    if (bytes > SIZE_MAX / 4) return NULL;
    const size_t need = (bytes + WORD - 1) & ~(size_t)(WORD - 1);
    if (self->count == 0 || need > self->size - self->used) {
        size_t size = self->count == 0 ? FIRST : 2 * self->size;
        if (size < need) size = need;
        uint8_t *block = self->count < BBPE_ARENA_BLOCKS ? bbpe_memory_new(size, 1) : NULL;
        if (block == NULL) return NULL;
        self->blocks[self->count++] = block;
        self->size = size;
        self->used = 0;
    }
    void *taken = self->blocks[self->count - 1] + self->used;
    self->used += need;
    self->given += need;
    return taken;
}

void bbpe_arena_trim(bbpe_arena *self, void *taken, size_t used) {
    const size_t start = (size_t)((uint8_t *)taken - self->blocks[self->count - 1]);
    const size_t end = start + ((used + WORD - 1) & ~(size_t)(WORD - 1));
    BBPE_ASSERT(end <= self->used);
    self->given -= self->used - end;
    self->used = end;
}

void bbpe_arena_reset(bbpe_arena *self, size_t most) {
    if (self->count == 0) return;
    const bool stays = self->size <= most;
    for (size_t i = 0; i + stays < self->count; i++) bbpe_memory_free(self->blocks[i]);
    self->blocks[0] = self->blocks[self->count - 1];
    self->count = stays;
    self->used = self->given = 0;
}

void bbpe_arena_free(bbpe_arena *self) {
    bbpe_arena_reset(self, 0);
    memset(self, 0, sizeof *self);
}
