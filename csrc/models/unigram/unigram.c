/* Viterbi over the trie: nodes filled from left to right, written and used again where no token crosses. */
#include "models/unigram/model.h"

#include <math.h>

#include "memory/memory.h"
#include "models/unigram/words.h"
#include "base/utf8.h"

enum { HEAD = 64, SLACK = 5, WORTH = 1 << 14 }; /* bytes; of text before which a table of words is not worth its memory */

/* Bytes: of a stretch that is worth writing, as at each closed node a branch is mispredicted (95 ms instead of 82 on
 * Japanese), and to the character whose slots are fetched. */
enum { STRETCH = 300, AHEAD = 18 };

enum { LABEL = 2 * BBPE_TRIE_EMPTY - 1 }; /* the bits of a slot that are its label */

static const double BEYOND = 100000;

/* Number the tokens, which are the ids of the trie. */
static bbpe_status list_pieces(bbpe_unigram *self, const double *scores) {
    self->pieces = bbpe_memory_new(self->tokens.count, sizeof *self->pieces);
    self->piece_count = self->tokens.count;
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

bbpe_status bbpe_unigram_add_runs(bbpe_unigram *self, bbpe_pretoken_table *tokens) {
    const uint64_t flag = (uint64_t)1 << 32;
    uint64_t most = 0;
    BBPE_ASSERT(self->runs.slots == NULL && self->has_some_byte_ids);
    for (size_t i = 0; i < tokens->count; i++) {
        if (tokens->entries[i].value > most) most = tokens->entries[i].value;
        tokens->entries[i].value |= flag;
    }
    self->run_ids = (size_t)most + 1;
    return bbpe_trie_init(&self->runs, tokens, flag, self->run_ids);
}

bbpe_status bbpe_unigram_prepare(bbpe_unigram *self) {
    const bbpe_status status = bbpe_steps_init(&self->steps, &self->tokens);
    if (status != BBPE_OK) return status;
    bbpe_pretoken_table_free(&self->tokens);
    if (self->steps.slots == NULL) return BBPE_OK;
    for (size_t i = 0; i <= self->steps.mask; i++) {
        bbpe_step *step = self->steps.slots + i;
        const uint32_t number = bbpe_steps_number(step);
        if (step->key != 0 && number != BBPE_STEPS_NONE) step->score = (float)self->pieces[number].score;
    }
    return BBPE_OK;
}

void bbpe_unigram_free(bbpe_unigram *self) {
    bbpe_pretoken_table_free(&self->tokens);
    bbpe_trie_free(&self->trie);
    bbpe_trie_free(&self->runs);
    bbpe_memory_free(self->pieces);
    bbpe_steps_free(&self->steps);
    memset(self, 0, sizeof *self);
}

static BBPE_NOINLINE size_t rare_length(const uint8_t *text, size_t n) {
    size_t next;
    bbpe_utf8_decode(text, 0, n, &next);
    return next;
}

/* The first four bytes, the first one lowest; zeros after the end. */
BBPE_INLINE uint32_t first_bytes(const uint8_t *text, size_t n) {
    uint32_t bytes = 0;
    if (BBPE_LIKELY(n >= 4)) memcpy(&bytes, text, 4);
    else
        for (size_t i = 0; i < n; i++) bytes |= (uint32_t)text[i] << (8 * i);
    return bytes;
}

/* How many bytes the character at text[0..n) has, by the first four.  Decoded byte by byte in line, bytes are kept in
 * memory and read again as words, which takes half as long again on Japanese. */
BBPE_INLINE size_t character_length(uint32_t bytes, const uint8_t *text, size_t n) {
    if ((bytes & 0x80) == 0) return 1;
    if (BBPE_LIKELY(bbpe_utf8_begins_3byte(bytes) && (bytes & 0xF) != 0 && (bytes & 0xF) != 0xD)) return 3;
    if (BBPE_LIKELY((bytes & 0xC0E0) == 0x80C0 && (bytes & 0x1E) != 0)) return 2;
    return rare_length(text, n);
}

BBPE_INLINE double sum_at(const void *nodes, size_t i, bool is_float) {
    return is_float ? (double)((const bbpe_unigram_float_node *)nodes)[i].sum
                    : ((const bbpe_unigram_node *)nodes)[i].sum;
}

BBPE_INLINE void set_sum(void *nodes, size_t i, double sum, bool is_float) {
    if (is_float) ((bbpe_unigram_float_node *)nodes)[i].sum = (float)sum;
    else ((bbpe_unigram_node *)nodes)[i].sum = sum;
}

BBPE_INLINE uint32_t last_at(const void *nodes, size_t i, bool is_float) {
    return is_float ? ((const bbpe_unigram_float_node *)nodes)[i].last : ((const bbpe_unigram_node *)nodes)[i].last;
}

BBPE_INLINE size_t length_at(const void *nodes, size_t i, bool is_float) {
    return is_float ? ((const bbpe_unigram_float_node *)nodes)[i].length : ((const bbpe_unigram_node *)nodes)[i].length;
}

BBPE_INLINE size_t node_size(bool is_float) {
    return is_float ? sizeof(bbpe_unigram_float_node) : sizeof(bbpe_unigram_node);
}

/* The tokens on the best path from a closed node to one that is `end` bytes after, the last one first. */
BBPE_INLINE uint32_t *write_path(const bbpe_unigram *self, const void *nodes, const uint8_t *text, size_t end,
                                 uint32_t *ids, bool is_float) {
    while (end > 0) {
        const size_t length = length_at(nodes, end, is_float);
        ids = bbpe_unigram_put_back(self, last_at(nodes, end, is_float), text + end - length, length, ids);
        end -= length;
    }
    return ids;
}

uint32_t *bbpe_unigram_put_in_order(const bbpe_unigram *self, uint32_t *first, uint32_t *end, bool after_unknown) {
    for (uint32_t *a = first, *b = end; a + 1 < b; a++) {
        const uint32_t id = *a;
        *a = *--b;
        *b = id;
    }
    if (self->has_byte_ids || self->has_some_byte_ids) return end;
    uint32_t *out = first;
    for (const uint32_t *id = first; id < end; id++) {
        const bool is_unknown = *id == self->unknown;
        if (!(is_unknown && (after_unknown || self->unknown == BBPE_UNIGRAM_NO_ID))) *out++ = *id;
        after_unknown = is_unknown;
    }
    return out;
}

/* The id that a trie has for a run of unknown bytes, or BBPE_TRIE_NONE. */
static uint32_t find_run(const bbpe_trie *trie, const uint32_t *run, const uint32_t *stop) {
    uint64_t slot = trie->slots[0];
    for (; run < stop; run++) {
        slot = trie->slots[bbpe_trie_base(slot) ^ (*run & 0xFF)];
        if ((slot & LABEL) != (*run & 0xFF)) return BBPE_TRIE_NONE;
    }
    return bbpe_trie_id(slot);
}

/* The id of a token that is a run of unknown bytes, or BBPE_UNIGRAM_NO_ID. */
static uint32_t token_of_run(const bbpe_unigram *self, const uint32_t *run, const uint32_t *stop) {
    uint32_t found = find_run(&self->trie, run, stop);
    if (found != BBPE_TRIE_NONE) return self->pieces[found].id;
    if (self->runs.slots == NULL) return BBPE_UNIGRAM_NO_ID;
    found = find_run(&self->runs, run, stop);
    return found == BBPE_TRIE_NONE ? BBPE_UNIGRAM_NO_ID : found;
}

/* The id that is written for a token. */
BBPE_INLINE uint32_t named_id(const bbpe_unigram *self, uint32_t id) { return id < self->named ? id : self->unknown; }

uint32_t *bbpe_unigram_spell(const bbpe_unigram *self, uint32_t *first, uint32_t *end) {
    uint32_t *out = first;
    if (!self->has_some_byte_ids) return end;
    for (const uint32_t *id = first, *stop; id < end; id = stop) {
        bool is_spelled = true;
        uint32_t token;
        for (stop = id; stop < end && *stop >= BBPE_UNIGRAM_BYTE; stop++)
            is_spelled = is_spelled && self->byte_ids[*stop & 0xFF] != BBPE_UNIGRAM_NO_ID;
        if (stop == id) *out++ = named_id(self, *stop++);
        else if ((token = token_of_run(self, id, stop)) != BBPE_UNIGRAM_NO_ID) *out++ = named_id(self, token);
        else if (is_spelled) for (; id < stop; id++) *out++ = self->byte_ids[*id & 0xFF];
        else if (self->unknown != BBPE_UNIGRAM_NO_ID) *out++ = self->unknown;
    }
    return out;
}

/* Let a path from nodes[0] end in nodes[i], if it is better than the one that does.  After nodes[reach] none does, which
 * tells beforehand how the comparison ends; of nodes that are passed over, characters of `stride` bytes apart, none does
 * yet.  Returns how far paths reach then.  The sum of two floats is the same whether it is rounded once or was a double
 * before. */
BBPE_INLINE size_t offer(void *nodes, size_t i, double score, uint32_t last, size_t reach, size_t stride,
                         bool is_float) {
    if (is_float) {
        bbpe_unigram_float_node *from = nodes, *to = from + i;
        const bbpe_unigram_float_node offered = {(float)score + from->sum, last, (uint32_t)i};
        if (i > reach) {
            for (size_t k = i - stride; k > reach; k -= stride) set_sum(nodes, k, -INFINITY, is_float);
            *to = offered;
            return i;
        }
        if (offered.sum > to->sum) *to = offered;
    } else {
        bbpe_unigram_node *from = nodes, *to = from + i;
        const bbpe_unigram_node offered = {score + from->sum, last, (uint32_t)i};
        if (i > reach) {
            for (size_t k = i - stride; k > reach; k -= stride) set_sum(nodes, k, -INFINITY, is_float);
            *to = offered;
            return i;
        }
        if (offered.sum > to->sum) *to = offered;
    }
    return reach;
}

/* The tokens that text[0..n) begins with and that have more than `i` bytes, whose walk is at `slot`; the character
 * is unknown if it is no token.  Returns how far paths reach. */
BBPE_INLINE size_t leave_by_bytes(const bbpe_unigram *self, void *nodes, const uint8_t *text, size_t n, uint64_t slot,
                                  size_t i, size_t character, size_t reach, bool has_single, bool is_float) {
    for (; i < n; i++) {
        slot = self->trie.slots[bbpe_trie_base(slot) ^ text[i]];
        if ((slot & LABEL) != text[i]) break;
        const uint32_t number = bbpe_trie_id(slot);
        if (number == BBPE_TRIE_NONE) continue;
        reach = offer(nodes, i + 1, self->pieces[number].score, number, reach, 1, is_float);
        has_single |= i + 1 == character;
    }
    if (BBPE_LIKELY(has_single)) return reach;
    return offer(nodes, character, self->unknown_score, BBPE_UNIGRAM_UNKNOWN, reach, character, is_float);
}

/* Edges of tokens that continue with anything but a character of three bytes after the first `i` bytes, which are such
 * characters. */
static BBPE_NOINLINE size_t leave_from(const bbpe_unigram *self, void *nodes, const uint8_t *text, size_t n, size_t i,
                                       size_t reach, bool has_single, bool is_float) {
    uint64_t slot = self->trie.slots[0];
    for (size_t k = 0; k < i; k++) slot = self->trie.slots[bbpe_trie_base(slot) ^ text[k]];
    return leave_by_bytes(self, nodes, text, n, slot, i, 3, reach, has_single, is_float);
}

/* Fetch the slots of prefixes that end with the character that may be at `text`, of one to three characters. */
BBPE_INLINE void fetch(const bbpe_steps *steps, const uint8_t *text, uint64_t hashes[2]) {
    const uint32_t character = bbpe_steps_character(first_bytes(text, 4));
    bbpe_steps_fetch(steps, bbpe_steps_hash(hashes[1], character));
    hashes[1] = bbpe_steps_hash(hashes[0], character);
    hashes[0] = bbpe_steps_hash(0, character);
    bbpe_steps_fetch(steps, hashes[1]);
    bbpe_steps_fetch(steps, hashes[0]);
}

/* The tokens that text[0..n) begins with, where that is a character of three bytes. */
BBPE_INLINE size_t leave_by_steps(const bbpe_unigram *self, void *nodes, const uint8_t *text, size_t n, uint32_t bytes,
                                  size_t reach, bool is_float) {
    const bbpe_steps *steps = &self->steps;
    const bbpe_step *step = NULL;
    uint64_t hash = 0;
    bool has_single = false;
    for (size_t i = 0;;) {
        const uint32_t character = bbpe_steps_character(bytes);
        if (step != NULL && !(step->onward & bbpe_steps_class(character))) break;
        hash = bbpe_steps_hash(hash, character);
        step = bbpe_steps_find(steps, step, character, hash);
        if (step == NULL) break;
        const uint32_t number = bbpe_steps_number(step);
        i += 3;
        if (number != BBPE_STEPS_NONE) {
            const double score = is_float ? (double)step->score : self->pieces[number].score;
            reach = offer(nodes, i, score, number, reach, 3, is_float);
            has_single |= i == 3;
        }
        bytes = first_bytes(text + i, n - i);
        if (BBPE_LIKELY(bbpe_steps_is_character(bytes))) continue;
        if (!bbpe_steps_has_others(step)) break;
        return leave_from(self, nodes, text, n, i, reach, has_single, is_float);
    }
    if (BBPE_LIKELY(has_single)) return reach;
    return offer(nodes, 3, self->unknown_score, BBPE_UNIGRAM_UNKNOWN, reach, 3, is_float);
}

/* The memory of a thread between texts: this, then a table of words once it is worth it, then nodes. */
typedef struct {
    uint64_t seen; /* bytes of text */
    bool has_words;
} head;

typedef struct {
    const bbpe_unigram *model;
    bbpe_model_scratch *scratch;
    bool has_words;
    bbpe_unigram_word *words;
    void *nodes;
    size_t node_size, node_count;
} walker;

/* Room for so many nodes; those that are there keep what they hold. */
static bool reserve_nodes(walker *self, size_t nodes) {
    const size_t before = self->scratch->capacity;
    const size_t words = self->has_words ? BBPE_UNIGRAM_WORDS * sizeof *self->words : 0;
    if (nodes > (SIZE_MAX - HEAD - words) / self->node_size) return false;
    uint8_t *memory = bbpe_model_scratch_reserve(self->scratch, HEAD + words + nodes * self->node_size, 1);
    if (memory == NULL) return false;
    /* a token that ends within a character is compared with whatever ends there */
    if (before < self->scratch->capacity) memset(memory + before, 0, self->scratch->capacity - before);
    self->words = (bbpe_unigram_word *)(void *)(memory + HEAD);
    self->nodes = memory + HEAD + words;
    self->node_count = (self->scratch->capacity - HEAD - words) / self->node_size;
    return true;
}

/* Begin a text of n bytes. */
static bool begin(walker *self, size_t n, size_t nodes) {
    head state = {0, false};
    if (self->scratch->memory != NULL) memcpy(&state, self->scratch->memory, sizeof state);
    state.seen += n;
    self->has_words = self->model->has_words && state.seen >= WORTH;
    if (!reserve_nodes(self, nodes)) return false;
    if (self->has_words && !state.has_words) memset(self->words, 0, BBPE_UNIGRAM_WORDS * sizeof *self->words);
    state.has_words = self->has_words;
    memcpy(self->scratch->memory, &state, sizeof state);
    return true;
}

/* Take a sum that is too large for floats away from all nodes that can still be reached. */
static void rebase(bbpe_unigram_float_node *nodes, size_t reach) {
    const float by = nodes[0].sum;
    for (size_t i = 0; i <= reach; i++) nodes[i].sum -= by;
}

/* The best ways from the closed node at text[0..n), n >= 1, up to another one, `*end` bytes after: before a blank, if
 * there may be words, or one that is worth it. */
BBPE_INLINE bbpe_status walk_on(walker *self, const uint8_t *text, size_t n, size_t *end, bool is_float) {
    const size_t most_nodes = self->model->longest + SLACK, size = node_size(is_float);
    const size_t most = n < STRETCH ? n : STRETCH;
    const bool has_words = is_float && self->has_words;
    const bbpe_steps *steps = &self->model->steps;
    uint64_t hashes[2] = {0, 0};
    size_t at = 0, reach = 0;
    do {
        if (BBPE_UNLIKELY(self->node_count < at + most_nodes) && !reserve_nodes(self, at + most_nodes)) return BBPE_NO_MEMORY;
        void *node = (uint8_t *)self->nodes + at * size;
        if (is_float && BBPE_UNLIKELY(fabs(sum_at(node, 0, true)) > BEYOND)) rebase(node, reach - at);
        const uint32_t bytes = first_bytes(text + at, n - at);
        const size_t character = character_length(bytes, text + at, n - at);
        if (character == 3 && steps->slots != NULL) {
            if (BBPE_LIKELY(n - at >= AHEAD + 4)) fetch(steps, text + at + AHEAD, hashes);
            reach = at + leave_by_steps(self->model, node, text + at, n - at, bytes, reach - at, is_float);
        } else {
            reach = at + leave_by_bytes(self->model, node, text + at, n - at, self->model->trie.slots[0], 0, character,
                                        reach - at, false, is_float);
        }
        at += character;
    } while ((at < most && !(has_words && text[at] == ' ')) || at < reach);
    *end = at;
    return BBPE_OK;
}

/* The ids of n >= 1 bytes, at most n of them; bytes that are not UTF-8 are characters of their own. */
BBPE_INLINE bbpe_status encode(const bbpe_unigram *self, bbpe_model_scratch *scratch, const uint8_t *text, size_t n,
                               uint32_t *ids, size_t *count, bool is_float) {
    walker walk = {self, scratch, false, NULL, NULL, node_size(is_float), 0};
    bbpe_unigram_word_key ahead = {NULL, 0, 0, 0, 0};
    uint32_t *out = ids;
    BBPE_ASSERT(n >= 1);
    if (!begin(&walk, n, self->longest + SLACK)) return BBPE_NO_MEMORY;
    set_sum(walk.nodes, 0, 0, is_float);
    for (size_t closed = 0, length; closed < n; closed += length) {
        if (is_float && text[closed] == ' ' && walk.has_words) {
            float sum = ((bbpe_unigram_float_node *)walk.nodes)->sum;
            uint32_t *end = out;
            length = bbpe_unigram_words_write(walk.words, self, text + closed, n - closed, &ahead, &sum, &end);
            if (length > 0) {
                set_sum(walk.nodes, 0, (double)sum, true);
                out = end;
                continue;
            }
        }
        const bbpe_status status = walk_on(&walk, text + closed, n - closed, &length, is_float);
        if (status != BBPE_OK) return status;
        uint32_t *end = write_path(self, walk.nodes, text + closed, length, out, is_float);
        out = bbpe_unigram_put_in_order(self, out, end, out > ids && out[-1] == self->unknown);
        set_sum(walk.nodes, 0, sum_at(walk.nodes, length, is_float), is_float);
    }
    *count = (size_t)(bbpe_unigram_spell(self, ids, out) - ids);
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
    return (bbpe_model){.self = self, .encode = self->is_float ? encode_float : encode_double};
}
