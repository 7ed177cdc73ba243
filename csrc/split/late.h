/* Pretokens that are one sign, or a few, many times over: where such a one ends is seen from its last signs.
 *
 * What a clause of token.h knows of the text so far is a class, whether there was a small letter, and how far back something
 * was: after the same signs a second time that is what it was after the first.  So a pretoken that begins with one of the
 * last of these signs ends where one does that begins with the first, unless it counts them, as it counts numbers. */
#ifndef BBPE_SPLIT_LATE_H
#define BBPE_SPLIT_LATE_H

#include "split/token.h"

enum {
    BBPE_LATE_LEAST = 128, /* bytes that are worth it */
    BBPE_LATE_LAST = 32,   /* bytes that are left of them: one unit four times */
    BBPE_LATE_UNIT = 8,    /* bytes of the longest unit */
};

/* The bytes of the unit that the signs from `first` on are, for BBPE_LATE_LEAST bytes at least; 0 if there is none, or if it
 * is a number. */
size_t bbpe_late_unit(const uint8_t *text, size_t first, size_t n);
/* Where among these signs a pretoken may begin that ends where the one from `start` on does, if that is `*least` or later; or
 * `start`, if it is short. */
size_t bbpe_late_start(const bbpe_scheme *scheme, const uint8_t *text, size_t start, size_t first, size_t n, size_t unit,
                       size_t *least);

/* Whether a blank before a sign of ASCII that is no number only leads the clause that takes this. */
BBPE_INLINE bool bbpe_late_blank_leads(const bbpe_scheme scheme) {
    const uint32_t ascii = BBPE_SET(UPPER) | BBPE_SET(LOWER) | BBPE_SET(PUNCT) | BBPE_SET(OTHER) | BBPE_SET_S;
    if (scheme.joins != NULL) return false;
    if (scheme.words != BBPE_WORDS_NONE) return true;
    return (scheme.prefix & BBPE_SET(SPACE)) && !(ascii & ~(scheme.word | scheme.rest | BBPE_SET_S)) && !(ascii & scheme.apart);
}

/* Where the pretoken that begins at `start` ends, as token.h says. */
BBPE_INLINE size_t bbpe_late_token(const uint8_t *text, size_t start, size_t n, const bbpe_scheme scheme) {
    size_t least = 0, from = start;
    if (n - start > BBPE_LATE_LEAST) {
        const size_t first = start + (text[start] == ' ' && text[start + 1] < 0x80 && bbpe_late_blank_leads(scheme));
        const size_t unit = bbpe_late_unit(text, first, n);
        if (unit) {
            const bbpe_scheme row = scheme;
            from = bbpe_late_start(&row, text, start, first, n, unit, &least);
        }
    }
    for (;; from = start) {
        const size_t end = bbpe_split_token(text, from, n, scheme);
        if (from == start || end >= least) return end;
    }
}

#endif
