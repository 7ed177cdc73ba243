/* How a pattern is split: the scalar truth.
 *
 * A split pattern of this field is a sentence of known clauses,
 *
 *     contraction | " "? word+ | " "? number+ | " "? rest+ | white space
 *
 * and a scheme is a row that says which clauses it has.  bbpe_split_token reads one pretoken; with a
 * constant scheme the compiler removes the clauses that the row does not have. */
#ifndef BBPE_SPLIT_TOKEN_H
#define BBPE_SPLIT_TOKEN_H

#include "uclass.h"

typedef struct {
    uint32_t contraction; /* 's 't 're 've 'm 'll 'd in front of everything else */
    uint32_t word;        /* set of characters of " ?word+" */
    uint32_t number;      /* set of characters of " ?number+" */
    uint32_t rest;        /* set of characters of " ?rest+" */
} bbpe_scheme;

BBPE_INLINE size_t bbpe_split_run(const uint8_t *text, size_t i, size_t n, uint32_t set) {
    for (size_t next; i < n && (bbpe_uclass_at(text, i, n, &next) & set); i = next) {}
    return i;
}

/* The end of a contraction that begins at text[i], or i when there is none. */
BBPE_INLINE size_t bbpe_split_contraction(const uint8_t *text, size_t i, size_t n) {
    if (n - i < 2 || text[i] != '\'') return i;
    const uint8_t a = text[i + 1];
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return i + 2;
    if (n - i < 3) return i;
    const uint8_t b = text[i + 2];
    return (a == 'l' && b == 'l') || ((a == 'v' || a == 'r') && b == 'e') ? i + 3 : i;
}

/* A run of white space leaves its last character to what follows, which may begin with it. */
BBPE_INLINE size_t bbpe_split_blank(const uint8_t *text, size_t i, size_t n) {
    size_t end = i, last = i, next;
    for (; end < n && (bbpe_uclass_at(text, end, n, &next) & BBPE_SET_S); end = next) last = end;
    return end >= n || last == i ? end : last;
}

/* The end of the pretoken that begins at text[i], i < n. */
BBPE_INLINE size_t bbpe_split_token(const uint8_t *text, size_t i, size_t n, const bbpe_scheme scheme) {
    size_t next, after;
    if (scheme.contraction) {
        const size_t end = bbpe_split_contraction(text, i, n);
        if (end > i) return end;
    }
    uint32_t set = bbpe_uclass_at(text, i, n, &next);
    if (set & BBPE_SET(SPACE)) {
        const uint32_t second = bbpe_uclass_at(text, next, n, &after);
        if (second & ~BBPE_SET_S) {
            set = second;
            next = after;
        }
    }
    if (set & scheme.word) return bbpe_split_run(text, next, n, scheme.word);
    if (set & scheme.number) return bbpe_split_run(text, next, n, scheme.number);
    if (set & scheme.rest) return bbpe_split_run(text, next, n, scheme.rest);
    return bbpe_split_blank(text, i, n);
}

#endif
