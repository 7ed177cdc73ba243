/* Both over all edges of a text, by where they begin. */
#include "models/unigram/nbest.h"

#include <math.h>

#include "base/random.h"
#include "memory/memory.h"
#include "base/utf8.h"

typedef struct {
    size_t start, end;
    uint32_t last; /* as in a node */
} edge;

typedef struct {
    edge *edges;
    size_t count, capacity;
} lattice;

static bool fill(lattice *self, const bbpe_unigram *model, const uint8_t *text, size_t n) {
    const size_t longest = model->longest > 4 ? model->longest : 4;
    for (size_t at = 0, next; at < n; at = next) {
        bool has_single = false;
        uint64_t slot = model->trie.slots[0];
        if (!bbpe_memory_grow(&self->edges, &self->capacity, self->count + longest + 1, sizeof *self->edges))
            return false;
        edge *const edges = self->edges;
        bbpe_utf8_decode(text, at, n, &next);
        for (size_t i = at; i < n; i++) {
            slot = model->trie.slots[bbpe_trie_base(slot) ^ text[i]];
            if ((slot & (2 * BBPE_TRIE_EMPTY - 1)) != text[i]) break;
            if (bbpe_trie_id(slot) == BBPE_TRIE_NONE) continue;
            edges[self->count++] = (edge){at, i + 1, bbpe_trie_id(slot)};
            has_single |= i + 1 == next;
        }
        if (!has_single) edges[self->count++] = (edge){at, next, BBPE_UNIGRAM_UNKNOWN};
    }
    return true;
}

static double score_of(const bbpe_unigram *model, const edge *e) {
    return e->last == BBPE_UNIGRAM_UNKNOWN ? model->unknown_score : model->pieces[e->last].score;
}

static uint32_t *put_back(const bbpe_unigram *model, const uint8_t *text, const edge *e, uint32_t *ids) {
    return bbpe_unigram_put_back(model, e->last, text + e->start, e->end - e->start, ids);
}

static bool reserve(bbpe_unigram_nbest *self, size_t n, size_t most) {
    if (n > 0 && most > SIZE_MAX / n) return false;
    self->ids = bbpe_memory_new(n * most, sizeof *self->ids);
    self->ends = bbpe_memory_new(most, sizeof *self->ends);
    self->sums = bbpe_memory_new(most, sizeof *self->sums);
    return self->ids != NULL && self->ends != NULL && self->sums != NULL;
}

/* One of the best ways to a node: through an edge from the `rank`-th best way to where that begins. */
typedef struct {
    double sum;
    uint32_t rank;
    size_t edge;
} way;

typedef struct {
    way *ways;     /* `most` a node, the best first */
    size_t *counts;
    size_t most;
} beam;

static void offer(beam *self, size_t node, way offered) {
    way *ways = self->ways + node * self->most;
    size_t at = self->counts[node];
    if (at == self->most) {
        if (!(offered.sum > ways[at - 1].sum)) return;
        at--;
    } else {
        self->counts[node]++;
    }
    for (; at > 0 && offered.sum > ways[at - 1].sum; at--) ways[at] = ways[at - 1];
    ways[at] = offered;
}

static void fill_beam(beam *self, const bbpe_unigram *model, const lattice *paths) {
    self->ways[0].sum = 0;
    self->counts[0] = 1;
    for (size_t i = 0; i < paths->count; i++) {
        const edge *e = paths->edges + i;
        for (size_t rank = 0; rank < self->counts[e->start]; rank++) {
            const double sum = self->ways[e->start * self->most + rank].sum + score_of(model, e);
            offer(self, e->end, (way){sum, (uint32_t)rank, i});
        }
    }
}

bbpe_status bbpe_unigram_nbest_best(bbpe_unigram_nbest *self, const bbpe_unigram *model, const uint8_t *text, size_t n,
                                   size_t most) {
    lattice paths = {NULL, 0, 0};
    bbpe_status status = BBPE_NO_MEMORY;
    BBPE_ASSERT(most >= 1 && self->ids == NULL && self->count == 0);
    if (most >= UINT32_MAX || n >= SIZE_MAX / (most + 1) - 1) return BBPE_TOO_LARGE;
    beam ranked = {bbpe_memory_new((n + 1) * most, sizeof(way)), bbpe_memory_zeroed(n + 1, sizeof(size_t)), most};
    if (ranked.ways && ranked.counts && fill(&paths, model, text, n) && reserve(self, n, most)) {
        uint32_t *ids = self->ids;
        fill_beam(&ranked, model, &paths);
        for (size_t i = 0; i < ranked.counts[n]; i++) {
            uint32_t *first = ids;
            size_t node = n, rank = i;
            while (node > 0) {
                const way *at = ranked.ways + node * most + rank;
                ids = put_back(model, text, paths.edges + at->edge, ids);
                node = paths.edges[at->edge].start;
                rank = at->rank;
            }
            ids = bbpe_unigram_spell(model, first, bbpe_unigram_put_in_order(model, first, ids, false));
            self->ends[self->count] = (size_t)(ids - self->ids);
            self->sums[self->count++] = ranked.ways[n * most + i].sum;
        }
        status = BBPE_OK;
    }
    bbpe_memory_free(ranked.ways);
    bbpe_memory_free(ranked.counts);
    bbpe_memory_free(paths.edges);
    return status;
}

/* A number from 0 to less than 1, a multiple of 2^-53. */
static double draw(uint64_t *state) {
    return (double)(bbpe_random_next(state) >> 11) / 9007199254740992.0;
}

/* Forward: the logarithm of the sum over all ways to each node, and the edges that end there as a list. */
static void sum_up(const lattice *paths, const bbpe_unigram *model, size_t n, double alpha, double *sums, size_t *ending,
                   size_t *others) {
    for (size_t i = 0; i <= n; i++) {
        sums[i] = -INFINITY;
        ending[i] = SIZE_MAX;
    }
    sums[0] = 0;
    for (size_t i = 0; i < paths->count; i++) {
        const edge *e = paths->edges + i;
        const double a = sums[e->end], b = sums[e->start] + alpha * score_of(model, e);
        sums[e->end] = a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
        others[i] = ending[e->end];
        ending[e->end] = i;
    }
}

bbpe_status bbpe_unigram_nbest_draw(bbpe_unigram_nbest *self, const bbpe_unigram *model, const uint8_t *text, size_t n,
                                   double alpha, uint64_t *state) {
    lattice paths = {NULL, 0, 0};
    BBPE_ASSERT(self->ids == NULL && self->count == 0);
    if (!fill(&paths, model, text, n) || !reserve(self, n, 1)) {
        bbpe_memory_free(paths.edges);
        return BBPE_NO_MEMORY;
    }
    double *sums = bbpe_memory_new(n + 1, sizeof *sums);
    size_t *ending = bbpe_memory_new(n + 1, sizeof *ending), *others = bbpe_memory_new(paths.count, sizeof *others);
    const bool has_memory = sums != NULL && ending != NULL && others != NULL;
    if (has_memory) {
        uint32_t *ids = self->ids;
        self->sums[0] = 0;
        sum_up(&paths, model, n, alpha, sums, ending, others);
        for (size_t node = n; node > 0;) {
            double left = draw(state);
            size_t chosen = ending[node];
            for (size_t i = chosen; i != SIZE_MAX && left >= 0; i = others[i]) {
                chosen = i; /* the last one if rounding leaves something */
                left -= exp(sums[paths.edges[i].start] + alpha * score_of(model, paths.edges + i) - sums[node]);
            }
            ids = put_back(model, text, paths.edges + chosen, ids);
            self->sums[0] += score_of(model, paths.edges + chosen);
            node = paths.edges[chosen].start;
        }
        ids = bbpe_unigram_put_in_order(model, self->ids, ids, false);
        self->ends[0] = (size_t)(bbpe_unigram_spell(model, self->ids, ids) - self->ids);
        self->count = 1;
    }
    bbpe_memory_free(sums);
    bbpe_memory_free(ending);
    bbpe_memory_free(others);
    bbpe_memory_free(paths.edges);
    return has_memory ? BBPE_OK : BBPE_NO_MEMORY;
}

void bbpe_unigram_nbest_free(bbpe_unigram_nbest *self) {
    bbpe_memory_free(self->ids);
    bbpe_memory_free(self->ends);
    bbpe_memory_free(self->sums);
    memset(self, 0, sizeof *self);
}
