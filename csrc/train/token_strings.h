/* The bytes of tokens as a trainer makes them, in order of ids: one arena, and where each begins; and how many places
 * each takes among symbols (tables/symbols.h), which is one a byte unless a trainer says otherwise.  The struct owns its arrays;
 * zeroed, it may be freed. */
#ifndef BBPE_TRAIN_TOKEN_STRINGS_H
#define BBPE_TRAIN_TOKEN_STRINGS_H

#include "memory/memory.h"

typedef struct {
    uint8_t *arena;
    size_t used, capacity;
    uint64_t *starts;
    uint32_t *lengths;
} bbpe_token_strings;

BBPE_INLINE void bbpe_token_strings_free(bbpe_token_strings *self) {
    bbpe_memory_free(self->arena);
    bbpe_memory_free(self->starts);
    bbpe_memory_free(self->lengths);
    memset(self, 0, sizeof *self);
}

/* Room for `ids` tokens, of which there are `count`: token i is bytes[offsets[i]..offsets[i + 1]). */
BBPE_INLINE bbpe_status bbpe_token_strings_init(bbpe_token_strings *self, size_t ids, const uint8_t *bytes,
                                                const int64_t *offsets, size_t count) {
    memset(self, 0, sizeof *self);
    self->starts = bbpe_memory_new(ids + 1, sizeof *self->starts);
    self->lengths = bbpe_memory_new(ids, sizeof *self->lengths);
    self->used = self->capacity = (size_t)offsets[count];
    self->arena = bbpe_memory_new(self->used, 1);
    if (self->starts == NULL || self->lengths == NULL || self->arena == NULL) return BBPE_NO_MEMORY;
    if (self->used) memcpy(self->arena, bytes, self->used);
    for (size_t i = 0; i < count; i++) {
        self->starts[i] = (uint64_t)offsets[i];
        self->lengths[i] = (uint32_t)(offsets[i + 1] - offsets[i]);
    }
    self->starts[count] = self->used;
    return BBPE_OK;
}

BBPE_INLINE size_t bbpe_token_strings_size(const bbpe_token_strings *self, uint32_t token) {
    return (size_t)(self->starts[token + 1] - self->starts[token]);
}

/* Make `token`, the id that follows the last, the concatenation of two others. */
BBPE_INLINE bbpe_status bbpe_token_strings_join(bbpe_token_strings *self, uint32_t token, uint32_t left,
                                                uint32_t right) {
    const size_t n = bbpe_token_strings_size(self, left), m = bbpe_token_strings_size(self, right);
    if (!bbpe_memory_grow(&self->arena, &self->capacity, self->used + n + m, 1)) return BBPE_NO_MEMORY;
    memcpy(self->arena + self->used, self->arena + self->starts[left], n);
    memcpy(self->arena + self->used + n, self->arena + self->starts[right], m);
    self->lengths[token] = self->lengths[left] + self->lengths[right];
    self->used += n + m;
    self->starts[token + 1] = self->used;
    return BBPE_OK;
}

/* Lexicographic order of two tokens: negative, zero or positive. */
BBPE_INLINE int bbpe_token_strings_compare(const bbpe_token_strings *self, uint32_t a, uint32_t b) {
    const size_t n = bbpe_token_strings_size(self, a), m = bbpe_token_strings_size(self, b);
    const int order = memcmp(self->arena + self->starts[a], self->arena + self->starts[b], n < m ? n : m);
    return order ? order : (n > m) - (n < m);
}

/* The first eight bytes, which have the order of strings where they differ. */
BBPE_INLINE uint64_t bbpe_token_strings_prefix(const bbpe_token_strings *self, uint32_t token) {
    const size_t n = bbpe_token_strings_size(self, token);
    uint64_t prefix = 0;
    for (size_t i = 0; i < 8; i++) prefix = prefix << 8 | (i < n ? self->arena[self->starts[token] + i] : 0);
    return prefix;
}

#endif
