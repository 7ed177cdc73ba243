#include "models/wordpiece/wordpiece.h"

#include "memory/memory.h"
#include "base/utf8.h"

#define NONE BBPE_WORDPIECE_NONE
/* Beside the id in the values of `tokens`. */
#define IS_TOKEN ((uint64_t)1 << 32)

static uint32_t child_of(const bbpe_wordpiece *self, uint32_t node, uint8_t byte) {
    const uint64_t *child = bbpe_pair_table_find(&self->children, bbpe_pair_key(node, byte));
    return child == NULL ? NONE : (uint32_t)*child;
}

static bbpe_status add_node(bbpe_wordpiece *self, uint32_t parent, uint8_t byte, uint32_t depth, uint32_t *node) {
    if (self->node_count >= NONE) return BBPE_TOO_LARGE;
    if (!bbpe_memory_grow(&self->nodes, &self->node_capacity, self->node_count + 1, sizeof *self->nodes))
        return BBPE_NO_MEMORY;
    *node = (uint32_t)self->node_count++;
    self->nodes[*node] = (bbpe_wordpiece_node){NONE, NONE, NONE, 0, parent, depth, byte};
    return BBPE_OK;
}

bbpe_status bbpe_wordpiece_init(bbpe_wordpiece *self, uint32_t unknown, size_t max_characters, uint64_t salt) {
    uint32_t root;
    memset(self, 0, sizeof *self);
    self->unknown = unknown;
    self->max_characters = max_characters;
    bbpe_status status = bbpe_pair_table_init(&self->children, 0);
    for (int i = 0; i < 2 && status == BBPE_OK; i++) status = bbpe_pretoken_table_init(self->tokens + i, salt);
    if (status == BBPE_OK) status = add_node(self, NONE, 0, 0, &root);
    if (status == BBPE_OK) status = add_node(self, NONE, 0, 0, &root);
    if (status != BBPE_OK) bbpe_wordpiece_free(self);
    return status;
}

void bbpe_wordpiece_free(bbpe_wordpiece *self) {
    bbpe_pair_table_free(&self->children);
    for (int i = 0; i < 2; i++) {
        bbpe_pretoken_table_free(self->tokens + i);
        bbpe_trie_free(self->tries + i);
    }
    bbpe_memory_free(self->nodes);
    bbpe_memory_free(self->cells);
    memset(self, 0, sizeof *self);
}

bbpe_status bbpe_wordpiece_add(bbpe_wordpiece *self, uint32_t root, const uint8_t *bytes, size_t n, uint32_t id) {
    uint32_t node = root;
    bbpe_pretoken_entry *entry;
    BBPE_ASSERT(n >= 1 && root <= BBPE_WORDPIECE_CONTINUE && !self->has_tries);
    const bbpe_status added = bbpe_pretoken_table_add(self->tokens + root, bytes, n, &entry);
    if (added != BBPE_OK) return added;
    entry->value = IS_TOKEN | id;
    if (id >= self->id_count) self->id_count = (size_t)id + 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t child = child_of(self, node, bytes[i]);
        if (child == NONE) {
            bbpe_status status = bbpe_pair_table_reserve(&self->children, 1);
            if (status == BBPE_OK) status = add_node(self, node, bytes[i], self->nodes[node].depth + 1, &child);
            if (status != BBPE_OK) return status;
            bbpe_pair_table_set(&self->children, bbpe_pair_key(node, bytes[i]), child);
        }
        node = child;
    }
    self->nodes[node].token = id;
    return BBPE_OK;
}

static bbpe_status pop(bbpe_wordpiece *self, bbpe_wordpiece_node *node, uint32_t token) {
    if (self->cell_count >= NONE) return BBPE_TOO_LARGE;
    if (!bbpe_memory_grow(&self->cells, &self->cell_capacity, self->cell_count + 1, sizeof *self->cells))
        return BBPE_NO_MEMORY;
    self->cells[self->cell_count] = (bbpe_wordpiece_cell){token, node->pops};
    node->pops = (uint32_t)self->cell_count++;
    node->popped++;
    return BBPE_OK;
}

/* Add the pops of another node to those of `node`; they are stored last first. */
static bbpe_status pop_all(bbpe_wordpiece *self, bbpe_wordpiece_node *node, const bbpe_wordpiece_node *other) {
    const size_t first = self->cell_count, count = other->popped;
    uint32_t cell = other->pops, before = node->pops;
    if (!bbpe_memory_grow(&self->cells, &self->cell_capacity, first + count, sizeof *self->cells))
        return BBPE_NO_MEMORY;
    if (first + count >= NONE) return BBPE_TOO_LARGE;
    bbpe_wordpiece_cell *const cells = self->cells;
    for (size_t i = count; i-- > 0; cell = cells[cell].before) cells[first + i].token = cells[cell].token;
    for (size_t i = 0; i < count; before = (uint32_t)(first + i++)) cells[first + i].before = before;
    self->cell_count += count;
    node->pops = before;
    node->popped += (uint32_t)count;
    return BBPE_OK;
}

/* Find the tokens that a node pops and the node that it fails to, once all nodes of less depth have theirs. */
static bbpe_status finalize_node(bbpe_wordpiece *self, bbpe_wordpiece_node *node) {
    if (node->token != NONE) {
        node->failure = BBPE_WORDPIECE_CONTINUE;
        return pop(self, node, node->token);
    }
    const bbpe_wordpiece_node *parent = self->nodes + node->parent;
    uint32_t at = parent->failure, child = NONE;
    bbpe_status status = BBPE_OK;
    node->pops = parent->pops;
    node->popped = parent->popped;
    while (status == BBPE_OK && at != NONE && (child = child_of(self, at, node->byte)) == NONE) {
        status = pop_all(self, node, self->nodes + at);
        at = self->nodes[at].failure;
    }
    node->failure = child;
    return status;
}

static bbpe_status make_tries(bbpe_wordpiece *self) {
    bbpe_status status = BBPE_OK;
    for (int i = 0; i < 2 && status == BBPE_OK; i++) {
        status = bbpe_trie_init(self->tries + i, self->tokens + i, IS_TOKEN, self->id_count);
        if (status == BBPE_OK) bbpe_pretoken_table_free(self->tokens + i);
    }
    self->has_tries = status == BBPE_OK;
    return status == BBPE_TOO_LARGE ? BBPE_OK : status;
}

bbpe_status bbpe_wordpiece_finalize(bbpe_wordpiece *self) {
    const size_t n = self->node_count;
    size_t deepest = 0;
    for (size_t i = 0; i < n; i++)
        if (self->nodes[i].depth > deepest) deepest = self->nodes[i].depth;
    uint32_t *order = bbpe_memory_new(n, sizeof *order);
    size_t *next = bbpe_memory_zeroed(deepest + 2, sizeof *next);
    bbpe_status status = order == NULL || next == NULL ? BBPE_NO_MEMORY : BBPE_OK;
    if (status == BBPE_OK) {
        for (size_t i = 0; i < n; i++) next[self->nodes[i].depth + 1]++;
        for (size_t depth = 1; depth <= deepest; depth++) next[depth] += next[depth - 1];
        for (size_t i = 0; i < n; i++) order[next[self->nodes[i].depth]++] = (uint32_t)i;
        for (size_t i = 2; i < n && status == BBPE_OK; i++) status = finalize_node(self, self->nodes + order[i]);
    }
    bbpe_memory_free(order);
    bbpe_memory_free(next);
    return status == BBPE_OK ? make_tries(self) : status;
}

void bbpe_wordpiece_visit(bbpe_wordpiece *self, bbpe_image *image) {
    size_t unknown = self->unknown, is_bert = self->is_bert, rules = self->rules, has_tries = self->has_tries;
    bbpe_image_number(image, &unknown);
    bbpe_image_number(image, &is_bert);
    bbpe_image_number(image, &rules);
    bbpe_image_number(image, &has_tries);
    bbpe_image_number(image, &self->max_characters);
    bbpe_image_number(image, &self->id_count);
    bbpe_image_number(image, &self->node_count);
    bbpe_image_number(image, &self->cell_count);
    self->unknown = (uint32_t)unknown;
    self->is_bert = is_bert != 0;
    self->rules = (unsigned)rules;
    self->has_tries = has_tries != 0;
    bbpe_pair_table_visit(&self->children, image);
    bbpe_image_array(image, &self->nodes, self->node_count, sizeof *self->nodes);
    bbpe_image_array(image, &self->cells, self->cell_count, sizeof *self->cells);
    for (size_t i = 0; i < 2 && self->has_tries; i++) bbpe_trie_visit(self->tries + i, self->id_count, image);
}

/* Write a node's pops after the ids so far. */
static size_t put_pops(const bbpe_wordpiece *self, const bbpe_wordpiece_node *node, uint32_t *ids, size_t count) {
    uint32_t cell = node->pops;
    for (size_t i = count + node->popped; i-- > count; cell = self->cells[cell].before) ids[i] = self->cells[cell].token;
    return count + node->popped;
}

static bool is_too_long(const uint8_t *word, size_t n, size_t most) {
    size_t characters = 0;
    if (n <= most) return false;
    for (size_t i = 0; i < n; i++) characters += !bbpe_utf8_is_tail(word[i]);
    return characters > most;
}

/* The ids of a word, or 0 where it has no match. */
static size_t match(const bbpe_wordpiece *self, const uint8_t *word, size_t n, uint32_t *ids) {
    uint32_t at = BBPE_WORDPIECE_BEGIN, child;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        while ((child = child_of(self, at, word[i])) == NONE) {
            const bbpe_wordpiece_node *node = self->nodes + at;
            if (node->failure == NONE) return 0;
            count = put_pops(self, node, ids, count);
            at = node->failure;
        }
        at = child;
    }
    while (at != BBPE_WORDPIECE_CONTINUE) {
        const bbpe_wordpiece_node *node = self->nodes + at;
        if (node->failure == NONE) return 0;
        count = put_pops(self, node, ids, count);
        at = node->failure;
    }
    return count;
}

/* The tokens of a short word. */
static size_t match_short(const bbpe_wordpiece *self, const uint8_t *word, size_t n, uint32_t *ids) {
    size_t count = 0, length;
    for (size_t start = 0; start < n; start += length) {
        const uint32_t id = bbpe_trie_longest(self->tries + (start > 0), word + start, n - start, &length);
        if (id == BBPE_TRIE_NONE) return 0;
        ids[count++] = id;
    }
    return count;
}

static size_t encode_word(const bbpe_wordpiece *self, const uint8_t *word, size_t n, uint32_t *ids) {
    const bool is_short = self->has_tries && n <= BBPE_WORDPIECE_SHORT;
    const size_t count = is_too_long(word, n, self->max_characters) ? 0
                         : is_short ? match_short(self, word, n, ids) : match(self, word, n, ids);
    if (count > 0 || self->unknown == NONE) return count;
    *ids = self->unknown;
    return 1;
}

static bbpe_status encode_text(const bbpe_wordpiece *self, bbpe_model_scratch *scratch, const uint8_t *text, size_t n,
                               uint32_t *ids, size_t *count) {
    bbpe_bert_words words;
    if (n > SIZE_MAX / 4 / sizeof *words.ends) return BBPE_TOO_LARGE;
    words.ends = bbpe_model_scratch_reserve(scratch, n * sizeof *words.ends + BBPE_BERT_GROWTH * n, 1);
    if (words.ends == NULL) return BBPE_NO_MEMORY;
    words.bytes = (uint8_t *)(words.ends + n);
    bbpe_bert_split(self->rules, text, n, &words);
    size_t start = 0;
    for (size_t i = 0; i < words.count; start = words.ends[i++])
        *count += encode_word(self, words.bytes + start, words.ends[i] - start, ids + *count);
    return BBPE_OK;
}

bbpe_status bbpe_wordpiece_encode(const void *model, bbpe_model_scratch *scratch, const uint8_t *word, size_t n,
                                  uint32_t *ids, size_t *count) {
    const bbpe_wordpiece *self = model;
    *count = 0;
    if (self->is_bert) return encode_text(self, scratch, word, n, ids, count);
    *count = encode_word(self, word, n, ids);
    return BBPE_OK;
}
