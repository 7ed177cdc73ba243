/* A vocabulary: ids <-> bytes, in the order in which tokens were added.
 *
 * Filled with bbpe_vocab_add, then closed with bbpe_vocab_index; from then on it is read only, by any number of
 * threads.  No two tokens have the same bytes; `is_unique` is false in the end if two have the same id.  The bytes
 * are in one arena, so 100,000 tokens are a few arrays and not as many objects.  The struct owns its arrays. */
#ifndef BBPE_MODELS_VOCAB_TOKEN_TABLE_H
#define BBPE_MODELS_VOCAB_TOKEN_TABLE_H

#include "tables/pretoken_table.h"

/* The highest id.  Arrays are indexed by id, so an absurd one in a broken file must not reserve gigabytes. */
#define BBPE_VOCAB_MAX_ID (((uint32_t)1 << 28) - 1)

typedef struct {
    bbpe_pretoken_table tokens; /* bytes -> id */
    uint32_t *numbers;          /* id -> number of its entry + 1; 0 for a hole */
    size_t id_count;            /* the highest id plus one */
    bool is_unique;             /* no id has two tokens; known when ids are indexed */
} bbpe_vocab;

/* `salt` as in tables/pretoken_table.h. */
bbpe_status bbpe_vocab_init(bbpe_vocab *self, uint64_t salt);
void bbpe_vocab_free(bbpe_vocab *self);
/* Room for further tokens of so many bytes together. */
bbpe_status bbpe_vocab_reserve(bbpe_vocab *self, size_t tokens, size_t bytes);
/* Add a token with an id up to BBPE_VOCAB_MAX_ID.  `*found` is that id, or the one that the bytes have already. */
bbpe_status bbpe_vocab_add(bbpe_vocab *self, uint32_t id, const uint8_t *bytes, size_t n, uint32_t *found);
/* Make ids findable, when all tokens are there. */
bbpe_status bbpe_vocab_index(bbpe_vocab *self);
/* Measure or write a vocabulary that is closed, or open one that is zeroed. */
void bbpe_vocab_visit(bbpe_vocab *self, bbpe_image *image);

/* The entry of an id, or NULL. */
BBPE_INLINE const bbpe_pretoken_entry *bbpe_vocab_get(const bbpe_vocab *self, size_t id) {
    return id < self->id_count && self->numbers[id] ? self->tokens.entries + (self->numbers[id] - 1) : NULL;
}

#endif
