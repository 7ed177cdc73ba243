/* Sixteen pieces by AVX2, which lacks what the other way needs: gathers that gain time, and packing by a mask.  All symbols
 * are in one row of cells, with a border before and after each piece's.  Pairs are hashed four at once and asked for
 * together; what a piece merges next is the least of a vector or three.  The rest is scalar code that no symbol makes
 * branch: the loops are over all pieces of a group. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include "models/bpe/merge_batch.h"

typedef __m256i lanes;

#define NONE UINT32_MAX
#define LANE_NUMBERS _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0)

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

BBPE_INLINE lanes number(uint64_t x) {
    return _mm256_set1_epi64x((long long)x);
}

BBPE_INLINE lanes load(const void *p) {
    return _mm256_loadu_si256(p);
}

BBPE_INLINE void store(void *p, lanes x) {
    _mm256_storeu_si256(p, x);
}

BBPE_INLINE __m128i load_four(const uint32_t *p) {
    return _mm_loadu_si128((const void *)p);
}

/* The signs of four lanes. */
BBPE_INLINE unsigned signs_of(lanes x) {
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(x));
}

/* The lanes of four that are set in a mask, moved to the front. */
BBPE_INLINE lanes pack(lanes x, unsigned mask) {
    static const uint64_t halves[16] = {
        0x0000000000000000, 0x0000000000000100, 0x0000000000000302, 0x0000000003020100,
        0x0000000000000504, 0x0000000005040100, 0x0000000005040302, 0x0000050403020100,
        0x0000000000000706, 0x0000000007060100, 0x0000000007060302, 0x0000070603020100,
        0x0000000007060504, 0x0000070605040100, 0x0000070605040302, 0x0706050403020100,
    };
    return _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)halves[mask])));
}

BBPE_INLINE lanes hash_of(lanes pair) {
    const uint64_t factor = bbpe_merge_table_hash(1);
    const lanes low = number(factor & UINT32_MAX), high = number(factor >> 32);
    const lanes cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(pair, 32), low), _mm256_mul_epu32(pair, high));
    return _mm256_add_epi64(_mm256_mul_epu32(pair, low), _mm256_slli_epi64(cross, 32));
}

/* Four words: a gather takes as long where it is fast, and much longer where it is not. */
BBPE_INLINE lanes words_at(const uint64_t *words, lanes at) {
    const __m128i low = _mm256_castsi256_si128(at), high = _mm256_extracti128_si256(at, 1);
    return _mm256_set_epi64x(
        (long long)words[_mm_extract_epi64(high, 1)], (long long)words[_mm_cvtsi128_si64(high)],
        (long long)words[_mm_extract_epi64(low, 1)], (long long)words[_mm_cvtsi128_si64(low)]);
}

/* Note four pairs and their cells after `count` others; returns how many there are then. */
BBPE_INLINE size_t note(lookups *to, size_t count, const bbpe_merge_table *table, const uint32_t *left,
                        const uint32_t *right, __m128i at) {
    const lanes first = _mm256_cvtepu32_epi64(load_four(left)), second = _mm256_cvtepu32_epi64(load_four(right));
    const lanes pair = _mm256_or_si256(_mm256_slli_epi64(first, BBPE_MERGE_TABLE_BITS), second), hash = hash_of(pair);
    const lanes bit = _mm256_srl_epi64(hash, _mm_cvtsi32_si128((int)table->bloom_shift)), low_bits = number(63);
    const lanes next = _mm256_srl_epi64(hash, _mm_cvtsi32_si128((int)table->bloom_shift - 6));
    /* borders would wait for memory as others do: 7 ns a piece */
    const lanes is_border = _mm256_cmpeq_epi64(_mm256_max_epu32(first, second), number(BORDER));
    const lanes words = words_at(table->bloom, _mm256_andnot_si256(is_border, _mm256_srli_epi64(bit, 6)));
    const lanes both = _mm256_and_si256(_mm256_srlv_epi64(words, _mm256_and_si256(bit, low_bits)),
                                        _mm256_srlv_epi64(words, _mm256_and_si256(next, low_bits)));
    const unsigned may = signs_of(_mm256_slli_epi64(_mm256_andnot_si256(is_border, both), 63));
    const lanes home = _mm256_and_si256(_mm256_srl_epi64(hash, _mm_cvtsi32_si128((int)table->shift)), number(table->mask));
    const lanes key = _mm256_slli_epi64(pair, BBPE_MERGE_TABLE_BITS + 1);
    store(to->pairs + count, pack(_mm256_or_si256(key, home), may));
    store(to->cells + count, pack(_mm256_cvtepu32_epi64(at), may));
    return count + (size_t)_mm_popcnt_u32(may);
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
        store(self->bytes + n, load(pieces + i));
        n += pieces[i].n + (size_t)1;
        self->ends[i] = (uint16_t)n;
    }
    self->pairs[0] = UINT64_MAX;
    for (size_t i = 0; i < n; i++) self->pairs[1 + i] = bbpe_bpe_byte_pair(model, self->bytes[i], self->bytes[i + 1]);
    for (size_t i = 0; i < count; i++) self->pairs[self->ends[i] - 1] = self->pairs[self->ends[i]] = UINT64_MAX;
    for (size_t i = 0; i < WIDTH; i += 4) store(self->pairs + 1 + n + i, number(UINT64_MAX));
    return n;
}

/* The bytes as symbols, and as one those two that surely merge (bbpe_bpe_is_sure). */
BBPE_INLINE void merge_sure(byte_row *self, size_t n, uint32_t *symbols) {
    const lanes field = number(BBPE_BPE_NO_NUMBER), low_halves = _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0);
    unsigned before = 0; /* whether the byte before begins such a symbol */
    size_t count = 0;
    for (size_t i = 0; i <= n; i += 4) {
        uint32_t four;
        memcpy(&four, self->bytes + i, sizeof four);
        const lanes made = _mm256_srli_epi64(load(self->pairs + 1 + i), 2 * BBPE_MERGE_TABLE_BITS);
        const lanes first = _mm256_and_si256(_mm256_srli_epi64(load(self->pairs + i), BBPE_MERGE_TABLE_BITS), field);
        const lanes second = _mm256_and_si256(load(self->pairs + 2 + i), field);
        const lanes is_sure = _mm256_andnot_si256(_mm256_cmpgt_epi64(made, second), _mm256_cmpgt_epi64(first, made));
        const lanes plain = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)four));
        const unsigned sure = signs_of(is_sure), live = ~(sure << 1 | before) & 15;
        const lanes packed = pack(_mm256_blendv_epi8(plain, made, is_sure), live);
        _mm_storeu_si128((void *)(symbols + count),
                         _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(packed, low_halves)));
        self->counts[i / 4] = (uint16_t)count;
        self->live[i / 4] = (uint8_t)live;
        before = sure >> 3;
        count += (size_t)_mm_popcnt_u32(live);
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
        const size_t end = row.counts[four] + (size_t)_mm_popcnt_u32(_bzhi_u32(row.live[four], row.ends[i] % 4));
        to->symbols[end] = BORDER;
        to->starts[i] = (uint32_t)start;
        to->live[i] = ((uint32_t)2 << (end - start)) - 1;
        to->last[i] = (int32_t)(end - start) - 3;
        start = end;
    }
    store(to->symbols + start + 1, _mm256_set1_epi32(BORDER));
    for (size_t i = 0; i < start + BEHIND - WIDTH; i += WIDTH) store(to->pairs + i, _mm256_set1_epi32(-1));
    return start + 1;
}

/* Look up all pairs of neighbours. */
BBPE_INLINE void look_up_neighbours(const bbpe_merge_table *table, cells *self, lookups *found, size_t end) {
    __m128i at = _mm_set_epi32(4, 3, 2, 1);
    size_t count = 0;
    for (size_t i = 1; i < end; i += 4) {
        count = note(found, count, table, self->symbols + i, self->symbols + i + 1, at);
        at = _mm_add_epi32(at, _mm_set1_epi32(4));
    }
    look_up(found, count, table, self->pairs);
}

/* The first pair of a piece, of those that so many vectors hold; or NONE. */
BBPE_INLINE uint32_t first_pair(const cells *self, size_t piece, const int vectors) {
    const uint32_t *pairs = self->pairs + self->starts[piece] + 1;
    const lanes last = _mm256_set1_epi32(self->last[piece]);
    lanes numbers = LANE_NUMBERS, least = _mm256_set1_epi32(-1);
    for (int i = 0; i < vectors; i++) {
        const lanes mine = _mm256_or_si256(load(pairs + WIDTH * i), _mm256_cmpgt_epi32(numbers, last));
        least = _mm256_min_epu32(least, mine);
        numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(WIDTH));
    }
    __m128i four = _mm_min_epu32(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
    four = _mm_min_epu32(four, _mm_shuffle_epi32(four, 0x4E));
    return (uint32_t)_mm_cvtsi128_si32(_mm_min_epu32(four, _mm_shuffle_epi32(four, 0xB1)));
}

/* Make one symbol of a piece's first pair; what it makes with its neighbours is asked from number `i` on. */
BBPE_INLINE void merge_first(cells *self, size_t piece, uint32_t pair, questions *to, size_t i) {
    const uint32_t at = pair & ((1u << PLACE) - 1), made = pair >> PLACE, start = self->starts[piece];
    const uint32_t live = self->live[piece], before = _bzhi_u32(live, at - start);
    const uint32_t after = live & (UINT32_MAX - 1) << (at - start), beyond = after & (after - 1);
    const uint32_t left = start + 31 - _lzcnt_u32(before), gone = start + _tzcnt_u32(after);
    const uint32_t right = start + _tzcnt_u32(beyond);
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
            may = note(found, may, table, asked.left + i, asked.right + i, load_four(asked.cells + i));
        look_up(found, may, table, self->pairs);
    }
}

/* Write the ids of a piece's symbols, four at once, as most pieces have no more; returns how many there are. */
BBPE_INLINE size_t write_ids(const bbpe_bpe *model, const cells *self, size_t piece, uint32_t *ids) {
    const uint32_t *symbols = self->symbols + self->starts[piece], *others = model->ids;
    const uint32_t plain_start = model->plain_start, distance = model->plain_distance;
    uint32_t live = self->live[piece] & (self->live[piece] - 1); /* without the border before, and at last the one after */
    const size_t count = (size_t)_mm_popcnt_u32(live) - 1;
    for (size_t i = 0; i < count; i += 4)
        for (size_t k = i; k < i + 4; k++) {
            const uint32_t symbol = symbols[_tzcnt_u32(live)], plain = symbol + distance;
            const uint32_t is_other = 0u - (uint32_t)(symbol < plain_start);
            ids[k] = plain ^ ((plain ^ others[symbol & is_other]) & is_other);
            live &= live - 1;
        }
    return count;
}

void bbpe_merge_batch_avx2(const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count, uint32_t *const *ids,
                     size_t *counts) {
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
BBPE_TARGET_END
#endif
