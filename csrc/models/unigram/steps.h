/* Which tokens begin a text, a character of three bytes at a time: one load each, where a trie takes three.
 *
 * A table of all prefixes of tokens that are made of such characters only.  A slot holds the number of the prefix without
 * its last character, which is the place of that one's slot, and the character; so a slot that matches, coming from one
 * that did, is the prefix.  Where a slot may be depends on nothing but the text: slots are fetched long before a walk
 * gets there, and one need not wait for another.  Most walks end after one or two characters: a slot knows 32 classes of
 * characters and with which of them a token goes on, and nearly all that do not are told without a load.
 *
 * A token that goes on with something else is found by the bytes from there, in the trie.  A token that ends within a
 * character is not found at all.  Japanese, 32,000 tokens: 51,000 prefixes in 2 MiB.  Immutable; the struct owns them. */
#ifndef BBPE_MODELS_UNIGRAM_STEPS_H
#define BBPE_MODELS_UNIGRAM_STEPS_H

#include "base/hash.h"
#include "base/utf8.h"
#include "tables/pretoken_table.h"

/* A key is character | place of the prefix before, plus one | number of a token | whether other tokens go on. */
#define BBPE_STEPS_CHARACTER_BITS 22
#define BBPE_STEPS_PARENT_BITS 21
#define BBPE_STEPS_NUMBER_BITS 20
#define BBPE_STEPS_KEY_BITS (BBPE_STEPS_CHARACTER_BITS + BBPE_STEPS_PARENT_BITS)
#define BBPE_STEPS_NONE (((uint32_t)1 << BBPE_STEPS_NUMBER_BITS) - 1)

typedef struct {
    uint64_t key;    /* 0: empty */
    uint32_t onward; /* the classes of characters with which tokens go on */
    float score;     /* of the token that this prefix is, if it is one; for the caller to set */
} bbpe_step;

typedef struct {
    bbpe_step *slots; /* NULL: no table, walk by bytes */
    size_t mask;
    unsigned shift;
} bbpe_steps;

/* Of tokens, by their numbers.  Without a table if there are too many for a slot. */
bbpe_status bbpe_steps_init(bbpe_steps *self, const bbpe_pretoken_table *tokens);
void bbpe_steps_free(bbpe_steps *self);
/* Measure, write or open a table. */
void bbpe_steps_visit(bbpe_steps *self, bbpe_image *image);

/* Whether these bytes of a text, the first one lowest, begin with a character of three; not an overlong form nor a
 * surrogate. */
BBPE_INLINE bool bbpe_steps_is_character(uint32_t bytes) {
    if (!bbpe_utf8_begins_3byte(bytes)) return false;
    const uint32_t lead = bytes & 0xF, second = bytes >> 8 & 0x20;
    return BBPE_LIKELY(lead != 0 && lead != 0xD) || (lead == 0 ? second != 0 : second == 0);
}

/* Its bits, where they are. */
BBPE_INLINE uint32_t bbpe_steps_character(uint32_t bytes) {
    return bytes & 0x3F3F0F;
}

/* From the hash of a prefix, at first 0, to that with one character more. */
BBPE_INLINE uint64_t bbpe_steps_hash(uint64_t hash, uint32_t character) {
    return bbpe_hash_fibonacci(hash + character);
}

BBPE_INLINE uint32_t bbpe_steps_class(uint32_t character) {
    return (uint32_t)1 << (character * 0x9E3779B1u >> 27);
}

BBPE_INLINE uint32_t bbpe_steps_number(const bbpe_step *step) {
    return (uint32_t)(step->key >> BBPE_STEPS_KEY_BITS) & BBPE_STEPS_NONE;
}

/* Whether a token goes on with anything but a character of three bytes. */
BBPE_INLINE bool bbpe_steps_has_others(const bbpe_step *step) {
    return step->key >> 63;
}

BBPE_INLINE void bbpe_steps_fetch(const bbpe_steps *self, uint64_t hash) {
    BBPE_PREFETCH(self->slots + (hash >> self->shift));
}

/* The prefix with this hash that adds a character to `before`, or to nothing if that is NULL; NULL if there is none. */
BBPE_INLINE const bbpe_step *bbpe_steps_find(const bbpe_steps *self, const bbpe_step *before, uint32_t character,
                                             uint64_t hash) {
    const uint64_t parent = before == NULL ? 0 : (uint64_t)(before - self->slots) + 1;
    const uint64_t key = parent << BBPE_STEPS_CHARACTER_BITS | character, mask = ((uint64_t)1 << BBPE_STEPS_KEY_BITS) - 1;
    for (size_t i = (size_t)(hash >> self->shift);; i = (i + 1) & self->mask) {
        const bbpe_step *step = self->slots + i;
        if ((step->key & mask) == key) return step;
        if (step->key == 0) return NULL;
    }
}

#endif
