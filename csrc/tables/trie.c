/* Making a trie: level by level, so that shorter tokens are known first and upper nodes are close together. */
#include "tables/trie.h"

#include "memory/memory.h"

enum { BLOCK = 256, WORDS = BLOCK / 64, TRIED_BLOCKS = 2, TRIED_WORDS = 2, FEW = 24, KEY_BYTES = 8 };

typedef struct {
    uint64_t key; /* the bytes of eight levels, the first one highest, and zeros after the last */
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
        if (set == 0) continue;
        return block * BLOCK + word * 64 + bbpe_bits_lowest(set);
    }
    return 0;
}

/* A base for an only child, to fill holes: in one of two words of slots, the first of which is closed when neither has
 * room, so that this stays linear; or 0. */
static size_t base_of_only(maker *self, uint8_t label) {
    const size_t words = self->trie->slot_count / 64;
    for (size_t word = self->first_word; word < self->first_word + TRIED_WORDS && word < words; word++) {
        const uint64_t bases = self->free_bases[word ^ label / 64];
        const uint64_t set = self->free_slots[word] & (bases == 0 ? 0 : flipped(bases, label % 64));
        if (set != 0) return (word * 64 + bbpe_bits_lowest(set)) ^ label;
    }
    self->first_word += self->first_word < words;
    return 0;
}

/* A base for several children, in one of the last blocks; or 0. */
static size_t base_of_many(const maker *self, const uint8_t *labels, size_t count) {
    const size_t blocks = self->trie->slot_count / BLOCK;
    size_t base = 0;
    for (size_t block = blocks < TRIED_BLOCKS ? 0 : blocks - TRIED_BLOCKS; block < blocks && base == 0; block++)
        base = base_in_block(self, block, labels, count);
    return base;
}

/* Give a node a base with room for its children. */
static bbpe_status give_base(maker *self, uint32_t slot, const uint8_t *labels, size_t count, size_t *base) {
    bbpe_trie *trie = self->trie;
    *base = count == 1 ? base_of_only(self, labels[0]) : base_of_many(self, labels, count);
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

static uint64_t key_at(const token *self, size_t depth) {
    uint64_t key = 0;
    for (size_t i = depth; i < depth + KEY_BYTES; i++) key = key << 8 | (i < self->length ? self->bytes[i] : 0);
    return key;
}

/* A digit of the sort key of a token, the least significant first: how many of its bytes these levels reach, then the bytes
 * of the key from the last one. */
static unsigned digit_of(const token *self, unsigned digit, size_t depth) {
    if (digit > 0) return (unsigned)(self->key >> (8 * (digit - 1))) & 0xFF;
    return self->length - depth > KEY_BYTES ? KEY_BYTES + 1 : (unsigned)(self->length - depth);
}

/* How many tokens have each value of each digit. */
static void count_digits(const token *tokens, size_t n, size_t depth, uint32_t counts[KEY_BYTES + 1][256]) {
    memset(counts, 0, (KEY_BYTES + 1) * sizeof *counts);
    for (size_t i = 0; i < n; i++)
        for (unsigned digit = 0; digit <= KEY_BYTES; digit++) counts[digit][digit_of(tokens + i, digit, depth)]++;
}

/* Order tokens by one digit, those that have the same one as they were. */
static void sort_by_digit(const token *tokens, token *sorted, size_t n, unsigned digit, size_t depth,
                          const uint32_t *counts) {
    token *next[256];
    for (size_t value = 0; value < 256; sorted += counts[value++]) next[value] = sorted;
    for (size_t i = 0; i < n; i++) *next[digit_of(tokens + i, digit, depth)]++ = tokens[i];
}

static bool is_before(const token *a, const token *b) {
    return a->key < b->key || (a->key == b->key && a->length < b->length);
}

/* Order tokens by the bytes of the next eight levels; one that ends there comes before those that go on. */
static void sort_tokens(token *tokens, token *sorted, size_t n, size_t depth) {
    for (size_t i = 0; i < n; i++) tokens[i].key = key_at(tokens + i, depth);
    if (n <= FEW) {
        for (size_t i = 1; i < n; i++) {
            const token moved = tokens[i];
            size_t at = i;
            for (; at > 0 && is_before(&moved, tokens + at - 1); at--) tokens[at] = tokens[at - 1];
            tokens[at] = moved;
        }
        return;
    }
    token *from = tokens, *to = sorted;
    uint32_t counts[KEY_BYTES + 1][256];
    count_digits(tokens, n, depth, counts);
    for (unsigned digit = 0; digit <= KEY_BYTES; digit++) {
        if (counts[digit][digit_of(tokens, digit, depth)] == n) continue; /* all have the same one */
        sort_by_digit(from, to, n, digit, depth, counts[digit]);
        token *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != tokens) memcpy(tokens, from, n * sizeof *tokens);
}

/* The token that ends at a node, if one does, is its first: it becomes the node's id. */
static void take_own_token(maker *self, node *parent, size_t depth) {
    const token *own = self->tokens + parent->first;
    if (parent->first == parent->end || own->length != depth) return;
    uint64_t *slot = self->trie->slots + parent->slot;
    *slot &= ~((uint64_t)BBPE_TRIE_NONE << BBPE_TRIE_LABEL_BITS);
    *slot |= (uint64_t)own->id << BBPE_TRIE_LABEL_BITS;
    self->trie->shorter[own->id] = parent->shorter;
    parent->shorter = own->id;
    parent->first++;
}

/* Give a node its children. */
static bbpe_status grow(maker *self, node parent, size_t depth) {
    if (depth % KEY_BYTES == 0) sort_tokens(self->tokens + parent.first, self->sorted, parent.end - parent.first, depth);
    take_own_token(self, &parent, depth);
    if (parent.first == parent.end) return BBPE_OK;
    const unsigned shift = 8 * (KEY_BYTES - 1 - depth % KEY_BYTES);
    uint8_t labels[256];
    size_t count = 0, base;
    node *children = self->next + self->next_count;
    for (uint32_t i = parent.first; i < parent.end; i++) {
        const uint8_t byte = (uint8_t)(self->tokens[i].key >> shift);
        if (count == 0 || byte != labels[count - 1]) {
            labels[count] = byte;
            children[count++] = (node){0, i, i, parent.shorter};
        }
        children[count - 1].end = i + 1;
    }
    const bbpe_status status = give_base(self, parent.slot, labels, count, &base);
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
    /* the nodes of a level share no token */
    work.level = bbpe_memory_table(n + 1, sizeof *work.level);
    work.next = bbpe_memory_table(n + 1, sizeof *work.next);
    bbpe_status status = BBPE_NO_MEMORY;
    if (self->shorter && work.tokens && work.sorted && work.level && work.next)
        status = list_tokens(&work, tokens, flags, id_count);
    if (status == BBPE_OK) status = grow_all(&work);
    uint64_t *grown = self->slots;
    self->slots = status == BBPE_OK ? bbpe_memory_table(self->slot_count, sizeof *self->slots) : NULL;
    if (self->slots != NULL) memcpy(self->slots, grown, self->slot_count * sizeof *self->slots);
    else if (status == BBPE_OK) status = BBPE_NO_MEMORY;
    bbpe_memory_free(grown);
    bbpe_memory_table_free(work.tokens);
    bbpe_memory_table_free(work.sorted);
    bbpe_memory_table_free(work.level);
    bbpe_memory_table_free(work.next);
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
    bbpe_image_array(image, &self->slots, self->slot_count, sizeof *self->slots);
    bbpe_image_array(image, &self->shorter, id_count, sizeof *self->shorter);
}
