/* Sixteen pieces by AVX-512.  A vector has what is at one position of each piece: its symbol, and the number of what
 * this makes with the next one.  A symbol is where its bytes begin; which positions have one is a word of bits. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx512f,avx512dq,avx512vl,avx512bw,avx512cd,popcnt")
#include "models/bpe/merge_batch.h"

typedef __m512i lanes;

#define NONE _mm512_set1_epi32(-1)
#define LANE_NUMBERS _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define ALL_OF _Pragma("GCC unroll 24") for

typedef struct {
    lanes symbols[BBPE_MERGE_BATCH_BYTES];
    lanes pairs[BBPE_MERGE_BATCH_BYTES]; /* what a symbol makes with the next one << PLACE | its position; or NONE */
    lanes live;                    /* bits: positions that have a symbol */
} cells;

enum {
    PLACE = 5, /* bits of a position */
    ROOM = (BBPE_MERGE_BATCH_BYTES + 1) * BBPE_MERGE_BATCH, /* vectors may be stored and loaded after the last pair */
    MADE_AT = 2 * BBPE_MERGE_TABLE_BITS, /* where a word of two bytes has what they make */
};

/* Pairs of symbols, and which pair of the cells each is: 16 * position + piece. */
typedef struct {
    uint32_t left[ROOM], right[ROOM], cells[ROOM];
    size_t count;
} neighbours;

/* Pairs to look up that the Bloom filter does not refuse, side by side. */
typedef struct {
    uint64_t keys[ROOM], homes[ROOM];
    uint32_t cells[ROOM], made[ROOM];
    size_t count;
} lookups;

BBPE_INLINE lanes number(uint32_t x) {
    return _mm512_set1_epi32((int)x);
}

/* The number of the highest bit. */
BBPE_INLINE lanes place_of(lanes bit) {
    return _mm512_sub_epi32(number(31), _mm512_lzcnt_epi32(bit));
}

/* Words with the bit that the six lowest of another one name. */
BBPE_INLINE lanes one_of(lanes bit) {
    return _mm512_rolv_epi64(_mm512_set1_epi64(1), bit);
}

/* Note eight pairs of those in `asked`; returns which of them the Bloom filter has. */
BBPE_INLINE __mmask8 note(lookups *to, const bbpe_merge_table *table, __m256i left, __m256i right, __mmask8 asked) {
    const lanes pair = _mm512_or_si512(_mm512_slli_epi64(_mm512_cvtepu32_epi64(left), BBPE_MERGE_TABLE_BITS),
                                       _mm512_cvtepu32_epi64(right));
    const lanes hash = _mm512_mullo_epi64(pair, _mm512_set1_epi64((long long)bbpe_merge_table_hash(1)));
    const lanes bit = _mm512_srl_epi64(hash, _mm_cvtsi32_si128((int)table->bloom_shift));
    const lanes words = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), asked, _mm512_srli_epi64(bit, 6),
                                                    (const long long *)table->bloom, 8);
    const lanes next = _mm512_srl_epi64(hash, _mm_cvtsi32_si128((int)table->bloom_shift - 6));
    const lanes both = _mm512_or_si512(one_of(bit), one_of(next));
    const __mmask8 may = _mm512_mask_cmpeq_epi64_mask(asked, _mm512_and_si512(words, both), both);
    const lanes home = _mm512_and_si512(_mm512_srl_epi64(hash, _mm_cvtsi32_si128((int)table->shift)),
                                        _mm512_set1_epi64((long long)table->mask));
    const lanes key = _mm512_slli_epi64(pair, BBPE_MERGE_TABLE_BITS + 1);
    _mm512_storeu_si512(to->keys + to->count, _mm512_maskz_compress_epi64(may, key));
    _mm512_storeu_si512(to->homes + to->count, _mm512_maskz_compress_epi64(may, home));
    to->count += bbpe_bits_count(may);
    return may;
}

BBPE_INLINE __mmask16 note_all(lookups *to, const bbpe_merge_table *table, lanes left, lanes right, __mmask16 asked) {
    const __mmask8 low = note(to, table, _mm512_castsi512_si256(left), _mm512_castsi512_si256(right), (__mmask8)asked);
    const __mmask8 high = note(to, table, _mm512_extracti64x4_epi64(left, 1), _mm512_extracti64x4_epi64(right, 1),
                               (__mmask8)(asked >> 8));
    return (__mmask16)(low | high << 8);
}

/* Read the numbers that pairs make: one set of four slots after another, which wait for memory together. */
BBPE_INLINE void look_up(lookups *self, const bbpe_merge_table *table) {
    for (size_t i = 0; i < self->count; i++)
        self->made[i] = bbpe_merge_table_find_at(table, self->keys[i], (size_t)self->homes[i]);
}

/* Four bytes of each piece, of sixteen or fewer, from `at` on. */
BBPE_INLINE lanes four_bytes(const bbpe_merge_batch_piece *pieces, size_t count, int at) {
    const __mmask16 have = (__mmask16)(((uint32_t)1 << count) - 1);
    const lanes rows = _mm512_mullo_epi32(LANE_NUMBERS, number(sizeof *pieces));
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), have, rows, (const uint8_t *)pieces + at, 1);
}

/* The bytes of the pieces as symbols; returns how many each has. */
BBPE_INLINE lanes read_bytes(cells *self, const bbpe_merge_batch_piece *pieces, size_t count, const int width) {
    lanes four = _mm512_setzero_si512();
    ALL_OF(int i = 0; i < width; i++) {
        if (i % 4 == 0) four = four_bytes(pieces, count, i);
        self->symbols[i] = _mm512_and_si512(_mm512_srli_epi32(four, 8 * (unsigned)(i % 4)), number(255));
    }
    return _mm512_srli_epi32(four_bytes(pieces, count, (int)offsetof(bbpe_merge_batch_piece, n) - 3), 24);
}

/* The words of pairs of bytes: eight pieces', and those of the other eight. */
typedef struct {
    lanes low, high;
} byte_pairs;

BBPE_INLINE byte_pairs byte_pairs_of(const bbpe_bpe *model, lanes left, lanes right, __mmask16 have) {
    const lanes both = _mm512_or_si512(_mm512_slli_epi32(left, 8), right), none = _mm512_set1_epi64(-1);
    const long long *words = (const long long *)model->byte_pairs;
    return (byte_pairs){
        _mm512_mask_i32gather_epi64(none, (__mmask8)have, _mm512_castsi512_si256(both), words, 8),
        _mm512_mask_i32gather_epi64(none, (__mmask8)(have >> 8), _mm512_extracti64x4_epi64(both, 1), words, 8),
    };
}

/* bbpe_bpe_is_sure */
BBPE_INLINE __mmask8 are_sure(lanes before, lanes pair, lanes behind) {
    const lanes field = _mm512_set1_epi64((long long)BBPE_BPE_NO_NUMBER), made = _mm512_srli_epi64(pair, MADE_AT);
    const lanes first = _mm512_and_si512(_mm512_srli_epi64(before, BBPE_MERGE_TABLE_BITS), field);
    return _mm512_mask_cmple_epu64_mask(_mm512_cmplt_epu64_mask(made, first), made, _mm512_and_si512(behind, field));
}

/* Look up all pairs of bytes. */
BBPE_INLINE lanes made_of(byte_pairs pair) {
    const __m256i low = _mm512_cvtepi64_epi32(_mm512_srli_epi64(pair.low, MADE_AT));
    const __m256i high = _mm512_cvtepi64_epi32(_mm512_srli_epi64(pair.high, MADE_AT));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* The pieces of more than so many bytes. */
BBPE_INLINE __mmask16 longer(lanes length, int than) {
    return _mm512_cmpgt_epi32_mask(length, number((uint32_t)than));
}

/* Make one symbol of every two bytes that surely merge; which positions begin such a symbol goes to `sure`. */
BBPE_INLINE void merge_sure(const bbpe_bpe *model, cells *self, lanes length, __mmask16 *sure, const int width) {
    const byte_pairs none = {_mm512_set1_epi64(-1), _mm512_set1_epi64(-1)};
    lanes *const symbols = self->symbols;
    byte_pairs before = none, pair = byte_pairs_of(model, symbols[0], symbols[1], longer(length, 1)), behind;
    ALL_OF(int i = 0; i + 1 < width; i++) {
        behind = none;
        if (i + 2 < width) behind = byte_pairs_of(model, symbols[i + 1], symbols[i + 2], longer(length, i + 2));
        sure[i] = (__mmask16)(are_sure(before.low, pair.low, behind.low)
                              | are_sure(before.high, pair.high, behind.high) << 8);
        symbols[i] = _mm512_mask_mov_epi32(symbols[i], sure[i], made_of(pair));
        self->live = _mm512_mask_andnot_epi32(self->live, sure[i], number((uint32_t)2 << i), self->live);
        before = pair;
        pair = behind;
    }
}

/* The symbols that are left, each with the next one, which of two is the second after a position of `sure`. */
BBPE_INLINE void list_neighbours(const cells *self, lanes length, const __mmask16 *sure, neighbours *to,
                                 const int width) {
    to->count = 0;
    ALL_OF(int i = 0; i + 1 < width; i++) {
        const lanes at = _mm512_add_epi32(number(16 * (uint32_t)i), LANE_NUMBERS);
        __mmask16 have = (__mmask16)((sure[i] & longer(length, i + 2)) | (longer(length, i + 1) & ~sure[i]));
        lanes next = self->symbols[i + 1];
        if (i > 0) have &= (__mmask16)~sure[i - 1];
        if (i + 2 < width) next = _mm512_mask_mov_epi32(next, sure[i], self->symbols[i + 2]);
        _mm512_storeu_si512(to->left + to->count, _mm512_maskz_compress_epi32(have, self->symbols[i]));
        _mm512_storeu_si512(to->right + to->count, _mm512_maskz_compress_epi32(have, next));
        _mm512_storeu_si512(to->cells + to->count, _mm512_maskz_compress_epi32(have, at));
        to->count += bbpe_bits_count(have);
    }
}

/* Look up all pairs of neighbours. */
static BBPE_NOINLINE void look_up_neighbours(const bbpe_bpe *model, const neighbours *of, uint32_t *pairs) {
    lookups found;
    BBPE_DEFINE(found);
    found.count = 0;
    for (size_t i = 0; i < of->count; i += 8) {
        const size_t left = of->count - i, first = found.count;
        const __mmask8 have = (__mmask8)(left < 8 ? ((uint32_t)1 << left) - 1 : 0xFF);
        const __mmask8 may = note(&found, &model->table, _mm256_loadu_si256((const __m256i *)(of->left + i)),
                                  _mm256_loadu_si256((const __m256i *)(of->right + i)), have);
        _mm256_storeu_si256((__m256i *)(found.cells + first),
                            _mm256_maskz_compress_epi32(may, _mm256_loadu_si256((const __m256i *)(of->cells + i))));
    }
    look_up(&found, &model->table);
    for (size_t i = 0; i < found.count; i++) {
        const uint32_t cell = found.cells[i], made = found.made[i];
        pairs[cell] = made == BBPE_MERGE_TABLE_NONE ? made : made << PLACE | cell >> 4;
    }
}

/* The bytes of the pieces as symbols, what surely merges, and what the rest makes. */
BBPE_INLINE cells cells_of(const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count, const int width) {
    _Alignas(64) uint32_t pairs[BBPE_MERGE_BATCH_BYTES][BBPE_MERGE_BATCH];
    __mmask16 sure[BBPE_MERGE_BATCH_BYTES];
    neighbours all;
    cells self;
    BBPE_DEFINE(all);
    BBPE_DEFINE(self);
    const lanes length = read_bytes(&self, pieces, count, width);
    self.live = _mm512_sub_epi32(_mm512_sllv_epi32(number(1), length), number(1));
    merge_sure(model, &self, length, sure, width);
    list_neighbours(&self, length, sure, &all, width);
    ALL_OF(int i = 0; i + 1 < width; i++) _mm512_store_si512(pairs[i], NONE);
    look_up_neighbours(model, &all, pairs[0]);
    ALL_OF(int i = 0; i + 1 < width; i++) self.pairs[i] = _mm512_load_si512(pairs[i]);
    return self;
}

/* The symbols at positions that differ by piece, from `first` on. */
BBPE_INLINE lanes symbols_at(const cells *self, lanes positions, int first, int end) {
    lanes found = _mm512_setzero_si512();
    ALL_OF(int i = first; i < end; i++)
        found = _mm512_mask_mov_epi32(found, _mm512_cmpeq_epi32_mask(positions, number((uint32_t)i)), self->symbols[i]);
    return found;
}

/* Of pairs that were noted for the pieces of `may`, from the one with number `first` on: cells at `positions`. */
BBPE_INLINE lanes pairs_of(const lookups *self, size_t first, __mmask16 may, lanes positions) {
    const lanes made = _mm512_mask_expand_epi32(NONE, may, _mm512_loadu_si512(self->made + first));
    return _mm512_mask_or_epi32(NONE, _mm512_cmpneq_epi32_mask(made, NONE), _mm512_slli_epi32(made, PLACE), positions);
}

/* The first pair of each piece, which merges: positions by piece, and the bits of symbols that end. */
typedef struct {
    __mmask16 merging, has_left, has_right;
    lanes at, made, left_at, gone, gone_at, right_at;
} merges;

BBPE_INLINE merges merges_of(const cells *self, const int width) {
    const lanes one = number(1);
    lanes least = self->pairs[0];
    merges all;
    ALL_OF(int i = 1; i + 1 < width; i++) least = _mm512_min_epu32(least, self->pairs[i]);
    all.merging = _mm512_cmpneq_epi32_mask(least, NONE);
    all.at = _mm512_and_si512(least, number((1 << PLACE) - 1));
    all.made = _mm512_srli_epi32(least, PLACE);
    const lanes bit = _mm512_sllv_epi32(one, all.at), below = _mm512_sub_epi32(bit, one);
    const lanes before = _mm512_and_si512(self->live, below);
    const lanes behind = _mm512_andnot_si512(_mm512_or_si512(below, bit), self->live);
    const lanes beyond = _mm512_and_si512(behind, _mm512_sub_epi32(behind, one));
    all.gone = _mm512_andnot_si512(beyond, behind); /* the lowest bit */
    all.has_left = _mm512_mask_test_epi32_mask(all.merging, before, before);
    all.has_right = _mm512_mask_test_epi32_mask(all.merging, beyond, beyond);
    all.left_at = place_of(before);
    all.gone_at = place_of(all.gone);
    all.right_at = place_of(_mm512_andnot_si512(_mm512_sub_epi32(beyond, one), beyond));
    return all;
}

/* Put what was made in place of the two symbols, and what it makes with its neighbours. */
BBPE_INLINE void replace(cells *self, const merges *all, lanes left_pairs, lanes right_pairs, const int width) {
    self->live = _mm512_mask_xor_epi32(self->live, all->merging, self->live, all->gone);
    ALL_OF(int i = 0; i < width; i++) {
        const lanes here = number((uint32_t)i);
        const __mmask16 is_made = _mm512_mask_cmpeq_epi32_mask(all->merging, all->at, here);
        self->symbols[i] = _mm512_mask_mov_epi32(self->symbols[i], is_made, all->made);
        if (i + 1 == width) continue;
        const __mmask16 is_left = _mm512_mask_cmpeq_epi32_mask(all->has_left, all->left_at, here);
        const __mmask16 is_gone = _mm512_mask_cmpeq_epi32_mask(all->merging, all->gone_at, here);
        self->pairs[i] = _mm512_mask_mov_epi32(self->pairs[i], is_made, right_pairs);
        self->pairs[i] = _mm512_mask_mov_epi32(self->pairs[i], is_left, left_pairs);
        self->pairs[i] = _mm512_mask_mov_epi32(self->pairs[i], is_gone, NONE);
    }
}

/* Merge the first pair of each piece; false when none has any. */
BBPE_INLINE bool merge_step(const bbpe_bpe *model, cells *self, const int width) {
    const merges all = merges_of(self, width);
    lookups found;
    if (!all.merging) return false;
    BBPE_DEFINE(found);
    found.count = 0;
    const lanes left = symbols_at(self, all.left_at, 0, width - 2), right = symbols_at(self, all.right_at, 2, width);
    const __mmask16 may_left = note_all(&found, &model->table, left, all.made, all.has_left);
    const size_t first = found.count;
    const __mmask16 may_right = note_all(&found, &model->table, all.made, right, all.has_right);
    look_up(&found, &model->table);
    replace(self, &all, pairs_of(&found, 0, may_left, all.left_at), pairs_of(&found, first, may_right, all.at), width);
    return true;
}

/* The symbols of a piece from position `at` on, sixteen at most. */
BBPE_INLINE lanes row_of(uint32_t (*columns)[BBPE_MERGE_BATCH], size_t piece, int at, const int width) {
    const int held = width - at < BBPE_MERGE_BATCH ? width - at : BBPE_MERGE_BATCH;
    const __mmask16 any = (__mmask16)(((uint32_t)1 << held) - 1);
    const lanes rows = _mm512_mullo_epi32(LANE_NUMBERS, number(BBPE_MERGE_BATCH));
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), any, rows, &columns[at][piece], 4);
}

/* Write the ids of each piece's symbols, side by side. */
BBPE_INLINE void write_ids(const bbpe_bpe *model, const cells *self, size_t count, uint32_t *const *ids,
                           size_t *counts, const int width) {
    _Alignas(64) uint32_t columns[BBPE_MERGE_BATCH_BYTES][BBPE_MERGE_BATCH], live[BBPE_MERGE_BATCH];
    ALL_OF(int i = 0; i < width; i++) {
        const lanes symbols = self->symbols[i];
        const lanes plain = _mm512_add_epi32(symbols, number(model->plain_distance));
        const __mmask16 is_other = _mm512_cmplt_epu32_mask(symbols, number(model->plain_start));
        _mm512_store_si512(columns[i], _mm512_mask_i32gather_epi32(plain, is_other, symbols, model->ids, 4));
    }
    _mm512_store_si512(live, self->live);
    for (size_t piece = 0; piece < count; piece++) {
        const __mmask16 first = (__mmask16)live[piece], last = (__mmask16)(live[piece] >> BBPE_MERGE_BATCH);
        _mm512_storeu_si512(ids[piece], _mm512_maskz_compress_epi32(first, row_of(columns, piece, 0, width)));
        counts[piece] = bbpe_bits_count(first);
        if (width <= BBPE_MERGE_BATCH || last == 0) continue;
        const size_t more = bbpe_bits_count(last);
        const lanes rest = _mm512_maskz_compress_epi32(last, row_of(columns, piece, BBPE_MERGE_BATCH, width));
        _mm512_mask_storeu_epi32(ids[piece] + counts[piece], (__mmask16)(((uint32_t)1 << more) - 1), rest);
        counts[piece] += more;
    }
}

BBPE_INLINE void merge(const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count, uint32_t *const *ids,
                       size_t *counts, const int width) {
    cells self = cells_of(model, pieces, count, width);
    while (merge_step(model, &self, width)) continue;
    write_ids(model, &self, count, ids, counts, width);
}

/* By width, each a function of its own, so that positions are registers; six widths instead of three gain nothing. */
#define MERGE_OF(width)                                                                                         \
    static BBPE_NOINLINE void merge_##width(const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count,  \
                                            uint32_t *const *ids, size_t *counts) {                             \
        merge(model, pieces, count, ids, counts, width);                                                         \
    }
MERGE_OF(8)
MERGE_OF(15)
MERGE_OF(24)

void bbpe_merge_batch_avx512(const bbpe_bpe *model, const bbpe_merge_batch_piece *pieces, size_t count, uint32_t *const *ids,
                       size_t *counts) {
    BBPE_ASSERT(count <= BBPE_MERGE_BATCH);
    unsigned longest = 0;
    for (size_t i = 0; i < count; i++) longest = pieces[i].n > longest ? pieces[i].n : longest;
    if (longest <= 8) merge_8(model, pieces, count, ids, counts);
    else if (longest <= 15) merge_15(model, pieces, count, ids, counts);
    else merge_24(model, pieces, count, ids, counts);
}
BBPE_TARGET_END
#else
typedef int bbpe_merge_batch_avx512_is_for_x86;
#endif
