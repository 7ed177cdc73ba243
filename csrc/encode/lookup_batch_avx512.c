/* Eight keys a step; pieces that are not short, and those near the end of a text, one a step.  Ids by AVX2. */
#include "simd/target.h"
#ifdef BBPE_HAS_X86
BBPE_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")
#include "encode/lookup_batch.h"
#include "simd/lanes_avx512.h"

enum {
    AT_ONCE = 8, /* pieces */
    REACH = 128  /* bytes of all of them: two vectors, in which one instruction looks up bytes by seven bits */
};

/* Where eight pieces are, in the first byte of a lane each. */
typedef struct {
    __m512i offsets; /* where they begin among the bytes read */
    __m512i marks;   /* their lengths, with BBPE_CACHE_PART */
} places;

/* A block and where it goes, and what else stays in registers. */
typedef struct {
    bbpe_lookup_batch *batch;
    const bbpe_hot_cache *hot;
    const bbpe_pretokens *block;
    __m512i entries, entry_mask, most; /* in each lane */
} filling;

BBPE_INLINE __m512i words(uint64_t a, uint64_t b) {
    const long long lo = (long long)a, hi = (long long)b;
    return _mm512_set_epi64(hi, lo, hi, lo, hi, lo, hi, lo);
}

/* The keys of four pieces, from `first` on, whose bytes are in t0 and t1. */
BBPE_INLINE __m512i keys_of(__m512i t0, __m512i t1, const places *pieces, int first, bool has_parts) {
    const __m512i iota = words(0x0706050403020100, 0x0F0E0D0C0B0A0908), top = words(0, (uint64_t)0xFF << 56);
    const __m512i lanes = _mm512_set_epi64(0x1818181818181818, 0x1818181818181818, 0x1010101010101010, 0x1010101010101010,
                                           0x0808080808080808, 0x0808080808080808, 0, 0);
    const __m512i spread = _mm512_add_epi8(lanes, _mm512_set1_epi8((char)(8 * first)));
    const __m512i from = _mm512_add_epi8(_mm512_permutexvar_epi8(spread, pieces->offsets), iota);
    const __m512i mark = _mm512_permutexvar_epi8(spread, pieces->marks);
    const __m512i length = has_parts ? _mm512_and_si512(mark, _mm512_set1_epi8(BBPE_CACHE_PART - 1)) : mark;
    const __m512i bytes = _mm512_maskz_permutex2var_epi8(_mm512_cmplt_epu8_mask(iota, length), t0, from, t1);
    /* bytes ^ (mark & top) */
    return _mm512_xor_si512(_mm512_ternarylogic_epi64(bytes, mark, top, 0x78), words(BBPE_HASH_SALT_LO, BBPE_HASH_SALT_HI));
}

/* The lower 32 bits of bbpe_hash_salted: of a product of 128 bits its lowest and its third 32. */
BBPE_INLINE __m512i hashes_of(__m512i a, __m512i b) {
    const __m512i a_high = _mm512_srli_epi64(a, 32), b_high = _mm512_srli_epi64(b, 32);
    const __m512i lowest = _mm512_mul_epu32(a, b);
    const __m512i one = _mm512_add_epi64(_mm512_mul_epu32(a_high, b), _mm512_srli_epi64(lowest, 32));
    const __m512i other = _mm512_add_epi64(_mm512_mul_epu32(a, b_high), _mm512_and_si512(one, _mm512_set1_epi64(UINT32_MAX)));
    const __m512i carried = _mm512_add_epi64(_mm512_srli_epi64(one, 32), _mm512_srli_epi64(other, 32));
    return _mm512_xor_si512(lowest, _mm512_add_epi64(_mm512_mul_epu32(a_high, b_high), carried));
}

/* Not in the loop of eight, which has the registers. */
static BBPE_NOINLINE void put_alone(const filling *self, size_t from, size_t to, bool has_parts) {
    /* two loops, as in lookup_batch.c */
    if (has_parts) bbpe_lookup_batch_put(self->batch, self->hot, self->block, from, to, true);
    else bbpe_lookup_batch_put(self->batch, self->hot, self->block, from, to, false);
}

/* The marked ones of eight pieces, which are not short. */
static BBPE_NOINLINE void put_longs(const filling *self, size_t first, uint32_t longs, bool has_parts) {
    for (unsigned left = longs; left; left &= left - 1) {
        const size_t i = first + bbpe_bits_lowest(left);
        bbpe_lookup_batch_put(self->batch, self->hot, self->block, i, i + 1, has_parts);
    }
}

/* Eight pieces from `first` on, whose bytes begin at `text`, by their ends and those of the pieces before each. */
BBPE_INLINE void put_eight(const filling *self, size_t first, const uint8_t *text, size_t start, __m512i starts,
                           __m512i ends, bool has_parts) {
    const __m512i parts = _mm512_set1_epi64((long long)BBPE_CUT_PART);
    /* eight lanes of 64 bits, one a piece: [e0 .. e7] without the flag of a part */
    const __m512i end = has_parts ? _mm512_andnot_si512(parts, ends) : ends;
    /* [s0 .. s7] */
    const __m512i begin = has_parts ? _mm512_andnot_si512(parts, starts) : starts;
    /* [n0 .. n7] */
    const __m512i lengths = _mm512_sub_epi64(end, begin);
    /* [0x80 or 0]: BBPE_CACHE_PART if the piece begins or ends within a pretoken */
    const __m512i flags = _mm512_srli_epi64(_mm512_and_si512(_mm512_or_si512(ends, starts), parts), 56);
    /* [s - start] below 128, and [m0 .. m7], the top byte of each key */
    const places pieces = {_mm512_sub_epi64(begin, _mm512_set1_epi64((long long)start)),
                           has_parts ? _mm512_or_si512(lengths, flags) : lengths};
    /* text[0..64) and text[64..128) */
    const __m512i t0 = _mm512_loadu_si512(text), t1 = _mm512_loadu_si512(text + 64);
    /* keys: [lo0 hi0 .. lo3 hi3] */
    const __m512i k0 = keys_of(t0, t1, &pieces, 0, has_parts);
    /* [lo4 hi4 .. lo7 hi7] */
    const __m512i k1 = keys_of(t0, t1, &pieces, 4, has_parts);
    /* [lo0 .. lo7] */
    const __m512i lo = _mm512_permutex2var_epi64(k0, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), k1);
    /* [hi0 .. hi7] */
    const __m512i hi = _mm512_permutex2var_epi64(k0, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), k1);
    /* [p0 .. p7]: addresses */
    const __m512i primary = _mm512_add_epi64(_mm512_and_si512(hashes_of(lo, hi), self->entry_mask), self->entries);
    _mm512_store_si512((void *)(self->batch->keys + first), k0);
    _mm512_store_si512((void *)(self->batch->keys + first + 4), k1);
    _mm512_store_si512((void *)(self->batch->primary + first), primary);
    const uint32_t longs = lanes_of_8(_mm512_cmpgt_epu64_mask(lengths, self->most));
    if (BBPE_UNLIKELY(longs != 0)) put_longs(self, first, longs, has_parts);
}

BBPE_INLINE void prefetch_eight(const bbpe_cache_entry *const *primary) {
    for (size_t k = 0; k < AT_ONCE; k++) BBPE_PREFETCH(primary[k]);
}

BBPE_INLINE void fill_batch(bbpe_lookup_batch *batch, const bbpe_hot_cache *hot, const bbpe_pretokens *block, bool has_parts) {
    const filling self = {batch, hot, block, _mm512_set1_epi64((long long)(uintptr_t)hot->entries),
                          _mm512_set1_epi64((long long)hot->entry_mask), _mm512_set1_epi64(BBPE_CACHE_SHORT)};
    /* in registers, as what is written to the batch might be any of these */
    const uint8_t *const text = block->text;
    const size_t *const ends = block->ends;
    const size_t n = block->n, whole = block->count - block->count % AT_ONCE, bits = has_parts ? ~BBPE_CUT_PART : SIZE_MAX;
    __m512i before = _mm512_set1_epi64((long long)block->start);
    size_t start = block->start & bits;
    for (size_t i = 0; i < whole; i += AT_ONCE) {
        const __m512i eight = _mm512_loadu_si512(ends + i);
        const size_t end = ends[i + AT_ONCE - 1] & bits;
        if (BBPE_LIKELY(end - start <= REACH && n - start >= REACH))
            put_eight(&self, i, text + start, start, _mm512_alignr_epi64(eight, before, 7), eight, has_parts);
        else
            put_alone(&self, i, i + AT_ONCE, has_parts);
        /* the eight before, whose addresses no longer wait to be stored: multilingual text 3 % less time, English 1 % */
        if (i > 0) prefetch_eight(batch->primary + i - AT_ONCE);
        before = eight;
        start = end;
    }
    if (whole > 0) prefetch_eight(batch->primary + whole - AT_ONCE);
    put_alone(&self, whole, block->count, has_parts);
}

static BBPE_NOINLINE void fill_parts(bbpe_lookup_batch *self, const bbpe_hot_cache *hot, const bbpe_pretokens *block) {
    fill_batch(self, hot, block, true);
}

static void fill(bbpe_lookup_batch *self, const bbpe_hot_cache *hot, const bbpe_pretokens *block, bool has_parts) {
    if (has_parts) fill_parts(self, hot, block);
    else fill_batch(self, hot, block, false);
}

const struct bbpe_lookup_batch_loops bbpe_lookup_batch_avx512 = {fill, bbpe_lookup_batch_emit_avx2};
BBPE_TARGET_END
#else
typedef int bbpe_lookup_batch_avx512_is_for_x86;
#endif
