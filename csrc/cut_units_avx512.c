/* Units of 64 bytes of text at a time: characters, ends of pretokens and borders that part units are bits. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include "target.h"
BBPE_TARGET_BEGIN("avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")
#include <immintrin.h>

#include "cut_units.h"
#include "places_avx512.h"

enum { BLOCK = 64, BESIDE = 8 }; /* bytes, and how many of those before and behind them are read */

typedef struct {
    const uint8_t *bytes;
    bbpe_cut_characters left, right; /* those that end where a byte begins, and those that begin there */
    uint64_t whole;                  /* ends of pretokens */
    size_t pretokens;                /* so many */
    bool is_last;                    /* what is behind the last of them is not looked at */
} cut_block;

static inline uint64_t in_range(__m512i v, uint8_t first, uint8_t last) {
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8((char)first)), _mm512_set1_epi8((char)(last - first)));
}

static inline uint64_t tails(const uint8_t *bytes) {
    return _mm512_cmplt_epi8_mask(_mm512_loadu_si512((const void *)bytes), _mm512_set1_epi8((char)0xC0)); /* with sign */
}

static inline bbpe_cut_characters characters_of(const uint8_t *bytes) {
    const __m512i v = _mm512_loadu_si512((const void *)bytes);
    const uint64_t tailed = tails(bytes + 1) & tails(bytes + 2);
    return (bbpe_cut_characters){~(uint64_t)_mm512_movepi8_mask(v), in_range(v, 0xE0, 0xEF) & tailed,
                                 in_range(v, 0xF0, 0xF4) & tailed & tails(bytes + 3)};
}

/* Ends of pretokens in the block behind `at`, as bits; how many they are goes to `*count`. */
static inline uint64_t ends_of(const bbpe_cutting *self, size_t *count) {
    const __m512i base = _mm512_set1_epi64((long long)self->at), one = _mm512_set1_epi64(1), most = _mm512_set1_epi64(BLOCK);
    const size_t left = (size_t)(self->last - self->end);
    uint64_t bits = 0;
    size_t k = 0;
    __mmask8 inside;
    do {
        const __mmask8 there = left - k >= 8 ? 0xFF : (__mmask8)((1u << (left - k)) - 1);
        const __m512i places = _mm512_sub_epi64(_mm512_maskz_loadu_epi64(there, self->end + k), base);
        inside = _mm512_mask_cmplt_epu64_mask(there, places, most);
        bits |= (uint64_t)_mm512_reduce_or_epi64(_mm512_maskz_sllv_epi64(inside, one, places));
        k += (size_t)__builtin_popcount(inside);
    } while (inside == 0xFF && k < left);
    *count = k;
    return bits;
}

/* How many of the next pretokens there are up to one of no bytes. */
static size_t count_to_empty(const bbpe_cutting *self) {
    size_t k = 1;
    while (self->end[k] != self->end[k - 1]) k++;
    return k;
}

/* The bytes at self->at with those beside them, from `copy` where the text has fewer. */
static inline const uint8_t *bytes_of(const bbpe_cutting *self, uint8_t copy[BESIDE + BLOCK + BESIDE]) {
    const size_t left = self->n - self->at;
    if (BBPE_LIKELY(self->at >= BESIDE && left >= BLOCK + BESIDE)) return self->text + self->at;
    const size_t before = self->at < BESIDE ? self->at : BESIDE, behind = left < BLOCK + BESIDE ? left : BLOCK + BESIDE;
    memset(copy, 0, BESIDE + BLOCK + BESIDE);
    memcpy(copy + BESIDE - before, self->text + self->at - before, before + behind);
    return copy + BESIDE;
}

/* The block at self->at, whose next pretoken ends behind that. */
static inline cut_block block_of(const bbpe_cutting *self, uint8_t copy[BESIDE + BLOCK + BESIDE]) {
    cut_block block = {.bytes = bytes_of(self, copy)};
    const bbpe_cut_characters *const before = &self->before;
    block.right = characters_of(block.bytes);
    block.left = (bbpe_cut_characters){block.right.one << 1 | before->one >> 63, block.right.three << 3 | before->three >> 61,
                                       block.right.four << 4 | before->four >> 60};
    block.whole = ends_of(self, &block.pretokens);
    const bool has_empty = block.pretokens != (size_t)__builtin_popcountll(block.whole);
    if (BBPE_UNLIKELY(has_empty)) block.pretokens = count_to_empty(self);
    block.is_last = has_empty || self->end + block.pretokens == self->last;
    if (has_empty) block.whole &= UINT64_MAX >> (63 - (self->end[block.pretokens - 1] - self->at));
    return block;
}

/* Borders between characters of three bytes that a token may lie across. */
static inline uint64_t sieve(const bbpe_cut_points *cuts, const uint8_t *bytes) {
    __m512i bits = _mm512_set1_epi8(-1);
#pragma GCC unroll 5
    for (int k = 0; k < BBPE_CUT_POINTS_SIEVE; k++)
        bits = _mm512_and_si512(bits, _mm512_permutexvar_epi8(_mm512_loadu_si512((const void *)(bytes + k - 2)),
                                                              _mm512_loadu_si512((const void *)cuts->sieve[k])));
    return _mm512_test_epi8_mask(bits, bits);
}

static inline bbpe_character character_of(const uint8_t *bytes, uint64_t is_three, uint64_t is_four, size_t i, bool ends) {
    bbpe_character c = {0, is_three >> i & 1 ? 3 : is_four >> i & 1 ? 4 : 1};
    memcpy(&c.bytes, bytes + i - (ends ? c.length : 0), 4);
    c.bytes &= UINT32_MAX >> (32 - 8 * c.length);
    return c;
}

/* Borders that are looked at: not where a unit begins, nor behind the last pretoken, nor behind a byte that one begins with.
 * That is a blank or a bracket, which a token often has with the character behind it: Chinese 24.8 instead of 26.2 ms. */
static inline uint64_t between_of(const bbpe_cutting *self, const cut_block *block) {
    const uint64_t first = block->whole << 1 | (uint64_t)(self->start == self->at) << 1 | (self->start + 1 == self->at);
    uint64_t between = ~block->whole & ~(first & block->left.one & block->right.three);
    if (block->is_last) between &= UINT64_MAX >> __builtin_clzll(block->whole);
    return between & (UINT64_MAX << (self->start == self->at));
}

/* Of the borders in `between` those where a unit ends. */
static inline uint64_t parted(const bbpe_cut_points *cuts, const cut_block *block, uint64_t between) {
    const bbpe_cut_characters left = block->left, right = block->right;
    const uint64_t threes = between & left.three & right.three, unsure = threes & sieve(cuts, block->bytes);
    const uint64_t left_wide = left.three | left.four, right_wide = right.three | right.four;
    const uint64_t others = between & ((left_wide & (right_wide | right.one)) | (left.one & right_wide)) & ~threes;
    uint64_t bits = threes & ~unsure;
    for (uint64_t m = unsure; m; m &= m - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(m);
        uint64_t pair;
        memcpy(&pair, block->bytes + i - 3, sizeof pair);
        bits |= (uint64_t)bbpe_cut_points_between_wide(cuts, pair) << i;
    }
    for (uint64_t m = others; m; m &= m - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(m);
        const bbpe_character before = character_of(block->bytes, left.three, left.four, i, true);
        const bbpe_character behind = character_of(block->bytes, right.three, right.four, i, false);
        bits |= (uint64_t)bbpe_cut_points_between(cuts, before, behind) << i;
    }
    return bits;
}

/* Set `flag` in the ends of units that are borders. */
static void mark_parts(size_t *ends, uint64_t units, uint64_t borders, size_t flag) {
    uint64_t marked = _pext_u64(borders, units);
    for (; marked; marked >>= 8, ends += 8) {
        const __m512i places = _mm512_loadu_si512(ends);
        _mm512_storeu_si512(ends, _mm512_mask_or_epi64(places, (__mmask8)marked, places, _mm512_set1_epi64((long long)flag)));
    }
}

static inline void go_on(bbpe_cutting *self, const cut_block *block, uint64_t units) {
    self->end += block->pretokens;
    if (units) self->start = self->at + 63 - (size_t)__builtin_clzll(units);
    self->before = block->is_last ? (bbpe_cut_characters){0, 0, 0} : block->right;
    self->at = block->is_last ? self->end[-1] : self->at + BLOCK;
}

size_t bbpe_cut_units_avx512(const bbpe_cut_points *cut_points, bbpe_cutting *cutting, size_t part, size_t *ends,
                             size_t limit) {
    const bbpe_cut_points cuts = *cut_points; /* in registers, as what is written through `ends` might be any of it */
    bbpe_cutting self = *cutting;
    uint8_t copy[BESIDE + BLOCK + BESIDE];
    size_t count = 0;
    while (self.end < self.last) {
        if (*self.end == self.at) { /* a pretoken of no bytes, or one that ends where a block does */
            if (count == limit) break;
            ends[count++] = self.start = *self.end++;
            continue;
        }
        if (limit - count < BLOCK) break;
        const cut_block block = block_of(&self, copy);
        const uint64_t borders = parted(&cuts, &block, between_of(&self, &block)), units = block.whole | borders;
        const size_t found = places_write(units, self.at, ends + count);
        if (part) mark_parts(ends + count, units, borders, part);
        count += found;
        go_on(&self, &block, units);
    }
    *cutting = self;
    return count;
}
BBPE_TARGET_END
#else
typedef int bbpe_cut_units_is_for_x86;
#endif
