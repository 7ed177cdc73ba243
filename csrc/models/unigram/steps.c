/* Filling a table of prefixes, in a larger one when it gets too full: the index of a slot is its number. */
#include "models/unigram/steps.h"

#include "base/bits.h"
#include "memory/memory.h"

enum { FEWEST = 4 }; /* slots, as bits */

static const double FULL = 0.6; /* at 0.8 walks take 4 % longer */

static uint32_t three_bytes(const uint8_t *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16;
}

/* The slot of a prefix, found or new. */
static bbpe_step *add(bbpe_steps *self, bbpe_step *before, uint32_t character, uint64_t hash, size_t *count) {
    const bbpe_step *found = bbpe_steps_find(self, before, character, hash);
    if (found != NULL) return self->slots + (found - self->slots);
    size_t i = (size_t)(hash >> self->shift);
    while (self->slots[i].key != 0) i = (i + 1) & self->mask;
    const uint64_t parent = before == NULL ? 0 : (uint64_t)(before - self->slots) + 1;
    const uint64_t key = parent << BBPE_STEPS_CHARACTER_BITS | character;
    self->slots[i] = (bbpe_step){key | (uint64_t)BBPE_STEPS_NONE << BBPE_STEPS_KEY_BITS, 0, 0};
    if (before != NULL) before->onward |= bbpe_steps_class(character);
    ++*count;
    return self->slots + i;
}

/* All prefixes of a token. */
static void add_token(bbpe_steps *self, const uint8_t *bytes, size_t n, uint32_t number, size_t *count) {
    bbpe_step *step = NULL;
    uint64_t hash = 0;
    size_t i = 0;
    for (; n - i >= 3 && bbpe_steps_is_character(three_bytes(bytes + i)); i += 3) {
        const uint32_t character = bbpe_steps_character(three_bytes(bytes + i));
        hash = bbpe_steps_hash(hash, character);
        step = add(self, step, character, hash, count);
    }
    if (step == NULL) return;
    if (i < n) {
        step->key |= (uint64_t)1 << 63;
        return;
    }
    step->key &= ~((uint64_t)BBPE_STEPS_NONE << BBPE_STEPS_KEY_BITS);
    step->key |= (uint64_t)number << BBPE_STEPS_KEY_BITS;
}

/* All tokens, the first ones as near to where they are looked for as can be; false if there are too few slots. */
static bool fill(bbpe_steps *self, const bbpe_pretoken_table *tokens) {
    const size_t most = (size_t)(FULL * (double)(self->mask + 1));
    size_t count = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        const bbpe_pretoken_entry *entry = tokens->entries + i;
        if (count + entry->length / 3 > most) return false;
        add_token(self, tokens->arena + entry->start, entry->length, (uint32_t)i, &count);
    }
    return true;
}

bbpe_status bbpe_steps_init(bbpe_steps *self, const bbpe_pretoken_table *tokens) {
    memset(self, 0, sizeof *self);
    if (tokens->count >= BBPE_STEPS_NONE) return BBPE_OK;
    for (unsigned bits = FEWEST; bits < BBPE_STEPS_PARENT_BITS; bits++) {
        *self = (bbpe_steps){bbpe_memory_table((size_t)1 << bits, sizeof *self->slots), ((size_t)1 << bits) - 1, 64 - bits};
        if (self->slots == NULL) return BBPE_NO_MEMORY;
        if (fill(self, tokens)) return BBPE_OK;
        bbpe_steps_free(self);
    }
    return BBPE_OK;
}

void bbpe_steps_free(bbpe_steps *self) {
    bbpe_memory_table_free(self->slots);
    memset(self, 0, sizeof *self);
}

void bbpe_steps_visit(bbpe_steps *self, bbpe_image *image) {
    size_t count = self->slots == NULL ? 0 : self->mask + 1;
    bbpe_image_number(image, &count);
    bbpe_image_expect(image, (count & (count - 1)) == 0 && count >> BBPE_STEPS_PARENT_BITS == 0);
    bbpe_image_array(image, &self->slots, count, sizeof *self->slots);
    if (self->slots == NULL) return;
    self->mask = count - 1;
    self->shift = 64 - bbpe_bits_lowest(count);
}
