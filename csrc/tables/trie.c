/* Making a trie: first the upper levels, whose nodes are close together, and then branch by branch, so that tokens are read
 * in order.  Where a single token is left, the rest of it is made at once. */
#include "tables/trie.h"

#include "memory/memory.h"

enum { BLOCK = 256, WORDS = BLOCK / 64, TRIED_WORDS = 2, FEW = 48, KEY_BYTES = 8, UPPER = 2, MOST_UPPER = 1 + 256 };

typedef struct {
    uint64_t key; /* the bytes of eight levels, the first one highest, and zeros after the last */
    const uint8_t *bytes;
    uint32_t length, id;
} token;

/* The tokens [first, end) are those whose bytes lead to the node in `slot`. */
typedef struct {
    uint32_t slot, first, end, shorter, depth;
    bool is_sorted; /* the tokens, by all that their keys have */
} node;

typedef struct {
    bbpe_trie *trie;
    token *tokens, *sorted;
    node *nodes; /* that are still to be given children; they share no token */
    size_t token_count, node_count;
    uint64_t *free_slots, *free_bases; /* bits */
    size_t capacity, bits_capacity[2]; /* slots, words */
    size_t first_word;                 /* of slots: those before it are closed to only children */
} maker;

static void clear_bit(uint64_t *bits, size_t index) {
    bits[index / 64] &= ~((uint64_t)1 << (index % 64));
}

static bbpe_status add_block(maker *self) {
    bbpe_trie *trie = self->trie;
    const size_t count = trie->slot_count + BLOCK;
    if (count > (size_t)1 << (64 - BBPE_TRIE_LABEL_BITS - BBPE_TRIE_ID_BITS)) return BBPE_TOO_LARGE;
    if (!bbpe_memory_grow(&trie->slots, &self->capacity, count, sizeof *trie->slots)
        || !bbpe_memory_grow(&self->free_slots, &self->bits_capacity[0], count / 64, sizeof *self->free_slots)
        || !bbpe_memory_grow(&self->free_bases, &self->bits_capacity[1], count / 64, sizeof *self->free_bases))
        return BBPE_NO_MEMORY;
    memset(self->free_slots + trie->slot_count / 64, 0xFF, BLOCK / 8);
    memset(self->free_bases + trie->slot_count / 64, 0xFF, BLOCK / 8);
    for (size_t i = trie->slot_count; i < count; i++)
        trie->slots[i] = BBPE_TRIE_EMPTY | (uint64_t)BBPE_TRIE_NONE << BBPE_TRIE_LABEL_BITS;
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

/* A base within a block that has room for all labels, or 0. */
static size_t base_in_block(const maker *self, size_t block, const uint8_t *labels, size_t count) {
    const uint64_t *free_slots = self->free_slots + block * WORDS;
    for (size_t word = 0; word < WORDS; word++) {
        uint64_t set = self->free_bases[block * WORDS + word];
        for (size_t i = 0; i < count && set != 0; i++) {
            const uint64_t slots = free_slots[word ^ labels[i] / 64];
            set &= slots == 0 ? 0 : flipped(slots, labels[i] % 64);
        }
        if (set != 0) return block * BLOCK + word * 64 + bbpe_bits_lowest(set);
    }
    return 0;
}

/* A base for an only child, to fill holes: in one of two words of slots, the first of which is closed when neither has
 * room, so that this stays linear; or 0 when all words are closed. */
static size_t base_of_only(maker *self, uint8_t label) {
    const size_t words = self->trie->slot_count / 64;
    for (; self->first_word < words; self->first_word++)
        for (size_t word = self->first_word; word < self->first_word + TRIED_WORDS && word < words; word++) {
            const uint64_t bases = self->free_bases[word ^ label / 64];
            for (uint64_t set = self->free_slots[word]; set != 0; set &= set - 1) {
                const size_t base = (word * 64 + bbpe_bits_lowest(set)) ^ label;
                if (bases >> (base % 64) & 1) return base;
            }
        }
    return 0;
}

/* Give a node a base with room for its children. */
static bbpe_status give_base(maker *self, uint32_t slot, const uint8_t *labels, size_t count, size_t *base) {
    bbpe_trie *trie = self->trie;
    /* several children are in the last block: holes in the others are filled by only children, which are most */
    *base = count == 1 ? base_of_only(self, labels[0]) : base_in_block(self, trie->slot_count / BLOCK - 1, labels, count);
    if (*base == 0) {
        *base = trie->slot_count;
        const bbpe_status status = add_block(self);
        if (status != BBPE_OK) return status;
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

/* Up to eight bytes, the first one highest, and zeros after the last. */
static uint64_t key_of(const uint8_t *bytes, size_t n) {
    const unsigned rest = (unsigned)(64 - 8 * n); /* bits; two loads that overlap have all bytes */
    uint64_t key = 0, end = 0;
    if (n == KEY_BYTES) {
        memcpy(&key, bytes, KEY_BYTES);
        return bbpe_bits_swapped(key);
    }
    if (n >= 4) {
        memcpy(&key, bytes, 4);
        memcpy(&end, bytes + n - 4, 4);
        return bbpe_bits_swapped(key) | bbpe_bits_swapped(end) >> 32 << rest;
    }
    return n == 0 ? 0 : (uint64_t)bytes[0] << 56 | (uint64_t)bytes[n / 2] << (56 - n / 2 * 8) | (uint64_t)bytes[n - 1] << rest;
}

static uint64_t key_at(const token *self, size_t depth) {
    const size_t left = self->length - depth;
    return key_of(self->bytes + depth, left < KEY_BYTES ? left : KEY_BYTES);
}

static bool is_before(const token *a, const token *b) {
    return a->key < b->key || (a->key == b->key && a->length < b->length);
}

/* Order a few tokens by the bytes of their keys; one that ends there comes before those that go on. */
static void sort_few(token *tokens, size_t n) {
    for (size_t i = 1; i < n; i++) {
        const token moved = tokens[i];
        size_t at = i;
        for (; at > 0 && is_before(&moved, tokens + at - 1); at--) tokens[at] = tokens[at - 1];
        tokens[at] = moved;
    }
}

/* Order many tokens by one byte of their keys, those that have the same one as they were; one that ends before it comes
 * first. */
static void sort_many(token *tokens, token *sorted, size_t n, size_t depth, unsigned shift) {
    uint32_t counts[257] = {0};
    token *next[257];
    for (size_t i = 0; i < n; i++) counts[tokens[i].length > depth ? 1 + (tokens[i].key >> shift & 0xFF) : 0]++;
    next[0] = sorted;
    for (size_t value = 0; value < 256; value++) next[value + 1] = next[value] + counts[value];
    for (size_t i = 0; i < n; i++) *next[tokens[i].length > depth ? 1 + (tokens[i].key >> shift & 0xFF) : 0]++ = tokens[i];
    memcpy(tokens, sorted, n * sizeof *tokens);
}

/* Make a token the one of the node in a slot. */
static void end_token(maker *self, uint32_t slot, const token *own, uint32_t shorter) {
    self->trie->slots[slot] ^= (uint64_t)(own->id ^ BBPE_TRIE_NONE) << BBPE_TRIE_LABEL_BITS;
    self->trie->shorter[own->id] = shorter;
}

/* Give a node the rest of its only token: no level has to wait for these. */
static bbpe_status grow_chain(maker *self, uint32_t slot, const token *only, size_t depth, uint32_t shorter) {
    uint64_t key = only->key << (8 * (depth % KEY_BYTES));
    for (; depth < only->length; depth++, key <<= 8) {
        if (depth % KEY_BYTES == 0) key = key_at(only, depth);
        const uint8_t label = (uint8_t)(key >> 56);
        size_t base;
        const bbpe_status status = give_base(self, slot, &label, 1, &base);
        if (status != BBPE_OK) return status;
        slot = (uint32_t)(base ^ label);
    }
    end_token(self, slot, only, shorter);
    return BBPE_OK;
}

/* Order the tokens of a node by their next byte; a few by all that their keys have, which serves the nodes below too. */
static void sort_tokens(maker *self, node *parent, unsigned shift) {
    token *const tokens = self->tokens + parent->first;
    const size_t n = parent->end - parent->first, depth = parent->depth;
    if (depth % KEY_BYTES == 0) {
        for (size_t i = 0; i < n; i++) tokens[i].key = key_at(tokens + i, depth);
        parent->is_sorted = false;
    }
    if (parent->is_sorted) return;
    parent->is_sorted = n <= FEW;
    if (parent->is_sorted) sort_few(tokens, n);
    else sort_many(tokens, self->sorted, n, depth, shift);
}

/* Give a node of two tokens and more its children. */
static bbpe_status grow(maker *self, node parent) {
    const size_t depth = parent.depth;
    const unsigned shift = 8 * (KEY_BYTES - 1 - depth % KEY_BYTES);
    sort_tokens(self, &parent, shift);
    const token *const tokens = self->tokens, *own = tokens + parent.first;
    if (own->length == depth) { /* the token that ends here comes first */
        end_token(self, parent.slot, own, parent.shorter);
        parent.shorter = own->id;
        parent.first++;
    }
    const bool is_only = ((tokens[parent.first].key ^ tokens[parent.end - 1].key) >> shift & 0xFF) == 0;
    uint8_t labels[256];
    uint32_t ends[256];
    size_t count = 0, base;
    for (uint32_t i = parent.first; i < parent.end; ends[count++] = i) {
        labels[count] = (uint8_t)(tokens[i].key >> shift);
        if (is_only) i = parent.end;
        else while (++i < parent.end && (uint8_t)(tokens[i].key >> shift) == labels[count]) {}
    }
    bbpe_status status = give_base(self, parent.slot, labels, count, &base);
    for (size_t i = 0; i < count && status == BBPE_OK; parent.first = ends[i++]) {
        const node child = {(uint32_t)(base ^ labels[i]), parent.first, ends[i], parent.shorter, parent.depth + 1, parent.is_sorted};
        if (child.end - child.first > 1) self->nodes[self->node_count++] = child;
        else status = grow_chain(self, child.slot, tokens + child.first, depth + 1, child.shorter);
    }
    return status;
}

static bbpe_status grow_all(maker *self) {
    bbpe_status status = add_block(self);
    if (status != BBPE_OK) return status;
    clear_bit(self->free_slots, 0);
    clear_bit(self->free_bases, 0);
    if (self->token_count == 1) return grow_chain(self, 0, self->tokens, 0, BBPE_TRIE_NONE);
    self->nodes[0] = (node){0, 0, (uint32_t)self->token_count, BBPE_TRIE_NONE, 0, false};
    self->node_count = self->token_count > 0;
    size_t first = 0;
    for (; first < self->node_count && self->nodes[first].depth < UPPER && status == BBPE_OK; first++)
        status = grow(self, self->nodes[first]);
    while (self->node_count > first && status == BBPE_OK) status = grow(self, self->nodes[--self->node_count]);
    return status;
}

static bbpe_status list_tokens(maker *self, const bbpe_pretoken_table *table, uint64_t flags, size_t id_count) {
    for (size_t i = 0; i < id_count; i++) self->trie->shorter[i] = BBPE_TRIE_NONE;
    for (size_t i = 0; i < table->count; i++) {
        const bbpe_pretoken_entry *entry = table->entries + i;
        if (!(entry->value & flags) || entry->length == 0) continue;
        if ((uint32_t)entry->value >= BBPE_TRIE_NONE) return BBPE_TOO_LARGE;
        self->tokens[self->token_count++] =
            (token){0, table->arena + entry->start, entry->length, (uint32_t)entry->value};
    }
    return BBPE_OK;
}

bbpe_status bbpe_trie_init(bbpe_trie *self, const bbpe_pretoken_table *tokens, uint64_t flags, size_t id_count) {
    memset(self, 0, sizeof *self);
    const size_t n = tokens->count;
    maker work = {.trie = self};
    self->shorter = bbpe_memory_new(id_count, sizeof *self->shorter);
    work.tokens = bbpe_memory_table(n, sizeof *work.tokens);
    work.sorted = bbpe_memory_table(n, sizeof *work.sorted);
    work.nodes = bbpe_memory_table(n + MOST_UPPER, sizeof *work.nodes);
    bbpe_status status = BBPE_NO_MEMORY;
    if (self->shorter && work.tokens && work.sorted && work.nodes)
        status = list_tokens(&work, tokens, flags, id_count);
    if (status == BBPE_OK) status = grow_all(&work);
    uint64_t *grown = self->slots;
    self->slots = status == BBPE_OK ? bbpe_memory_table(self->slot_count, sizeof *self->slots) : NULL;
    if (self->slots != NULL) memcpy(self->slots, grown, self->slot_count * sizeof *self->slots);
    else if (status == BBPE_OK) status = BBPE_NO_MEMORY;
    bbpe_memory_free(grown);
    bbpe_memory_table_free(work.tokens);
    bbpe_memory_table_free(work.sorted);
    bbpe_memory_table_free(work.nodes);
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

void bbpe_trie_visit(bbpe_trie *self, size_t id_count, bbpe_image *image) {
    bbpe_image_number(image, &self->slot_count);
    bbpe_image_expect(image, self->slot_count > 0 && self->slot_count % BLOCK == 0);
    bbpe_image_array(image, &self->slots, self->slot_count, sizeof *self->slots);
    bbpe_image_array(image, &self->shorter, id_count, sizeof *self->shorter);
}
