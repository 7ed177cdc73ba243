#include "encode/cut_pieces.h"

#include "simd/cpu_level.h"

/* The character at text[i..n), length 0 if it is not well-formed as far as cutting cares; `*next` is where another one may
 * begin. */
static bbpe_character character_at(const uint8_t *text, size_t i, size_t n, size_t *next) {
    const unsigned length = bbpe_character_length(text[i]);
    bbpe_character c = {text[i], length};
    *next = i + 1;
    if (length == 0 || length > n - i) return (bbpe_character){0, 0};
    for (unsigned k = 1; k < length; k++) {
        if (!bbpe_utf8_is_tail(text[i + k])) return (bbpe_character){0, 0};
        c.bytes |= (uint32_t)text[i + k] << (8 * k);
    }
    *next = i + length;
    return c;
}

size_t bbpe_cut_piece(const bbpe_cut_points *cuts, const uint8_t *text, size_t at, size_t end) {
    size_t next;
    bbpe_character left = character_at(text, at, end, &next), right;
    for (; next < end; left = right) {
        at = next;
        right = character_at(text, at, end, &next);
        if (!left.length || !right.length || (left.length | right.length) == 1) continue;
        if (bbpe_cut_points_between(cuts, left, right)) return at;
    }
    return end;
}

BBPE_INLINE bool is_three(const bbpe_cutting *self, size_t at) {
    uint32_t bytes;
    if (at + sizeof bytes > self->n) return false;
    memcpy(&bytes, self->text + at, sizeof bytes);
    return bbpe_utf8_begins_3byte(bytes);
}

/* Cut characters of three bytes over many pretokens, from `at` on, where one is, as long as others follow; the pieces go
 * after `count` others.  Whether one ends is a bit that cannot be predicted, so its end is written at every border, and stays
 * there if it does. */
static size_t cut_threes(const bbpe_cut_points *cuts, bbpe_cutting *cutting, size_t at, size_t part, size_t *ends, size_t count,
                         size_t limit) {
    bbpe_cutting self = *cutting; /* in registers */
    size_t end = *self.end;
    bool goes_on = true;
    while (goes_on && count < limit) {
        uint64_t pair;
        const size_t next = at + 3;
        const bool is_end = next == end;
        if (next > end || at + sizeof pair > self.n) break;
        memcpy(&pair, self.text + at, sizeof pair);
        goes_on = bbpe_utf8_begins_3byte(pair >> 24);
        if (!is_end && !goes_on) break; /* what follows has another length */
        const bool is_cut = is_end | bbpe_cut_points_between_3byte(cuts, pair);
        ends[count] = next | (is_end ? 0 : part);
        count += is_cut;
        self.start = is_cut ? next : self.start;
        self.end += is_end;
        if (self.end == self.last) break;
        end = *self.end;
        at = next;
    }
    *cutting = self;
    return count;
}

/* Where one of the first two bytes of a pretoken begins a character of three bytes or more it is cut; where one comes later,
 * after letters of another kind, it is one piece. */
static bool starts_3byte(const uint8_t *bytes, size_t n) {
    return n > 0 && (bytes[0] >= 0xE0 || (n > 1 && bytes[1] >= 0xE0));
}

size_t bbpe_cut_pieces_scalar(const bbpe_cut_points *cuts, bbpe_cutting *cutting, size_t part, size_t *ends, size_t limit) {
    bbpe_cutting self = *cutting; /* in registers */
    size_t count = 0;
    BBPE_ASSERT(limit >= 64);
    while (self.end < self.last && count < limit) {
        const size_t end = *self.end, start = self.start;
        const bool is_led = end - start > 1 && self.text[start] < 0x80;
        if (is_three(&self, start + is_led)) count = cut_threes(cuts, &self, start + is_led, part, ends, count, limit);
        if (self.start > start) continue;
        const bool is_cut = starts_3byte(self.text + start, end - start);
        self.start = is_cut ? bbpe_cut_piece(cuts, self.text, start, end) : end;
        self.end += self.start == end;
        ends[count++] = self.start | (self.start == end ? 0 : part);
    }
    *cutting = self;
    return count;
}

bbpe_cut_pieces bbpe_cut_pieces_select(void) {
#ifdef BBPE_HAS_X86
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX512) return bbpe_cut_pieces_avx512;
    if (bbpe_cpu_level_get() >= BBPE_CPU_AVX2) return bbpe_cut_pieces_avx2;
#elif defined(BBPE_HAS_NEON)
    return bbpe_cut_pieces_neon;
#endif
    return bbpe_cut_pieces_scalar;
}
