#include "text/search.h"

#include "simd/cpu_level.h"

bbpe_search_blocks bbpe_search_select(void) {
#ifdef BBPE_HAS_X86
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX512) return bbpe_search_avx512;
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX2) return bbpe_search_avx2;
#elif defined(BBPE_HAS_NEON)
    return bbpe_search_neon;
#endif
    return bbpe_search_scalar;
}

static bool may_end(const bbpe_character_set *set, const uint8_t *s) {
    const uint8_t last = s[0], before = s[-1], first = s[-2];
    if (last < 0x80) return set->has_controls && (last < 0x20 || last == 0x7F);
    if (before < 0xC0 && first == 0xE0) return set->second_e0[before & 63] & set->last_e0[last & 63];
    if (before < 0xC0) return (first & 0xF0) == 0xE0 && set->lead[first & 63] & set->second3[before & 63] & set->last3[last & 63];
    if (before < 0xE0) return set->lead[before & 63] & set->last2[last & 63];
    return before >= 0xF0 && set->lead[before & 63] & set->second4[last & 63];
}

uint64_t bbpe_search_scalar(const bbpe_character_set *set, const uint8_t *text, size_t *at, size_t end) {
    for (; *at < end; *at += BBPE_SEARCH_BLOCK) {
        uint64_t bits = 0;
        for (size_t i = 0; i < BBPE_SEARCH_BLOCK; i++) bits |= (uint64_t)may_end(set, text + *at + i) << i;
        if (bits) return bits;
    }
    return 0;
}

bbpe_search bbpe_search_of(bbpe_characters set, bbpe_search_blocks blocks, const uint8_t *text, size_t n) {
    /* as if a block before the text had been searched */
    return (bbpe_search){bbpe_character_sets + set, blocks, text, n, (size_t)0 - BBPE_SEARCH_BLOCK, 0};
}

/* The bits of the block at self->at < n, of which bytes are beyond the text. */
static uint64_t edge(const bbpe_search *self) {
    uint8_t copy[BBPE_SEARCH_BEFORE + BBPE_SEARCH_BLOCK] = {0};
    const size_t before = self->at < BBPE_SEARCH_BEFORE ? self->at : BBPE_SEARCH_BEFORE, left = self->n - self->at;
    const size_t size = left < BBPE_SEARCH_BLOCK ? left : BBPE_SEARCH_BLOCK;
    size_t at = BBPE_SEARCH_BEFORE;
    memcpy(copy + BBPE_SEARCH_BEFORE - before, self->text + self->at - before, before + size);
    const uint64_t bits = self->blocks(self->set, copy, &at, BBPE_SEARCH_BEFORE + BBPE_SEARCH_BLOCK);
    return size < BBPE_SEARCH_BLOCK ? bits & (((uint64_t)1 << size) - 1) : bits;
}

/* Go to the next block that has bits; false after the last one. */
static bool next_block(bbpe_search *self) {
    self->at += BBPE_SEARCH_BLOCK;
    if (self->at == 0 && self->n > 0) {
        self->bits = edge(self);
        if (self->bits) return true;
        self->at = BBPE_SEARCH_BLOCK;
    }
    if (self->at >= self->n) return false;
    const size_t end = self->at + (self->n - self->at) / BBPE_SEARCH_BLOCK * BBPE_SEARCH_BLOCK;
    self->bits = self->blocks(self->set, self->text, &self->at, end);
    if (self->bits) return true;
    if (self->at < self->n) self->bits = edge(self);
    return self->bits != 0;
}

/* The character that ends with text[end], or whose second byte of four that is; false when it is not in the set. */
static bool character_at(const bbpe_search *self, size_t end, bbpe_search_match *found) {
    const uint8_t *s = self->text + end;
    if (end >= 2 && (s[-2] & 0xF0) == 0xE0 && bbpe_utf8_is_tail(s[-1]) && bbpe_utf8_is_tail(s[0])) {
        const uint32_t code = (s[-2] & 0x0Fu) << 12 | (s[-1] & 0x3Fu) << 6 | (s[0] & 0x3Fu);
        if (code < 0x800 || (code >= 0xD800 && code < 0xE000)) return false;
        *found = (bbpe_search_match){end - 2, end + 1, code, bbpe_character_get(code)};
        return found->row->flags & self->set->flags;
    }
    size_t start = end;
    while (start > 0 && end - start < 3 && bbpe_utf8_is_tail(self->text[start])) start--;
    return bbpe_search_is_at(self, start, found) && found->end > end;
}

bool bbpe_search_next(bbpe_search *self, size_t from, bbpe_search_match *found) {
    for (;;) {
        while (self->bits == 0)
            if (!next_block(self)) {
                self->at = self->n - self->n % BBPE_SEARCH_BLOCK; /* asked again, it ends again */
                return false;
            }
        const size_t end = self->at + bbpe_bits_lowest(self->bits);
        self->bits &= self->bits - 1;
        if (end >= from && character_at(self, end, found)) return true;
    }
}
