#include "cut_units.h"

#include "split.h"

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

size_t bbpe_cut_unit(const bbpe_cut_points *cuts, const uint8_t *text, size_t at, size_t end) {
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

size_t bbpe_cut_units_scalar(const bbpe_cut_points *cuts, bbpe_cutting *self, size_t part, size_t *ends, size_t limit) {
    size_t count = 0;
    for (; self->end < self->last && count < limit; self->start = self->at) {
        const size_t end = *self->end;
        const bool is_wide = bbpe_utf8_has_wide(self->text + self->at, end - self->at);
        self->at = is_wide ? bbpe_cut_unit(cuts, self->text, self->at, end) : end;
        self->end += self->at == end;
        ends[count++] = self->at | (self->at == end ? 0 : part);
    }
    return count;
}

bbpe_cut_units bbpe_cut_units_select(void) {
#ifdef BBPE_HAS_X86
    if (bbpe_split_has_avx512()) return bbpe_cut_units_avx512;
#endif
    return bbpe_cut_units_scalar;
}
