/* Sixteen pieces merged together by vectors of four words, for processors without what another way would need: gathers that gain
 * time, and packing by a mask.  All symbols are in one row of cells, with a border before and after each piece's.  Pairs are
 * hashed four at once and asked for together; what a piece merges next is the least of a vector or three.  The rest is scalar
 * code that no symbol makes branch: the loops are over all pieces of a group.
 *
 * Includer: has words (simd/words_avx2.h, simd/words_neon.h). */
#ifndef BBPE_MODELS_BPE_MERGE_BATCH_WORDS_H
#define BBPE_MODELS_BPE_MERGE_BATCH_WORDS_H

#include "models/bpe/merge_batch.h"

#define NONE UINT32_MAX

enum {
    PLACE = 9,  /* bits of a cell's number */
    WIDTH = 8,  /* cells of a vector */
    BEHIND = 4 * WIDTH, /* cells after the last one that are read or written */
    BYTES = BBPE_MERGE_BATCH * (BBPE_MERGE_BATCH_BYTES + 1), /* with one for the border after each piece */
    CELLS = 1 + BYTES + BEHIND,
    AHEAD = 12,  /* pairs whose slots are fetched before they are compared: 1 to 4 % of merging */
    BORDER = (1 << BBPE_MERGE_TABLE_BITS) - 1, /* no symbol */
};

typedef struct {
    uint32_t symbols[CELLS];
    uint32_t pairs[CELLS];       /* what a symbol makes with the next one << PLACE | its cell; or NONE */
    uint32_t starts[BBPE_MERGE_BATCH]; /* by piece, the cell of the border before it */
    uint32_t live[BBPE_MERGE_BATCH];   /* bits: which cells from there on have a symbol, or are one of the two borders */
    int32_t last[BBPE_MERGE_BATCH];    /* its last pair; -1 where there is none */
} cells;

/* Pairs to look up that the Bloom filter does not refuse, side by side: the pair << 22 | its first slot, and the cell. */
typedef struct {
    uint64_t pairs[CELLS], cells[CELLS];
} lookups;

/* Pairs that merging makes, two a piece. */
typedef struct {
    uint32_t left[2 * BBPE_MERGE_BATCH + 2], right[2 * BBPE_MERGE_BATCH + 2], cells[2 * BBPE_MERGE_BATCH + 2];
} questions;

BBPE_INLINE bbpe_words hash_of(bbpe_words pair) {
    const uint64_t factor = bbpe_merge_table_hash(1);
    const bbpe_words low = words_each(factor & UINT32_MAX), high = words_each(factor >> 32);
    const bbpe_words cross = words_add(words_multiply(words_right(pair, 32), low), words_multiply(pair, high));
    return words_add(words_multiply(pair, low), words_left(cross, 32));
}

/* Note four pairs and their cells after `count` others; returns how many there are then. */
BBPE_INLINE size_t note(lookups *to, size_t count, const bbpe_merge_table *table, const uint32_t *left,
                        const uint32_t *right, bbpe_words at) {
    const bbpe_words first = words_of_halves(left), second = words_of_halves(right);
    const bbpe_words pair = words_or(words_left(first, BBPE_MERGE_TABLE_BITS), second), hash = hash_of(pair);
    const bbpe_words bit = words_right(hash, table->bloom_shift), low_bits = words_each(63);
    const bbpe_words next = words_right(hash, table->bloom_shift - 6);
    /* borders would wait for memory as others do: 7 ns a piece */
    const bbpe_words is_border = words_equal(words_max(first, second), words_each(BORDER));
    const bbpe_words words = words_at(table->bloom, words_but(words_right(bit, 6), is_border));
    const bbpe_words both = words_and(words_right_each(words, words_and(bit, low_bits)),
                                      words_right_each(words, words_and(next, low_bits)));
    const unsigned may = words_signs(words_left(words_but(both, is_border), 63));
    const bbpe_words home = words_and(words_right(hash, table->shift), words_each(table->mask));
    const bbpe_words key = words_left(pair, BBPE_MERGE_TABLE_BITS + 1);
    words_store(to->pairs + count, words_pack(words_or(key, home), may));
    words_store(to->cells + count, words_pack(at, may));
    return count + bbpe_bits_count(may);
}

/* Write the numbers that pairs make. */
BBPE_INLINE void look_up(const lookups *self, size_t count, const bbpe_merge_table *table, uint32_t *pairs) {
    const uint64_t below = ((uint64_t)2 << BBPE_MERGE_TABLE_BITS) - 1; /* slots are no more */
    for (size_t i = 0; i < count; i++) {
        const uint64_t pair = self->pairs[i];
        BBPE_PREFETCH(table->slots + (self->pairs[i + AHEAD] & table->mask)); /* or any of them after the last pair */
        const uint32_t made = bbpe_merge_table_find_at(table, pair & ~below, (size_t)(pair & below));
        const uint32_t cell = (uint32_t)self->cells[i];
        pairs[cell] = (made << PLACE | cell) | (0u - (uint32_t)(made == BBPE_MERGE_TABLE_NONE));
    }
}

/* The pieces while they are bytes: those of one after the other's, with a byte for the border. */
typedef struct {
    uint8_t bytes[BYTES + 32];
    uint64_t pairs[1 + BYTES + WIDTH]; /* by the first of two bytes, from the second place on: bbpe_bpe_byte_pair */
    uint16_t ends[BBPE_MERGE_BATCH];         /* by piece, the byte after its border */
    uint16_t counts[BYTES / 4 + 1];    /* by four bytes, how many symbols there are before, */
    uint8_t live[BYTES / 4 + 1];       /* and which of the four begin one */
} byte_row;

BBPE_INLINE size_t read_bytes(byte_row *self, const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        words_store(self->bytes + n, words_load(pieces + i));
        n += pieces[i].n + (size_t)1;
        self->ends[i] = (uint16_t)n;
    }
    self->pairs[0] = UINT64_MAX;
    for (size_t i = 0; i < n; i++) self->pairs[1 + i] = bbpe_bpe_byte_pair(model, self->bytes[i], self->bytes[i + 1]);
    for (size_t i = 0; i < count; i++) self->pairs[self->ends[i] - 1] = self->pairs[self->ends[i]] = UINT64_MAX;
    for (size_t i = 0; i < WIDTH; i += 4) words_store(self->pairs + 1 + n + i, words_each(UINT64_MAX));
    return n;
}

/* The bytes as symbols, and as one those two that surely merge (bbpe_bpe_is_sure). */
BBPE_INLINE void merge_sure(byte_row *self, size_t n, uint32_t *symbols) {
    const bbpe_words field = words_each(BBPE_BPE_NO_NUMBER);
    unsigned before = 0; /* whether the byte before begins such a symbol */
    size_t count = 0;
    for (size_t i = 0; i <= n; i += 4) {
        uint32_t four;
        memcpy(&four, self->bytes + i, sizeof four);
        const bbpe_words made = words_right(words_load(self->pairs + 1 + i), 2 * BBPE_MERGE_TABLE_BITS);
        const bbpe_words first = words_and(words_right(words_load(self->pairs + i), BBPE_MERGE_TABLE_BITS), field);
        const bbpe_words second = words_and(words_load(self->pairs + 2 + i), field);
        const bbpe_words is_sure = words_but(words_more(first, made), words_more(made, second));
        const unsigned sure = words_signs(is_sure), live = ~(sure << 1 | before) & 15;
        words_store_low(symbols + count, words_pack(words_merge(words_of_bytes(four), is_sure, made), live));
        self->counts[i / 4] = (uint16_t)count;
        self->live[i / 4] = (uint8_t)live;
        before = sure >> 3;
        count += bbpe_bits_count(live);
    }
}

/* The cells of the pieces, of which no pair is looked up yet; returns the cell after the last one. */
BBPE_INLINE size_t read_pieces(const bbpe_bpe *model, cells *to, const bbpe_merge_batch_piece *pieces, size_t count) {
    byte_row row;
    BBPE_DEFINE(row);
    merge_sure(&row, read_bytes(&row, model, pieces, count), to->symbols + 1);
    size_t start = 0;
    to->symbols[0] = BORDER;
    for (size_t i = 0; i < count; i++) {
        const size_t four = row.ends[i] / 4;
        const size_t end = row.counts[four] + bbpe_bits_count(bits_below(row.live[four], row.ends[i] % 4));
        to->symbols[end] = BORDER;
        to->starts[i] = (uint32_t)start;
        to->live[i] = ((uint32_t)2 << (end - start)) - 1;
        to->last[i] = (int32_t)(end - start) - 3;
        start = end;
    }
    halves_store(to->symbols + start + 1, halves_each(BORDER));
    for (size_t i = 0; i < start + BEHIND - WIDTH; i += WIDTH) halves_store(to->pairs + i, halves_each(NONE));
    return start + 1;
}

/* Look up all pairs of neighbours. */
BBPE_INLINE void look_up_neighbours(const bbpe_merge_table *table, cells *self, lookups *found, size_t end) {
    bbpe_words at = words_of_bytes(0x04030201);
    size_t count = 0;
    for (size_t i = 1; i < end; i += 4) {
        count = note(found, count, table, self->symbols + i, self->symbols + i + 1, at);
        at = words_add(at, words_each(4));
    }
    look_up(found, count, table, self->pairs);
}

/* The first pair of a piece, of those that so many vectors hold; or NONE. */
BBPE_INLINE uint32_t first_pair(const cells *self, size_t piece, const int vectors) {
    const uint32_t *pairs = self->pairs + self->starts[piece] + 1;
    const bbpe_halves last = halves_each((uint32_t)self->last[piece]);
    bbpe_halves numbers = halves_numbers(), least = halves_each(NONE);
    for (int i = 0; i < vectors; i++) {
        const bbpe_halves mine = halves_or(halves_load(pairs + WIDTH * i), halves_more(numbers, last));
        least = halves_min(least, mine);
        numbers = halves_add(numbers, halves_each(WIDTH));
    }
    return halves_least(least);
}

/* Make one symbol of a piece's first pair; what it makes with its neighbours is asked from number `i` on. */
BBPE_INLINE void merge_first(cells *self, size_t piece, uint32_t pair, questions *to, size_t i) {
    const uint32_t at = pair & ((1u << PLACE) - 1), made = pair >> PLACE, start = self->starts[piece];
    const uint32_t live = self->live[piece], before = bits_below(live, at - start);
    const uint32_t after = live & (UINT32_MAX - 1) << (at - start), beyond = after & (after - 1);
    const uint32_t left = start + bits_highest(before), gone = start + bits_lowest(after);
    const uint32_t right = start + bits_lowest(beyond);
    self->live[piece] = live ^ after ^ beyond;
    self->symbols[at] = made;
    self->pairs[left] = self->pairs[gone] = self->pairs[at] = NONE;
    to->left[i] = self->symbols[left];
    to->right[i] = to->left[i + 1] = made;
    to->right[i + 1] = self->symbols[right];
    to->cells[i] = left;
    to->cells[i + 1] = at;
}

/* Merge the first pair of each piece until none has any. */
BBPE_INLINE void merge_all(const bbpe_merge_table *table, cells *self, lookups *found, size_t count, const int vectors) {
    uint32_t pieces[BBPE_MERGE_BATCH], pairs[BBPE_MERGE_BATCH];
    for (size_t i = 0; i < count; i++) pieces[i] = (uint32_t)i;
    for (;;) {
        questions asked;
        size_t merging = 0, may = 0;
        for (size_t i = 0; i < count; i++) {
            const uint32_t piece = pieces[i], pair = first_pair(self, piece, vectors);
            pieces[merging] = piece;
            pairs[merging] = pair;
            merging += pair != NONE;
        }
        count = merging;
        if (count == 0) return;
        for (size_t i = 0; i < count; i++) merge_first(self, pieces[i], pairs[i], &asked, 2 * i);
        for (size_t i = 2 * count; i < 2 * count + 2; i++) asked.left[i] = asked.right[i] = asked.cells[i] = BORDER;
        for (size_t i = 0; i < 2 * count; i += 4)
            may = note(found, may, table, asked.left + i, asked.right + i, words_of_halves(asked.cells + i));
        look_up(found, may, table, self->pairs);
    }
}

/* Write the ids of a piece's symbols, four at once, as most pieces have no more; returns how many there are. */
BBPE_INLINE size_t write_ids(const bbpe_bpe *model, const cells *self, size_t piece, uint32_t *ids) {
    const uint32_t *symbols = self->symbols + self->starts[piece], *others = model->ids;
    const uint32_t plain_start = model->plain_start, distance = model->plain_distance;
    uint32_t live = self->live[piece] & (self->live[piece] - 1); /* without the border before, and at last the one after */
    const size_t count = bbpe_bits_count(live) - 1;
    for (size_t i = 0; i < count; i += 4)
        for (size_t k = i; k < i + 4; k++) {
            const uint32_t symbol = symbols[bits_lowest(live)], plain = symbol + distance;
            const uint32_t is_other = 0u - (uint32_t)(symbol < plain_start);
            ids[k] = plain ^ ((plain ^ others[symbol & is_other]) & is_other);
            live &= live - 1;
        }
    return count;
}

BBPE_INLINE void merge_together(const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count,
                                uint32_t *const *ids, size_t *counts) {
    BBPE_ASSERT(count <= BBPE_MERGE_BATCH);
    cells self;
    lookups found;
    int32_t last = 0;
    BBPE_DEFINE(self);
    BBPE_DEFINE(found);
    look_up_neighbours(&model->table, &self, &found, read_pieces(model, &self, pieces, count));
    for (size_t i = 0; i < count; i++) last = self.last[i] > last ? self.last[i] : last;
    if (last < WIDTH) merge_all(&model->table, &self, &found, count, 1);
    else if (last < 2 * WIDTH) merge_all(&model->table, &self, &found, count, 2);
    else merge_all(&model->table, &self, &found, count, 3);
    for (size_t i = 0; i < count; i++) counts[i] = write_ids(model, &self, i, ids[i]);
}

/* Make the cells of one piece, and look up all of its pairs; returns the cell of the border after it. */
BBPE_INLINE size_t read_one(const bbpe_bpe *model, cells *to, lookups *found, const uint8_t *text, size_t n) {
    byte_row row;
    BBPE_DEFINE(row);
    memcpy(row.bytes, text, n);
    row.pairs[0] = UINT64_MAX;
    for (size_t i = 0; i + 1 < n; i++) row.pairs[1 + i] = bbpe_bpe_byte_pair(model, text[i], text[i + 1]);
    for (size_t i = 0; i < 2 * WIDTH; i += 4) words_store(row.pairs + n + i, words_each(UINT64_MAX));
    merge_sure(&row, n + 1, to->symbols + 1);
    const size_t four = (n + 1) / 4, border = row.counts[four] + bbpe_bits_count(bits_below(row.live[four], (n + 1) % 4));
    to->symbols[0] = to->symbols[border] = BORDER;
    halves_store(to->symbols + border + 1, halves_each(BORDER));
    for (size_t i = 0; i < border + WIDTH; i += WIDTH) halves_store(to->pairs + i, halves_each(NONE));
    look_up_neighbours(&model->table, to, found, border + 1);
    return border;
}

/* Look up what a symbol makes with its two neighbours, at once: one branch where none is possible, not two. */
BBPE_INLINE void look_up_both(const bbpe_merge_table *table, uint32_t left, uint32_t made, uint32_t right,
                              uint32_t *first, uint32_t *second) {
    const uint64_t a = (uint64_t)left << BBPE_MERGE_TABLE_BITS | made, b = (uint64_t)made << BBPE_MERGE_TABLE_BITS | right;
    const bool may_a = bbpe_merge_table_may(table, bbpe_merge_table_hash(a));
    const bool may_b = bbpe_merge_table_may(table, bbpe_merge_table_hash(b));
    *first = *second = NONE;
    if (!(may_a | may_b)) return;
    const uint64_t c = may_a ? a : b, d = may_b ? b : a;
    const uint32_t of_c = bbpe_merge_table_find_pair(table, c), of_d = bbpe_merge_table_find_pair(table, d);
    *first = of_c | (0u - (uint32_t)!may_a);
    *second = of_d | (0u - (uint32_t)!may_b);
}

/* Merge one piece.  Its cells stay where they are; each has the numbers of those that are left beside it. */
BBPE_INLINE size_t merge_one(const bbpe_bpe *model, const uint8_t *text, size_t n, uint32_t *ids) {
    BBPE_ASSERT(n > 0 && n <= BBPE_BPE_SHORT);
    cells self;
    lookups found;
    uint8_t before[BBPE_BPE_SHORT + 2], after[BBPE_BPE_SHORT + 2];
    BBPE_DEFINE(self);
    BBPE_DEFINE(found);
    const size_t border = read_one(model, &self, &found, text, n);
    for (size_t i = 0; i <= border; i++) {
        before[i] = (uint8_t)(i - 1);
        after[i] = (uint8_t)(i + 1);
    }
    size_t count = border - 1;
    for (;; count--) {
        bbpe_halves least = halves_load(self.pairs);
        for (size_t i = WIDTH; i < border; i += WIDTH) least = halves_min(least, halves_load(self.pairs + i));
        const uint32_t pair = halves_least(least);
        if (pair == NONE) break;
        const uint32_t at = pair & ((1u << PLACE) - 1), made = pair >> PLACE;
        const uint32_t left = before[at], gone = after[at], right = after[gone];
        uint32_t first, second;
        look_up_both(&model->table, self.symbols[left], made, self.symbols[right], &first, &second);
        self.symbols[at] = made;
        after[at] = (uint8_t)right;
        before[right] = (uint8_t)at;
        self.pairs[gone] = NONE;
        self.pairs[left] = first == NONE ? NONE : first << PLACE | left;
        self.pairs[at] = second == NONE ? NONE : second << PLACE | at;
    }
    for (size_t i = 0, at = 1; i < count; i++, at = after[at]) {
        const uint32_t number = self.symbols[at];
        ids[i] = number < model->plain_start ? model->ids[number] : number + model->plain_distance;
    }
    return count;
}

#endif
