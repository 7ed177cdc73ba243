#include "train/position_arena.h"

#include "memory/memory.h"

enum {
    LARGE = 1 << 14, /* lists of so many positions become size for any others */
    CHUNK_LEAST = 1 << 14,
    CHUNK_MOST = 1 << 22,
};

/* The link in a list that was given back, and how many positions a large one has size for. */
typedef struct {
    uint32_t *next;
    size_t size;
} block;

static block read_block(const uint32_t *list) {
    block read = {NULL, 0};
    memcpy(&read, list, sizeof read);
    return read;
}

/* Two sizes for the smallest, then four from one power of two to the next. */
static size_t class_of(size_t n, size_t *size) {
    if (n <= 4) {
        *size = n <= 2 ? 2 : 4;
        return n > 2;
    }
    unsigned bits = 2;
    while ((n - 1) >> (bits + 1)) bits++;
    const size_t quarter = (n - 1) >> (bits - 2);
    *size = (quarter + 1) << (bits - 2);
    return 2 + (bits - 2) * 4 + quarter - 4;
}

void bbpe_position_arena_free(bbpe_position_arena *self) {
    for (size_t i = 0; i < self->chunk_count; i++) bbpe_memory_table_free(self->chunks[i]);
    bbpe_memory_free(self->chunks);
    memset(self, 0, sizeof *self);
}

static uint32_t *new_chunk(bbpe_position_arena *self, size_t n) {
    if (!bbpe_memory_grow(&self->chunks, &self->chunk_capacity, self->chunk_count + 1, sizeof *self->chunks))
        return NULL;
    uint32_t *chunk = bbpe_memory_table(n, sizeof *chunk);
    if (chunk == NULL) return NULL;
    self->chunks[self->chunk_count++] = chunk;
    self->total += n;
    return chunk;
}

static void keep_spare(bbpe_position_arena *self, uint32_t *list, size_t size) {
    const block kept = {self->spare, size};
    memcpy(list, &kept, sizeof kept);
    self->spare = list;
}

/* Go on in `size` positions; what is left of the old place is kept if it is large. */
static void go_on_in(bbpe_position_arena *self, uint32_t *start, size_t size) {
    uint32_t *left = self->next;
    const size_t left_size = (size_t)(self->end - self->next);
    self->next = start;
    self->end = start + size;
    if (left_size >= LARGE) keep_spare(self, left, left_size);
}

bbpe_status bbpe_position_arena_reserve(bbpe_position_arena *self, size_t n) {
    uint32_t *chunk = new_chunk(self, n);
    if (chunk == NULL) return BBPE_NO_MEMORY;
    go_on_in(self, chunk, n);
    return BBPE_OK;
}

/* The first spare place with enough size, taken out of the list of them. */
static uint32_t *take_spare(bbpe_position_arena *self, size_t n, size_t *size) {
    uint32_t *before = NULL;
    for (uint32_t *list = self->spare; list != NULL;) {
        const block found = read_block(list);
        if (found.size >= n) {
            if (before == NULL)
                self->spare = found.next;
            else
                memcpy(before, &found.next, sizeof found.next);
            *size = found.size;
            return list;
        }
        before = list;
        list = found.next;
    }
    return NULL;
}

static bbpe_status find_space(bbpe_position_arena *self, size_t n) {
    size_t size = 0;
    uint32_t *spare = take_spare(self, n, &size);
    if (spare != NULL) {
        go_on_in(self, spare, size);
        return BBPE_OK;
    }
    size_t chunk = self->total / 4;
    if (chunk > CHUNK_MOST) chunk = CHUNK_MOST;
    if (chunk < CHUNK_LEAST) chunk = CHUNK_LEAST;
    return bbpe_position_arena_reserve(self, chunk < n ? n : chunk);
}

uint32_t *bbpe_position_arena_new(bbpe_position_arena *self, size_t n) {
    BBPE_ASSERT(n > 0);
    size_t size;
    const size_t class = class_of(n, &size);
    if (size < LARGE && self->returned[class] != NULL) {
        uint32_t *list = self->returned[class];
        memcpy(&self->returned[class], list, sizeof self->returned[class]);
        return list;
    }
    if ((size_t)(self->end - self->next) < size && find_space(self, size) != BBPE_OK) return NULL;
    uint32_t *list = self->next;
    self->next += size;
    return list;
}

void bbpe_position_arena_return(bbpe_position_arena *self, uint32_t *list, size_t n) {
    size_t size;
    const size_t class = class_of(n, &size);
    if (size >= LARGE) {
        keep_spare(self, list, size);
        return;
    }
    memcpy(list, &self->returned[class], sizeof self->returned[class]);
    self->returned[class] = list;
}
