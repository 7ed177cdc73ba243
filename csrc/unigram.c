/* Viterbi over the trie: nodes filled from left to right, written and used again where no token lies across. */
#include "unigram.h"

#include <math.h>

#include "memory.h"
#include "unigram_words.h"
#include "utf8.h"

enum { HEAD = 64, WORTH = 1 << 14 }; /* bytes; of text before which a table of words is not worth its memory */

static const double BEYOND = 100000, SAFE = 99000;

/* Number the tokens, and tell the trie that these are its ids. */
static bbpe_status list_pieces(bbpe_unigram *self, const double *scores) {
    self->pieces = bbpe_memory_new(self->tokens.count, sizeof *self->pieces);
    if (self->pieces == NULL) return BBPE_NO_MEMORY;
    self->has_words = true;
    for (size_t i = 0; i < self->tokens.count; i++) {
        bbpe_pretoken_entry *entry = self->tokens.entries + i;
        if (entry->length > self->longest) self->longest = entry->length;
        const uint8_t *bytes = self->tokens.arena + entry->start;
        for (uint32_t k = 1; k < entry->length; k++)
            if (bytes[k] == ' ' && bytes[k - 1] > ' ') self->has_words = false;
        self->pieces[i] = (bbpe_unigram_piece){scores[i], (uint32_t)entry->value, entry->length};
        entry->value = (uint64_t)1 << 32 | i;
    }
    return bbpe_trie_init(&self->trie, &self->tokens, (uint64_t)1 << 32, self->tokens.count);
}

bbpe_status bbpe_unigram_init(bbpe_unigram *self, const bbpe_pretoken_table *tokens, const double *scores) {
    memset(self, 0, sizeof *self);
    bbpe_status status = bbpe_pretoken_table_copy(&self->tokens, tokens);
    if (status == BBPE_OK) status = list_pieces(self, scores);
    else memset(self, 0, sizeof *self);
    if (status != BBPE_OK) bbpe_unigram_free(self);
    return status;
}

void bbpe_unigram_free(bbpe_unigram *self) {
    bbpe_pretoken_table_free(&self->tokens);
    bbpe_trie_free(&self->trie);
    bbpe_memory_free(self->pieces);
    memset(self, 0, sizeof *self);
}

/* How many bytes the character at text[0..n) has. */
BBPE_INLINE size_t character_length(const uint8_t *text, size_t n) {
    if (BBPE_LIKELY(text[0] < 0x80)) return 1;
    size_t next;
    bbpe_utf8_decode(text, 0, n, &next);
    return next;
}

/* The tokens on the best path from a closed node to one that is `end` bytes behind, the last one first. */
static uint32_t *write_path(const bbpe_unigram *self, const bbpe_unigram_node *nodes, const uint8_t *text, size_t end,
                            uint32_t *ids) {
    while (end > 0) {
        const uint32_t last = nodes[end].last;
        if (BBPE_LIKELY(!(last & BBPE_UNIGRAM_UNKNOWN))) {
            *ids++ = self->pieces[last].id;
            end -= self->pieces[last].length;
            continue;
        }
        const size_t length = last & ~BBPE_UNIGRAM_UNKNOWN;
        if (self->has_byte_ids)
            for (size_t i = 1; i <= length; i++) *ids++ = self->byte_ids[text[end - i]];
        else
            *ids++ = self->unknown;
        end -= length;
    }
    return ids;
}

/* Put ids in order; without tokens of bytes, leave one unknown of a run. */
static uint32_t *settle(const bbpe_unigram *self, uint32_t *first, uint32_t *end, bool after_unknown) {
    for (uint32_t *a = first, *b = end; a + 1 < b; a++) {
        const uint32_t id = *a;
        *a = *--b;
        *b = id;
    }
    if (self->has_byte_ids) return end;
    uint32_t *out = first;
    for (const uint32_t *id = first; id < end; id++) {
        const bool is_unknown = *id == self->unknown;
        if (!(is_unknown && after_unknown)) *out++ = *id;
        after_unknown = is_unknown;
    }
    return out;
}

/* Let a path end in a node, if it is better than the one that does. */
BBPE_INLINE void offer(bbpe_unigram_node *node, double sum, uint32_t last, bool is_float) {
    if (is_float) sum = (double)(float)sum;
    if (!(sum > node->sum)) return;
    node->sum = sum;
    node->last = last;
}

/* All tokens that begin at text[0..n), where `nodes` is the node; returns how far they reach, at least `reach`, up to
 * which nodes are made. */
BBPE_INLINE size_t leave(const bbpe_unigram *self, bbpe_unigram_node *nodes, const uint8_t *text, size_t n,
                         size_t character, size_t reach, bool is_float) {
    const double sum = nodes[0].sum;
    uint64_t slot = self->trie.slots[0];
    bool has_single = false;
    for (size_t i = 0; i < n; i++) {
        slot = self->trie.slots[bbpe_trie_base(slot) ^ text[i]];
        if ((slot & (2 * BBPE_TRIE_EMPTY - 1)) != text[i]) break;
        const uint32_t number = bbpe_trie_id(slot);
        if (number == BBPE_TRIE_NONE) continue;
        while (reach < i + 1) nodes[++reach].sum = -INFINITY;
        offer(nodes + i + 1, self->pieces[number].score + sum, number, is_float);
        has_single |= i + 1 == character;
    }
    if (BBPE_UNLIKELY(!has_single)) {
        while (reach < character) nodes[++reach].sum = -INFINITY;
        offer(nodes + character, self->unknown_score + sum, BBPE_UNIGRAM_UNKNOWN | (uint32_t)character, is_float);
    }
    return reach;
}

/* What a thread keeps between texts: this, a table of words once it is worth it, and nodes behind it. */
typedef struct {
    uint64_t seen; /* bytes of text */
    bool has_words;
} head;

typedef struct {
    const bbpe_unigram *model;
    bbpe_model_scratch *scratch;
    bool has_words;
    bbpe_unigram_word *words;
    bbpe_unigram_node *nodes;
    size_t node_count;
} walker;

/* Room for so many nodes; those that are there keep what they hold. */
static bool make_room(walker *self, size_t nodes) {
    const bool is_new = self->scratch->memory == NULL;
    const size_t words = self->has_words ? BBPE_UNIGRAM_WORDS * sizeof *self->words : 0;
    if (nodes > (SIZE_MAX - HEAD - words) / sizeof *self->nodes) return false;
    uint8_t *memory = bbpe_model_scratch_room(self->scratch, HEAD + words + nodes * sizeof *self->nodes, 1);
    if (memory == NULL) return false;
    if (is_new) memset(memory, 0, HEAD);
    self->words = (bbpe_unigram_word *)(void *)(memory + HEAD);
    self->nodes = (bbpe_unigram_node *)(void *)(memory + HEAD + words);
    self->node_count = (self->scratch->capacity - HEAD - words) / sizeof *self->nodes;
    return true;
}

/* Begin a text of n bytes. */
static bool begin(walker *self, size_t n, size_t room) {
    head state = {0, false};
    if (self->scratch->memory != NULL) memcpy(&state, self->scratch->memory, sizeof state);
    state.seen += n;
    self->has_words = self->model->has_words && state.seen >= WORTH;
    if (!make_room(self, room)) return false;
    if (self->has_words && !state.has_words) memset(self->words, 0, BBPE_UNIGRAM_WORDS * sizeof *self->words);
    state.has_words = self->has_words;
    memcpy(self->scratch->memory, &state, sizeof state);
    self->nodes[0].sum = 0;
    return true;
}

/* The tokens of a word at a closed node, of which 16 bytes may be read, if it is one that is known; 0 if not. */
BBPE_INLINE size_t write_word(walker *self, const uint8_t *text, uint32_t **ids) {
    uint64_t lo, hi;
    size_t n;
    if (!bbpe_unigram_word_key(text, &lo, &hi, &n)) return 0;
    bbpe_unigram_word *word = self->words + (bbpe_hash_two(lo, hi) & (BBPE_UNIGRAM_WORDS - 1));
    if (BBPE_UNLIKELY(word->lo != lo || word->hi != hi)) {
        if (word->kept > 0) {
            word->kept--;
            return 0;
        }
        bbpe_unigram_word_learn(word, self->model, text, n);
        word->lo = lo;
        word->hi = hi;
    }
    word->kept = BBPE_UNIGRAM_WORD_KEPT;
    if (word->count == 0) return 0;
    float sum = (float)self->nodes[0].sum;
    for (uint32_t i = 0; i < word->count; i++) {
        sum += word->scores[i];
        *(*ids)++ = word->ids[i];
    }
    self->nodes[0].sum = (double)sum;
    return n;
}

/* Take a sum that is too large for floats away from all nodes that can still be reached. */
static void rebase(bbpe_unigram_node *nodes, size_t reach) {
    const double by = nodes[0].sum;
    for (size_t i = 0; i <= reach; i++) nodes[i].sum = (double)(float)(nodes[i].sum - by);
}

/* The ids of n >= 1 bytes, at most n of them; bytes that are not UTF-8 are characters of their own. */
BBPE_INLINE bbpe_status encode(const bbpe_unigram *self, bbpe_model_scratch *scratch, const uint8_t *text, size_t n,
                               uint32_t *ids, size_t *count, bool is_float) {
    walker walk = {self, scratch, false, NULL, NULL, 0};
    size_t closed = 0, at = 0, reach = 0; /* both behind `closed` */
    const size_t room = (self->longest > 4 ? self->longest : 4) + 1;
    uint32_t *out = ids;
    if (!begin(&walk, n, room)) return BBPE_NO_MEMORY;
    while (closed + at < n) {
        if (BBPE_UNLIKELY(walk.node_count < at + room) && !make_room(&walk, at + room)) return BBPE_NO_MEMORY;
        const uint8_t *here = text + closed + at;
        const size_t left = n - closed - at;
        bbpe_unigram_node *node = walk.nodes + at;
        if (is_float && at == 0 && walk.has_words && *here == ' ' && left >= 16 && fabs(node->sum) < SAFE) {
            const size_t length = write_word(&walk, here, &out);
            closed += length;
            if (length > 0) continue;
        }
        if (is_float && BBPE_UNLIKELY(fabs(node->sum) > BEYOND)) rebase(node, reach - at);
        const size_t character = character_length(here, left);
        reach = at + leave(self, node, here, left, character, reach - at, is_float);
        at += character;
        if (at < reach) continue;
        uint32_t *end = write_path(self, walk.nodes, text + closed, at, out);
        out = settle(self, out, end, out > ids && out[-1] == self->unknown);
        walk.nodes[0].sum = walk.nodes[at].sum;
        closed += at;
        at = reach = 0;
    }
    *count = (size_t)(out - ids);
    return BBPE_OK;
}

static bbpe_status encode_float(const void *self, bbpe_model_scratch *scratch, const uint8_t *text, size_t n,
                                uint32_t *ids, size_t *count) {
    return encode(self, scratch, text, n, ids, count, true);
}

static bbpe_status encode_double(const void *self, bbpe_model_scratch *scratch, const uint8_t *text, size_t n,
                                 uint32_t *ids, size_t *count) {
    return encode(self, scratch, text, n, ids, count, false);
}

bbpe_model bbpe_unigram_view(const bbpe_unigram *self) {
    return (bbpe_model){NULL, self, self->is_float ? encode_float : encode_double, NULL, 0};
}
