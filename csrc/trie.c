/* Making a trie: level by level, so that shorter tokens are known first and upper nodes stand close together. */
#include "trie.h"

#include "memory.h"

enum { BLOCK = 256, WORDS = BLOCK / 64, TRIED_BLOCKS = 2, FEW = 24 };

typedef struct {
    const uint8_t *bytes;
    uint32_t length, id;
} token;

/* The tokens [first, end) are those whose bytes lead to the node in `slot`. */
typedef struct {
    uint32_t slot, first, end, shorter;
} node;

typedef struct {
    bbpe_trie *trie;
    token *tokens, *sorted;
    node *level, *next;
    size_t token_count, level_count, next_count;
    uint64_t *free_slots, *free_bases; /* bits */
    size_t capacity, bits_capacity[2]; /* slots, words */
    size_t first_block;                /* those before it are closed */
} maker;

static void clear_bit(uint64_t *bits, size_t index) {
    bits[index / 64] &= ~((uint64_t)1 << (index % 64));
}

static bbpe_status add_block(maker *self) {
    bbpe_trie *trie = self->trie;
    const size_t count = trie->slot_count + BLOCK;
    if (count > (size_t)1 << (64 - BBPE_TRIE_LABEL_BITS - BBPE_TRIE_ID_BITS)) return BBPE_TOO_LARGE;
    uint64_t *slots = bbpe_memory_reserve(trie->slots, &self->capacity, count, sizeof *slots);
    if (slots != NULL) trie->slots = slots;
    uint64_t *free_slots =
        bbpe_memory_reserve(self->free_slots, &self->bits_capacity[0], count / 64, sizeof *free_slots);
    if (free_slots != NULL) self->free_slots = free_slots;
    uint64_t *free_bases =
        bbpe_memory_reserve(self->free_bases, &self->bits_capacity[1], count / 64, sizeof *free_bases);
    if (free_bases != NULL) self->free_bases = free_bases;
    if (!slots || !free_slots || !free_bases) return BBPE_NO_MEMORY;
    memset(free_slots + trie->slot_count / 64, 0xFF, BLOCK / 8);
    memset(free_bases + trie->slot_count / 64, 0xFF, BLOCK / 8);
    for (size_t i = trie->slot_count; i < count; i++)
        slots[i] = BBPE_TRIE_EMPTY | (uint64_t)BBPE_TRIE_NONE << BBPE_TRIE_LABEL_BITS;
    trie->slot_count = count;
    return BBPE_OK;
}

/* The set of i for which i ^ by is in the set of 64. */
static uint64_t flipped(uint64_t set, unsigned by) {
    static const uint64_t lower[6] = {0x5555555555555555u, 0x3333333333333333u, 0x0F0F0F0F0F0F0F0Fu,
                                      0x00FF00FF00FF00FFu, 0x0000FFFF0000FFFFu, 0x00000000FFFFFFFFu};
    for (unsigned bit = 0; bit < 6; bit++) {
        const uint64_t changed = (set ^ set >> (1u << bit)) & lower[bit] & (0 - (uint64_t)(by >> bit & 1));
        set ^= changed | changed << (1u << bit);
    }
    return set;
}

static size_t lowest_bit(uint64_t set) {
    size_t bit = 0;
    for (unsigned half = 32; half > 0; half /= 2)
        if ((set >> bit << (64 - half)) == 0) bit += half;
    return bit;
}

/* A base within a block that has room for all labels, or 0. */
static size_t base_in_block(const maker *self, size_t block, const uint8_t *labels, size_t count) {
    const uint64_t *free_slots = self->free_slots + block * WORDS;
    for (size_t word = 0; word < WORDS; word++) {
        uint64_t set = self->free_bases[block * WORDS + word];
        for (size_t i = 0; i < count && set != 0; i++) {
            const uint64_t slots = free_slots[word ^ labels[i] / 64];
            set &= slots == 0 ? 0 : flipped(slots, labels[i] % 64);
        }
        if (set == 0) continue;
        return block * BLOCK + word * 64 + lowest_bit(set);
    }
    return 0;
}

/* Give a node a base with room for its children: an only child in the first blocks, to fill holes, others in the last
 * blocks.  Of the first blocks one is closed whenever they have no room, so that this stays linear. */
static bbpe_status place(maker *self, uint32_t slot, const uint8_t *labels, size_t count, size_t *base) {
    bbpe_trie *trie = self->trie;
    const size_t blocks = trie->slot_count / BLOCK;
    size_t block = self->first_block;
    if (count > 1 && block + TRIED_BLOCKS < blocks) block = blocks - TRIED_BLOCKS;
    *base = 0;
    for (size_t tried = 0; tried < TRIED_BLOCKS && block < blocks && *base == 0; tried++, block++)
        *base = base_in_block(self, block, labels, count);
    if (*base == 0) {
        const bbpe_status status = add_block(self);
        if (status != BBPE_OK) return status;
        *base = blocks * BLOCK;
        if (count == 1) self->first_block++;
    }
    clear_bit(self->free_bases, *base);
    for (size_t i = 0; i < count; i++) {
        const size_t child = *base ^ labels[i];
        clear_bit(self->free_slots, child);
        trie->slots[child] = labels[i] | (uint64_t)BBPE_TRIE_NONE << BBPE_TRIE_LABEL_BITS;
    }
    trie->slots[slot] |= (uint64_t)*base << (BBPE_TRIE_LABEL_BITS + BBPE_TRIE_ID_BITS);
    return BBPE_OK;
}

/* Order tokens longer than `depth` by the byte there. */
static void sort_by_byte(token *tokens, token *sorted, size_t n, size_t depth) {
    if (n <= FEW) {
        for (size_t i = 1; i < n; i++) {
            const token moved = tokens[i];
            size_t at = i;
            for (; at > 0 && tokens[at - 1].bytes[depth] > moved.bytes[depth]; at--) tokens[at] = tokens[at - 1];
            tokens[at] = moved;
        }
        return;
    }
    size_t next[257] = {0};
    for (size_t i = 0; i < n; i++) next[tokens[i].bytes[depth] + 1]++;
    for (size_t byte = 1; byte < 257; byte++) next[byte] += next[byte - 1];
    for (size_t i = 0; i < n; i++) sorted[next[tokens[i].bytes[depth]]++] = tokens[i];
    memcpy(tokens, sorted, n * sizeof *tokens);
}

/* The token that ends at a node, if one does, becomes the node's id and the first of its tokens is gone. */
static void take_own_token(maker *self, node *parent, size_t depth) {
    for (uint32_t i = parent->first; i < parent->end; i++) {
        if (self->tokens[i].length != depth) continue;
        const token own = self->tokens[i];
        self->tokens[i] = self->tokens[parent->first];
        self->tokens[parent->first++] = own;
        uint64_t *slot = self->trie->slots + parent->slot;
        *slot &= ~((uint64_t)BBPE_TRIE_NONE << BBPE_TRIE_LABEL_BITS);
        *slot |= (uint64_t)own.id << BBPE_TRIE_LABEL_BITS;
        self->trie->shorter[own.id] = parent->shorter;
        parent->shorter = own.id;
        return;
    }
}

/* Give a node its children, whose tokens are then sorted by their byte. */
static bbpe_status grow(maker *self, node parent, size_t depth) {
    take_own_token(self, &parent, depth);
    if (parent.first == parent.end) return BBPE_OK;
    sort_by_byte(self->tokens + parent.first, self->sorted, parent.end - parent.first, depth);
    uint8_t labels[256];
    size_t count = 0, base;
    node *children = self->next + self->next_count;
    for (uint32_t i = parent.first; i < parent.end; i++) {
        const uint8_t byte = self->tokens[i].bytes[depth];
        if (count == 0 || byte != labels[count - 1]) {
            labels[count] = byte;
            children[count++] = (node){0, i, i, parent.shorter};
        }
        children[count - 1].end = i + 1;
    }
    const bbpe_status status = place(self, parent.slot, labels, count, &base);
    if (status != BBPE_OK) return status;
    for (size_t i = 0; i < count; i++) children[i].slot = (uint32_t)(base ^ labels[i]);
    self->next_count += count;
    return BBPE_OK;
}

static bbpe_status grow_all(maker *self) {
    bbpe_status status = add_block(self);
    if (status != BBPE_OK) return status;
    clear_bit(self->free_slots, 0);
    clear_bit(self->free_bases, 0);
    self->level[0] = (node){0, 0, (uint32_t)self->token_count, BBPE_TRIE_NONE};
    self->level_count = self->token_count > 0;
    for (size_t depth = 0; self->level_count > 0; depth++) {
        self->next_count = 0;
        for (size_t i = 0; i < self->level_count && status == BBPE_OK; i++)
            status = grow(self, self->level[i], depth);
        if (status != BBPE_OK) return status;
        node *grown = self->level;
        self->level = self->next;
        self->next = grown;
        self->level_count = self->next_count;
    }
    return BBPE_OK;
}

static bbpe_status list_tokens(maker *self, const bbpe_pretoken_table *table, uint64_t flags, size_t id_count) {
    for (size_t i = 0; i < id_count; i++) self->trie->shorter[i] = BBPE_TRIE_NONE;
    for (size_t i = 0; i < table->count; i++) {
        const bbpe_pretoken_entry *entry = table->entries + i;
        if (!(entry->value & flags) || entry->length == 0) continue;
        if ((uint32_t)entry->value >= BBPE_TRIE_NONE) return BBPE_TOO_LARGE;
        self->tokens[self->token_count++] =
            (token){table->arena + entry->start, entry->length, (uint32_t)entry->value};
    }
    return BBPE_OK;
}

bbpe_status bbpe_trie_init(bbpe_trie *self, const bbpe_pretoken_table *tokens, uint64_t flags, size_t id_count) {
    memset(self, 0, sizeof *self);
    const size_t n = tokens->count;
    maker work = {.trie = self};
    self->shorter = bbpe_memory_new(id_count, sizeof *self->shorter);
    work.tokens = bbpe_memory_new(n, sizeof *work.tokens);
    work.sorted = bbpe_memory_new(n, sizeof *work.sorted);
    /* the nodes of a level share no token */
    work.level = bbpe_memory_new(n + 1, sizeof *work.level);
    work.next = bbpe_memory_new(n + 1, sizeof *work.next);
    bbpe_status status = BBPE_NO_MEMORY;
    if (self->shorter && work.tokens && work.sorted && work.level && work.next)
        status = list_tokens(&work, tokens, flags, id_count);
    if (status == BBPE_OK) status = grow_all(&work);
    uint64_t *grown = self->slots;
    self->slots = status == BBPE_OK ? bbpe_memory_table(self->slot_count, sizeof *self->slots) : NULL;
    if (self->slots != NULL) memcpy(self->slots, grown, self->slot_count * sizeof *self->slots);
    else if (status == BBPE_OK) status = BBPE_NO_MEMORY;
    bbpe_memory_free(grown);
    bbpe_memory_free(work.tokens);
    bbpe_memory_free(work.sorted);
    bbpe_memory_free(work.level);
    bbpe_memory_free(work.next);
    bbpe_memory_free(work.free_slots);
    bbpe_memory_free(work.free_bases);
    if (status != BBPE_OK) bbpe_trie_free(self);
    return status;
}

void bbpe_trie_free(bbpe_trie *self) {
    bbpe_memory_table_free(self->slots);
    bbpe_memory_free(self->shorter);
    memset(self, 0, sizeof *self);
}
