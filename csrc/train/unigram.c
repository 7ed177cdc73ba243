/* Lattices of pretokens, one at a time. */
#include "train/unigram.h"

#include <math.h>

#include "memory/memory.h"
#include "base/utf8.h"

enum { LONGEST = BBPE_UNIGRAM_TRAIN_LONGEST };

typedef struct {
    uint32_t number; /* BBPE_TRIE_NONE: an unknown character */
    uint16_t start, end;
    double score;    /* then what it is multiplied with */
} edge;

typedef struct {
    const bbpe_unigram *model;
    edge *edges; /* of a pretoken, by where they begin */
    size_t count, capacity;
    double best[LONGEST + 1], forward[LONGEST + 1], backward[LONGEST + 1], powers[LONGEST + 1];
    uint32_t last[LONGEST + 1]; /* the edge that ends there on the best path */
} lattice;

static lattice *lattice_new(const bbpe_unigram *model) {
    lattice *self = bbpe_memory_zeroed(1, sizeof *self);
    if (self == NULL) return NULL;
    self->model = model;
    return self;
}

static void lattice_free(lattice *self) {
    if (self != NULL) bbpe_memory_free(self->edges);
    bbpe_memory_free(self);
}

/* Add an edge to those for which there is room. */
BBPE_INLINE void connect(lattice *self, size_t start, size_t end, uint32_t number, double score) {
    self->edges[self->count] = (edge){number, (uint16_t)start, (uint16_t)end, score};
    const double sum = self->best[start] + score;
    if (sum > self->best[end]) {
        self->best[end] = sum;
        self->last[end] = (uint32_t)self->count;
    }
    self->count++;
}

/* All edges of a stretch of text and the best path, without the token `left_out`; false without memory. */
static bool fill(lattice *self, const uint8_t *text, size_t n, uint32_t left_out) {
    const bbpe_unigram *model = self->model;
    self->count = 0;
    self->best[0] = 0;
    for (size_t i = 1; i <= n; i++) self->best[i] = -INFINITY;
    for (size_t at = 0, next; at < n; at = next) {
        bool has_single = false;
        uint64_t slot = model->trie.slots[0];
        if (!bbpe_memory_grow(&self->edges, &self->capacity, self->count + n - at + 1, sizeof *self->edges))
            return false;
        bbpe_utf8_decode(text, at, n, &next);
        for (size_t i = at; i < n; i++) {
            slot = model->trie.slots[bbpe_trie_base(slot) ^ text[i]];
            if ((slot & (2 * BBPE_TRIE_EMPTY - 1)) != text[i]) break;
            const uint32_t number = bbpe_trie_id(slot);
            if (number == BBPE_TRIE_NONE || number == left_out) continue;
            connect(self, at, i + 1, number, model->pieces[number].score);
            has_single |= i + 1 == next;
        }
        if (!has_single) connect(self, at, next, BBPE_TRIE_NONE, model->unknown_score);
    }
    return true;
}

/* Where a stretch that begins at `start` ends: a pretoken's end, or a character's before it is too long. */
static size_t stretch_end(const uint8_t *data, size_t start, size_t end) {
    if (end - start <= LONGEST) return end;
    size_t cut = start + LONGEST;
    while (cut > start + LONGEST - 4 && bbpe_utf8_is_tail(data[cut])) cut--;
    return cut;
}

/* The powers of e to c for as many bytes as an edge can have. */
static void set_powers(lattice *self, double c, size_t n) {
    const size_t most = self->model->longest > 4 ? self->model->longest : 4, count = most < n ? most : n;
    const double base = exp(c);
    self->powers[0] = 1;
    for (size_t i = 1; i <= count; i++) self->powers[i] = self->powers[i - 1] * base;
}

/* Forward, then backward; edges of the same start follow each other. */
static double expect(lattice *self, size_t n, double times, const double *probabilities, double unknown,
                     double *expected) {
    const double c = -self->best[n] / (double)n;
    double *forward = self->forward, *backward = self->backward;
    set_powers(self, c, n);
    for (size_t i = 0; i <= n; i++) forward[i] = backward[i] = 0;
    forward[0] = backward[n] = 1;
    for (edge *e = self->edges; e < self->edges + self->count; e++) {
        const double p = e->number == BBPE_TRIE_NONE ? unknown : probabilities[e->number];
        e->score = p * self->powers[e->end - e->start];
        forward[e->end] += forward[e->start] * e->score;
    }
    const double share = times / forward[n];
    for (edge *e = self->edges + self->count; e-- > self->edges;) {
        const double way = e->score * backward[e->end];
        backward[e->start] += way;
        if (e->number != BBPE_TRIE_NONE) expected[e->number] += forward[e->start] * way * share;
    }
    return times * (log(forward[n]) - c * (double)n);
}

/* The stretches of pretokens [word, end), one after another. */
typedef struct {
    const bbpe_unigram_corpus *corpus;
    size_t word, end, at;
    bbpe_status status;
} stretches;

static stretches stretches_of(const bbpe_unigram_corpus *corpus, size_t first, size_t end, const lattice *paths) {
    const size_t at = first < end ? (size_t)corpus->offsets[first] : 0;
    return (stretches){corpus, first, end, at, paths == NULL ? BBPE_NO_MEMORY : BBPE_OK};
}

/* Put the next stretch, one of pretoken `word`, into the lattice and return its length, 0 in the end. */
static size_t fill_next(stretches *self, lattice *paths) {
    const bbpe_unigram_corpus *corpus = self->corpus;
    if (self->status != BBPE_OK) return 0;
    while (self->word < self->end && self->at == (size_t)corpus->offsets[self->word + 1]) self->word++;
    if (self->word == self->end) return 0;
    const size_t n = stretch_end(corpus->data, self->at, (size_t)corpus->offsets[self->word + 1]) - self->at;
    if (!fill(paths, corpus->data + self->at, n, BBPE_TRIE_NONE)) {
        self->status = BBPE_NO_MEMORY;
        return 0;
    }
    self->at += n;
    return n;
}

bbpe_status bbpe_unigram_train_expect(const bbpe_unigram *model, const bbpe_unigram_corpus *corpus, size_t first,
                                      size_t end, const double *probabilities, double *expected, double *likelihood) {
    lattice *paths = lattice_new(model);
    const double unknown = exp(model->unknown_score);
    stretches texts = stretches_of(corpus, first, end, paths);
    for (size_t n; (n = fill_next(&texts, paths)) > 0;)
        *likelihood += expect(paths, n, (double)corpus->counts[texts.word], probabilities, unknown, expected);
    lattice_free(paths);
    return texts.status;
}

bbpe_status bbpe_unigram_train_count(const bbpe_unigram *model, const bbpe_unigram_corpus *corpus, size_t first,
                                     size_t end, double *times) {
    lattice *paths = lattice_new(model);
    stretches texts = stretches_of(corpus, first, end, paths);
    for (size_t n; (n = fill_next(&texts, paths)) > 0;) {
        for (size_t at = n; at > 0; at = paths->edges[paths->last[at]].start) {
            const uint32_t number = paths->edges[paths->last[at]].number;
            if (number != BBPE_TRIE_NONE) times[number] += (double)corpus->counts[texts.word];
        }
    }
    lattice_free(paths);
    return texts.status;
}

/* The loss without a token, whose best other path is in `paths`. */
static double loss_of(const lattice *paths, const double *times, double total, uint32_t number, size_t n) {
    double tokens = 0, other = 0;
    for (size_t at = n; at > 0; at = paths->edges[paths->last[at]].start) {
        const uint32_t part = paths->edges[paths->last[at]].number;
        if (part == BBPE_TRIE_NONE) return INFINITY;
        other += log(times[part] + times[number]);
        tokens++;
    }
    /* without it each of its places has so many tokens more */
    other -= tokens * log(total + times[number] * (tokens - 1));
    return times[number] / total * (log(times[number]) - log(total) - other);
}

bbpe_status bbpe_unigram_train_losses(const bbpe_unigram *model, const double *times, double total, size_t first,
                                      size_t end, double *losses) {
    lattice *paths = lattice_new(model);
    bbpe_status status = paths == NULL ? BBPE_NO_MEMORY : BBPE_OK;
    for (size_t i = first; i < end && status == BBPE_OK; i++) {
        const bbpe_pretoken_entry *token = model->tokens.entries + i;
        const size_t n = token->length;
        size_t character;
        bbpe_utf8_decode(model->tokens.arena + token->start, 0, n, &character);
        losses[i - first] = INFINITY;
        if (character == n || n > LONGEST) continue;
        if (!fill(paths, model->tokens.arena + token->start, n, (uint32_t)i)) status = BBPE_NO_MEMORY;
        else if (times[i] == 0 || paths->best[n] > model->pieces[i].score) losses[i - first] = -INFINITY;
        else losses[i - first] = loss_of(paths, times, total, (uint32_t)i, n);
    }
    lattice_free(paths);
    return status;
}
