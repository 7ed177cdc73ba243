/* Sixteen units by AVX2. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include "target.h"
BBPE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#include "bpe_lanes.h"

typedef __m256i lanes;

enum {
    BYTES = BBPE_LANES * BBPE_LANES_BYTES,
    FIRST = 8,
    CELLS = FIRST + BYTES + BBPE_LANES + 32,
    PLACE = 9, /* bits of a cell's number */
    WIDE = 8, /* cells of a vector */
    SEPARATOR = (1 << BBPE_MERGE_TABLE_BITS) - 1,
};

/* Which of four lanes of 64 bits are set, as the numbers of their halves side by side. */
static const uint64_t PACKED[16] = {
    0x0000000000000000, 0x0000000000000100, 0x0000000000000302, 0x0000000003020100,
    0x0000000000000504, 0x0000000005040100, 0x0000000005040302, 0x0000050403020100,
    0x0000000000000706, 0x0000000007060100, 0x0000000007060302, 0x0000070603020100,
    0x0000000007060504, 0x0000070605040100, 0x0000070605040302, 0x0706050403020100,
};
static const uint32_t PACKED_LOW[16] = {
    0x00000000, 0x00000000, 0x00000002, 0x00000200, 0x00000004, 0x00000400, 0x00000402, 0x00040200,
    0x00000006, 0x00000600, 0x00000602, 0x00060200, 0x00000604, 0x00060400, 0x00060402, 0x06040200,
};

typedef struct {
    uint32_t symbols[CELLS];
    uint32_t pairs[CELLS];
    uint32_t starts[BBPE_LANES + 1];
    uint32_t last[BBPE_LANES];
    uint32_t live[BBPE_LANES];
} cells;

typedef struct {
    uint64_t asked[CELLS];
    uint32_t cells[CELLS];
    size_t count;
} lookups;

BBPE_INLINE lanes number(uint64_t x) {
    return _mm256_set1_epi64x((long long)x);
}

BBPE_INLINE lanes load(const void *p) {
    return _mm256_loadu_si256(p);
}

/* By four lanes. */
BBPE_INLINE lanes hash_of(lanes pair) {
    const uint64_t factor = bbpe_merge_table_hash(1);
    const lanes low = number(factor & UINT32_MAX), high = number(factor >> 32);
    const lanes cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(pair, 32), low), _mm256_mul_epu32(pair, high));
    return _mm256_add_epi64(_mm256_mul_epu32(pair, low), _mm256_slli_epi64(cross, 32));
}

BBPE_INLINE void note(lookups *to, const bbpe_merge_table *table, const uint32_t *left, const uint32_t *right, __m128i cell) {
    const lanes l = _mm256_cvtepu32_epi64(_mm_loadu_si128((const void *)left));
    const lanes r = _mm256_cvtepu32_epi64(_mm_loadu_si128((const void *)right));
    const lanes pair = _mm256_or_si256(_mm256_slli_epi64(l, BBPE_MERGE_TABLE_BITS), r), hash = hash_of(pair);
    const lanes bit = _mm256_srl_epi64(hash, _mm_cvtsi32_si128((int)table->bits_shift));
    const lanes next = _mm256_srl_epi64(hash, _mm_cvtsi32_si128((int)table->bits_shift - 6));
    const lanes words = _mm256_i64gather_epi64((const long long *)table->bits, _mm256_srli_epi64(bit, 6), 8);
    const lanes both = _mm256_and_si256(_mm256_srlv_epi64(words, _mm256_and_si256(bit, number(63))),
                                        _mm256_srlv_epi64(words, _mm256_and_si256(next, number(63))));
    const unsigned may = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_slli_epi64(both, 63)));
    const lanes home = _mm256_and_si256(_mm256_srl_epi64(hash, _mm_cvtsi32_si128((int)table->shift)), number(table->mask));
    const lanes asked = _mm256_or_si256(_mm256_slli_epi64(pair, BBPE_MERGE_TABLE_BITS + 1), home);
    const lanes order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)PACKED[may]));
    const lanes low = _mm256_cvtepu8_epi32(_mm_cvtsi32_si128((int)PACKED_LOW[may]));
    _mm256_storeu_si256((lanes *)(to->asked + to->count), _mm256_permutevar8x32_epi32(asked, order));
    _mm_storeu_si128((__m128i *)(to->cells + to->count),
                     _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(_mm256_cvtepu32_epi64(cell), low)));
    to->count += (size_t)_mm_popcnt_u32(may);
}

BBPE_INLINE void look_up(const lookups *self, const bbpe_merge_table *table, uint32_t *pairs) {
    const uint64_t below = ((uint64_t)2 << BBPE_MERGE_TABLE_BITS) - 1;
    for (size_t i = 0; i < self->count; i++) {
        const uint64_t asked = self->asked[i];
        const uint32_t made = bbpe_merge_table_find_at(table, asked & ~below, asked & below), cell = self->cells[i];
        pairs[cell] = (made << PLACE | cell) | (0u - (made == BBPE_MERGE_TABLE_NONE));
    }
}

BBPE_INLINE uint32_t least_of(__m256i x) {
    __m128i y = _mm_min_epu32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    y = _mm_min_epu32(y, _mm_shuffle_epi32(y, 0x4E));
    y = _mm_min_epu32(y, _mm_shuffle_epi32(y, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(y);
}

BBPE_INLINE uint32_t first_pair(const cells *self, size_t unit, const int vectors) {
    const uint32_t *pairs = self->pairs + self->starts[unit];
    lanes numbers = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), last = _mm256_set1_epi32((int)self->last[unit]);
    lanes least = _mm256_or_si256(_mm256_cmpgt_epi32(numbers, last), load(pairs));
    for (int i = 1; i < vectors; i++) {
        numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(8));
        least = _mm256_min_epu32(least, _mm256_or_si256(_mm256_cmpgt_epi32(numbers, last), load(pairs + 8 * i)));
    }
    return least_of(least);
}

typedef struct {
    uint32_t left[2 * BBPE_LANES + 4], right[2 * BBPE_LANES + 4], cells[2 * BBPE_LANES + 4];
} questions;

BBPE_INLINE void merge_first(cells *self, questions *to, size_t unit, uint32_t least) {
    const uint32_t at = least & ((1u << PLACE) - 1), made = least >> PLACE;
    const uint32_t start = self->starts[unit] - 1, bit = at - start, live = self->live[unit]; /* bit 0 is what is before */
    const uint32_t before = _bzhi_u32(live, bit), behind = live >> bit >> 1 << bit << 1;
    const uint32_t beyond = behind & (behind - 1);
    const uint32_t left = start + 31 - _lzcnt_u32(before), gone = start + _tzcnt_u32(behind), right = start + _tzcnt_u32(beyond);
    self->live[unit] = live ^ behind ^ beyond;
    self->symbols[at] = made;
    self->pairs[left] = self->pairs[gone] = self->pairs[at] = UINT32_MAX;
    to->left[0] = self->symbols[left];
    to->right[0] = made;
    to->cells[0] = left;
    to->left[1] = made;
    to->right[1] = self->symbols[right];
    to->cells[1] = at;
}

BBPE_INLINE void merge_all(const bbpe_merge_table *table, cells *self, size_t count, const int vectors) {
    uint8_t active[BBPE_LANES];
    uint32_t leasts[BBPE_LANES];
    lookups found;
    for (size_t i = 0; i < count; i++) active[i] = (uint8_t)i;
    for (;;) {
        questions all;
        size_t left = 0;
        for (size_t i = 0; i < count; i++) {
            const uint8_t unit = active[i];
            const uint32_t least = first_pair(self, unit, vectors);
            active[left] = unit;
            leasts[left] = least;
            left += least != UINT32_MAX;
        }
        count = left;
        if (count == 0) return;
        for (size_t i = 0; i < count; i++) {
            questions *to = (questions *)((uint32_t *)&all + 2 * i);
            merge_first(self, to, active[i], leasts[i]);
        }
        all.left[2 * count] = all.left[2 * count + 1] = SEPARATOR;
        all.right[2 * count] = all.right[2 * count + 1] = SEPARATOR;
        all.cells[2 * count] = all.cells[2 * count + 1] = 0;
        found.count = 0;
        for (size_t i = 0; i < 2 * count; i += 4)
            note(&found, table, all.left + i, all.right + i, _mm_loadu_si128((const void *)(all.cells + i)));
        look_up(&found, table, self->pairs);
    }
}

BBPE_INLINE void write_ids(const bbpe_bpe *model, const cells *self, size_t unit, uint32_t *ids, size_t *count) {
    const uint32_t *symbols = self->symbols + self->starts[unit] - 1;
    const uint32_t plain_start = model->plain_start, distance = model->plain_distance;
    uint32_t live = self->live[unit];
    const size_t n = (size_t)_mm_popcnt_u32(live) - 2;
    live &= live - 1;
    *count = n;
    size_t i = 0;
    do {
        for (int k = 0; k < 4; k++, live &= live - 1) {
            const uint32_t symbol = symbols[_tzcnt_u32(live)], is_other = 0u - (symbol < plain_start), plain = symbol + distance;
            ids[i + (size_t)k] = plain ^ ((plain ^ model->ids[symbol & is_other]) & is_other);
        }
        i += 4;
    } while (i < n);
}

typedef struct {
    uint8_t bytes[BYTES + BBPE_LANES + 32];
    uint64_t words[BYTES + BBPE_LANES + 16];
    uint16_t counts[(BYTES + BBPE_LANES) / 4 + 2];
    uint8_t live[(BYTES + BBPE_LANES) / 4 + 2];
} byte_row;

BBPE_INLINE size_t merge_sure(byte_row *self, size_t n, uint32_t *symbols) {
    const lanes field = number(BBPE_BPE_NO_NUMBER);
    unsigned carry = 0;
    size_t count = 0;
    for (size_t i = 0; i <= n; i += 4) {
        uint32_t four;
        memcpy(&four, self->bytes + i, 4);
        const lanes pair = load(self->words + 4 + i), made = _mm256_srli_epi64(pair, 2 * BBPE_MERGE_TABLE_BITS);
        const lanes before = _mm256_and_si256(_mm256_srli_epi64(load(self->words + 3 + i), BBPE_MERGE_TABLE_BITS), field);
        const lanes behind = _mm256_and_si256(load(self->words + 5 + i), field);
        const lanes is_sure = _mm256_andnot_si256(_mm256_cmpgt_epi64(made, behind), _mm256_cmpgt_epi64(before, made));
        const lanes plain = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)four));
        const unsigned sure = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(is_sure));
        const unsigned live = ~(sure << 1 | carry) & 15;
        const lanes order = _mm256_cvtepu8_epi32(_mm_cvtsi32_si128((int)PACKED_LOW[live]));
        const lanes all = _mm256_permutevar8x32_epi32(_mm256_blendv_epi8(plain, made, is_sure), order);
        _mm_storeu_si128((__m128i *)(symbols + count), _mm256_castsi256_si128(all));
        self->counts[i / 4] = (uint16_t)count;
        self->live[i / 4] = (uint8_t)live;
        carry = sure >> 3;
        count += (size_t)_mm_popcnt_u32(live);
    }
    return count;
}

BBPE_INLINE size_t read_units(const bbpe_bpe *model, cells *to, const bbpe_lanes_unit *units, size_t count, size_t *most) {
    byte_row row;
    uint16_t ends[BBPE_LANES];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        _mm256_storeu_si256((lanes *)(row.bytes + n), load(units + i));
        n += units[i].n + (size_t)1;
        ends[i] = (uint16_t)n;
    }
    for (size_t i = 0; i < n; i++) row.words[4 + i] = bbpe_bpe_byte_pair(model, row.bytes[i], row.bytes[i + 1]);
    row.words[3] = UINT64_MAX;
    for (size_t i = 0; i < count; i++) row.words[4 + ends[i] - 2] = row.words[4 + ends[i] - 1] = UINT64_MAX;
    memset(row.words + 4 + n, 0xFF, 8 * sizeof *row.words);
    merge_sure(&row, n, to->symbols + FIRST);
    size_t start = FIRST, longest = 0;
    to->symbols[FIRST - 1] = SEPARATOR;
    for (size_t i = 0; i < count; i++) {
        const size_t last = ends[i];
        const size_t end = FIRST + row.counts[last / 4] + (size_t)_mm_popcnt_u32(_bzhi_u32(row.live[last / 4], last % 4));
        const size_t k = end - 1 - start;
        to->symbols[end - 1] = SEPARATOR;
        to->starts[i] = (uint32_t)start;
        to->live[i] = ((uint32_t)4 << k) - 1;
        to->last[i] = (uint32_t)k - 2;
        longest = k > longest ? k : longest;
        start = end;
    }
    *most = longest;
    return start;
}

void bbpe_lanes_avx2(const bbpe_bpe *model, const bbpe_lanes_unit *units, size_t count, uint32_t *const *ids,
                     size_t *counts) {
    cells self;
    lookups found;
    size_t most;
    size_t end = read_units(model, &self, units, count, &most);
    memset(self.symbols + end, 0, 128);
    for (size_t i = 0; i < end + 32; i += 8) _mm256_storeu_si256((lanes *)(self.pairs + i), _mm256_set1_epi32(-1));
    found.count = 0;
    for (size_t i = FIRST; i < end; i += 4)
        note(&found, &model->table, self.symbols + i, self.symbols + i + 1,
             _mm_add_epi32(_mm_set1_epi32((int)i), _mm_set_epi32(3, 2, 1, 0)));
    look_up(&found, &model->table, self.pairs);
    if (most <= 9) merge_all(&model->table, &self, count, 1);
    else if (most <= 17) merge_all(&model->table, &self, count, 2);
    else merge_all(&model->table, &self, count, 3);
    for (size_t i = 0; i < count; i++) write_ids(model, &self, i, ids[i], counts + i);
}
BBPE_TARGET_END
#else
typedef int bbpe_lanes_avx2_is_for_x86;
#endif
