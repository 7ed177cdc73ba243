/* How a pattern is split: the scalar truth.
 *
 * bbpe_split_token reads the one pretoken that begins at a place; nothing before that place matters.  With
 * a constant scheme the compiler removes the clauses that the row does not have.
 *
 * A chain of splits (starcoder, DeepSeek) needs no second pass: where an earlier step cuts, between what is
 * in `apart` and what is not, the text ends for every clause of the last step.  So a clause sees just the
 * classes that are visible from where it began.  With `by_line` it ends after each line feed just so. */
#ifndef BBPE_SPLIT_TOKEN_H
#define BBPE_SPLIT_TOKEN_H

#include "split/words.h"

/* Characters of a run that are read one by one, before what follows goes to bbpe_uclass_run: a call takes as long as
 * some characters. */
#define BBPE_SPLIT_SHORT 16

/* The text of a pretoken as its clauses see it. */
typedef struct {
    const uint8_t *bytes;
    size_t n, start;
    uint32_t visible; /* set */
    bool by_line;
} bbpe_view;

/* Whether a line, and with it the text, ends before byte i. */
BBPE_INLINE bool bbpe_split_is_over(bbpe_view text, size_t i) {
    return text.by_line && i > text.start && text.bytes[i - 1] == '\n';
}

/* The class at byte i; empty at the end of the text, and where an earlier step has cut. */
BBPE_INLINE uint32_t bbpe_split_class(bbpe_view text, size_t i, size_t *next) {
    if (bbpe_split_is_over(text, i)) {
        *next = i;
        return 0;
    }
    return bbpe_uclass_at(text.bytes, i, text.n, next) & text.visible;
}

/* The end of a run of up to `limit` characters of a set (0: no limit). */
BBPE_INLINE size_t bbpe_split_run(bbpe_view text, size_t i, uint32_t set, uint32_t limit) {
    size_t next;
    for (uint32_t count = 0; (!limit || count < limit) && (bbpe_split_class(text, i, &next) & set); count++) {
        if (count == BBPE_SPLIT_SHORT && !limit && !text.by_line)
            return bbpe_uclass_run(text.bytes, next, text.n, text.n, set & text.visible);
        i = next;
    }
    return i;
}

/* The end of a contraction that begins at text[i], or i when there is none.  Case folding takes U+017F for
 * an s. */
BBPE_INLINE size_t bbpe_split_contraction(const uint8_t *text, size_t i, size_t n, bool fold) {
    if (n - i < 2 || text[i] != '\'') return i;
    const uint8_t lower = fold ? 0x20 : 0, a = text[i + 1] | lower;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return i + 2;
    if (n - i < 3) return i;
    const uint8_t b = text[i + 2] | lower;
    if ((a == 'l' && b == 'l') || ((a == 'v' || a == 'r') && b == 'e')) return i + 3;
    return fold && text[i + 1] == 0xC5 && text[i + 2] == 0xBF ? i + 3 : i;
}

/* The end of a word whose first character is at text[i].
 *
 * A cased word is upper* lower+ or else upper+ lower*, where caseless letters and marks are both.  Before the
 * first lower-case letter all is upper*; after it the first upper-case one ends the word.  Without any
 * lower-case letter, lower+ is the last caseless character, and only a run without one is upper+ whole. */
BBPE_INLINE size_t bbpe_split_word(bbpe_view text, size_t i, const bbpe_scheme scheme) {
    size_t next, caseless_end = 0;
    bool lower = false;
    uint32_t count = 0;
    if (!scheme.cased) return bbpe_split_run(text, i, scheme.word, 0);
    for (uint32_t set; (set = bbpe_split_class(text, i, &next)) & scheme.word; i = next) {
        if (count++ >= BBPE_SPLIT_SHORT && !text.by_line) next = bbpe_uclass_run(text.bytes, next, text.n, text.n, set);
        if (set & BBPE_SET(UPPER)) {
            if (lower) return i;
        } else if (set & BBPE_SET(LOWER)) {
            lower = true;
        } else if (!lower) {
            caseless_end = next;
        }
    }
    return !lower && caseless_end ? caseless_end : i;
}

/* The end of a run of rest that begins at text[i], and of the line ends it swallows. */
BBPE_INLINE size_t bbpe_split_rest(bbpe_view text, size_t i, const bbpe_scheme scheme) {
    const bool slash = scheme.tail == BBPE_TAIL_NEWLINES_SLASH;
    size_t next;
    i = bbpe_split_run(text, i, scheme.rest, 0);
    if (scheme.tail != BBPE_TAIL_NONE)
        while ((bbpe_split_class(text, i, &next) & BBPE_SET(NEWLINE)) || (slash && i < text.n && text.bytes[i] == '/' && !bbpe_split_is_over(text, i)))
            i = next;
    return i;
}

/* The end of white space: after its last line end, or else before its last character, which what follows
 * may begin with. */
BBPE_INLINE size_t bbpe_split_blank(bbpe_view text, size_t i, const bbpe_scheme scheme) {
    size_t end = i, last = i, newline_end = 0, next;
    uint32_t set;
    for (; (set = bbpe_split_class(text, end, &next)) & BBPE_SET_S; end = next) {
        last = end;
        if (set & BBPE_SET(NEWLINE)) newline_end = next;
    }
    if (scheme.end_first && set == 0) return end;
    if (scheme.newline && newline_end) return newline_end;
    return set == 0 || last == i ? end : last;
}

/* The end of characters that no clause takes: up to one that a clause begins with. */
BBPE_INLINE size_t bbpe_split_gap(bbpe_view text, size_t i, const bbpe_scheme scheme) {
    const uint32_t taken = scheme.word | scheme.rest | BBPE_SET_S | BBPE_SET_N | (scheme.han_run ? BBPE_SET_HAN : 0);
    size_t next, after;
    for (uint32_t set; (set = bbpe_split_class(text, i, &next)) && !(set & taken); i = next)
        if ((set & scheme.prefix) && (bbpe_split_class(text, next, &after) & scheme.word)) break;
    return i;
}

/* The end of an ASCII punctuation character or symbol and the ASCII letters after it, or i. */
BBPE_INLINE size_t bbpe_split_ascii_word(const uint8_t *text, size_t i, size_t n, uint32_t set) {
    size_t end = i + 1;
    if (text[i] >= 0x80 || !(set & BBPE_SET(PUNCT))) return i;
    while (end < n && (uint8_t)((text[end] | 0x20) - 'a') < 26) end++;
    return end > i + 1 ? end : i;
}

/* The classes that are visible from a character of class `set`: no earlier step cuts them off from it. */
BBPE_INLINE uint32_t bbpe_split_visible(uint32_t set, const bbpe_scheme scheme) {
    const uint32_t run = scheme.apart & ~BBPE_SET_N;
    return set & run ? run : set & scheme.apart ? BBPE_SET_N : ~scheme.apart;
}

/* The end of the pretoken that begins at text[i], i < n. */
BBPE_INLINE size_t bbpe_split_token(const uint8_t *text, size_t i, size_t n, const bbpe_scheme scheme) {
    size_t next, after, end;
    if (scheme.joins != NULL) {
        while (++i < n && bbpe_scheme_joins(scheme.joins, text[i - 1], text[i])) continue;
        return i;
    }
    if (scheme.words != BBPE_WORDS_NONE) {
        for (next = i + 1; next < n && !bbpe_words_part(text, i, next, scheme.words); next++) continue;
        return next;
    }
    const uint32_t set = bbpe_uclass_at(text, i, n, &next);
    const bbpe_view view = {text, n, i, bbpe_split_visible(set, scheme), scheme.by_line != 0};
    if (scheme.han_run && (set & BBPE_SET_HAN)) return bbpe_split_run(view, next, BBPE_SET_HAN, 0);
    if (scheme.contraction == BBPE_CONTRACTION_LEAD || scheme.contraction == BBPE_CONTRACTION_LEAD_FOLD) {
        end = bbpe_split_contraction(text, i, n, scheme.contraction == BBPE_CONTRACTION_LEAD_FOLD);
        if (end > i) return end;
    }
    if (scheme.ascii_word) {
        end = bbpe_split_ascii_word(text, i, n, set);
        if (end > i) return end;
    }
    const uint32_t second = bbpe_split_class(view, next, &after);
    if ((set & scheme.word) || ((set & scheme.prefix) && (second & scheme.word))) {
        end = bbpe_split_word(view, set & scheme.word ? i : next, scheme);
        return scheme.contraction == BBPE_CONTRACTION_SUFFIX_FOLD ? bbpe_split_contraction(text, end, n, true) : end;
    }
    if (set & BBPE_SET_N) return bbpe_split_run(view, i, BBPE_SET_N, scheme.number_max);
    if (scheme.number_space && (set & BBPE_SET(SPACE)) && (second & BBPE_SET_N))
        return bbpe_split_run(view, next, BBPE_SET_N, scheme.number_max);
    if (set & scheme.rest) return bbpe_split_rest(view, i, scheme);
    if ((set & BBPE_SET(SPACE)) && (second & scheme.rest)) return bbpe_split_rest(view, next, scheme);
    return set & BBPE_SET_S ? bbpe_split_blank(view, i, scheme) : bbpe_split_gap(view, i, scheme);
}

#endif
