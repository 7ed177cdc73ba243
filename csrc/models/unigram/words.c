/* The best path of a word and how much better it is than any other, in exact enough sums. */
#include "models/unigram/words.h"

#include <math.h>

#include "base/utf8.h"

enum { FAR = 1000 };

typedef struct {
    uint8_t start, end;
    uint32_t number;
} edge;

typedef struct {
    edge edges[BBPE_UNIGRAM_WORD * (BBPE_UNIGRAM_WORD + 1) / 2];
    size_t count;
    double forward[BBPE_UNIGRAM_WORD + 1], backward[BBPE_UNIGRAM_WORD + 1]; /* the best sums up to a node and from it */
    uint8_t last[BBPE_UNIGRAM_WORD + 1];                                 /* the edge that ends there best */
} lattice;

/* All tokens in a word, by where they begin; false if a character is unknown. */
static bool fill(lattice *self, const bbpe_unigram *model, const uint8_t *word, size_t n) {
    self->count = 0;
    for (size_t at = 0, next; at < n; at = next) {
        bool has_single = false;
        uint64_t slot = model->trie.slots[0];
        bbpe_utf8_decode(word, at, n, &next);
        for (size_t i = at; i < n; i++) {
            slot = model->trie.slots[bbpe_trie_base(slot) ^ word[i]];
            if ((slot & (2 * BBPE_TRIE_EMPTY - 1)) != word[i]) break;
            if (bbpe_trie_id(slot) == BBPE_TRIE_NONE) continue;
            self->edges[self->count++] = (edge){(uint8_t)at, (uint8_t)(i + 1), bbpe_trie_id(slot)};
            has_single |= i + 1 == next;
        }
        if (!has_single) return false;
    }
    return true;
}

static void sum_up(lattice *self, const bbpe_unigram *model, size_t n) {
    for (size_t i = 0; i <= n; i++) self->forward[i] = self->backward[i] = -INFINITY;
    self->forward[0] = self->backward[n] = 0;
    for (size_t i = 0; i < self->count; i++) {
        const edge *e = self->edges + i;
        const double sum = self->forward[e->start] + model->pieces[e->number].score;
        if (!(sum > self->forward[e->end])) continue;
        self->forward[e->end] = sum;
        self->last[e->end] = (uint8_t)i;
    }
    for (size_t i = self->count; i-- > 0;) {
        const edge *e = self->edges + i;
        const double sum = self->backward[e->end] + model->pieces[e->number].score;
        if (sum > self->backward[e->start]) self->backward[e->start] = sum;
    }
}

void bbpe_unigram_word_learn(bbpe_unigram_word *self, const bbpe_unigram *model, const uint8_t *word, size_t n) {
    lattice paths;
    bool is_best[sizeof paths.edges / sizeof *paths.edges] = {false};
    self->below = 0;
    BBPE_ASSERT(n >= 1 && n <= BBPE_UNIGRAM_WORD && word[0] == ' ');
    if (word[n - 1] <= ' ' || !fill(&paths, model, word, n)) return; /* of one blank, too: the next may belong to it */
    sum_up(&paths, model, n);
    size_t tokens = 0;
    double far = 0; /* how much a sum can change within the word */
    for (size_t end = n; end > 0; end = paths.edges[paths.last[end]].start, tokens++) {
        is_best[paths.last[end]] = true;
        far += fabs(model->pieces[paths.edges[paths.last[end]].number].score);
    }
    double second = -INFINITY; /* of the paths that have a token which the best one has not */
    for (size_t i = 0; i < paths.count; i++) {
        const edge *e = paths.edges + i;
        const double sum = paths.forward[e->start] + model->pieces[e->number].score + paths.backward[e->end];
        if (!is_best[i] && sum > second) second = sum;
    }
    if (tokens > BBPE_UNIGRAM_WORD_TOKENS || far > FAR) return;
    /* of a sum, what roundings can make of it, twice */
    const double off = (double)(n + tokens + 2) / (1 << 23), below = (paths.forward[n] - second) / off - FAR;
    self->below = (float)(below < BBPE_UNIGRAM_WORD_SAFE ? fmax(below, 0) : BBPE_UNIGRAM_WORD_SAFE);
    self->count = (uint16_t)tokens;
    for (size_t end = n; end > 0; end = paths.edges[paths.last[end]].start) {
        const bbpe_unigram_piece *piece = model->pieces + paths.edges[paths.last[end]].number;
        self->ids[--tokens] = piece->id;
        self->scores[tokens] = (float)piece->score;
    }
}
