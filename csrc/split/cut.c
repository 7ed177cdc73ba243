/* Where a text may be cut so that both parts together have the pretokens of the whole. */
#include "split/split.h"
#include "split/words.h"

/* The sets of characters between which every scheme is sure of a border.  Left out is what the clauses treat
 * by context: marks that are part of words here and of rest there, and Han numbers and symbols where Han has a
 * clause of its own. */
typedef struct {
    uint32_t letter, number, rest, han;
} sure_sets;

static sure_sets sure_of(const bbpe_scheme *scheme) {
    const uint32_t unsure = scheme->han_run ? BBPE_SET_HAN : 0;
    return (sure_sets){BBPE_SET_L & scheme->word & ~unsure, BBPE_SET_N & ~unsure,
                       scheme->rest & ~scheme->word & ~unsure, unsure & BBPE_SET_L};
}

/* Whether a pretoken ends between two neighbours, whatever is around them, and the part before it splits the
 * same when its text ends there.  It does, since the only clauses that look ahead are those of white space, which
 * never ends that part here. */
static bool is_sure(const bbpe_scheme *scheme, sure_sets sure, uint32_t before, uint32_t after, bool quote) {
    if (after & BBPE_SET_S) /* a run of rest may swallow line ends */
        return (before & (sure.letter | sure.number | sure.han))
               || ((before & sure.rest) && (scheme->tail == BBPE_TAIL_NONE || !(after & BBPE_SET(NEWLINE))));
    if (before & sure.han) return !(after & BBPE_SET_HAN);
    if (after & sure.han) return before & (sure.letter | sure.number | sure.rest);
    if (before & sure.letter) return (after & sure.number) || ((after & sure.rest) && !quote);
    if (before & sure.number) return after & (sure.letter | sure.rest);
    return (before & sure.rest) && (after & sure.number);
}

/* Where the character before text[i] begins, or i when the bytes there are none. */
static size_t character_before(const uint8_t *text, size_t i, size_t n) {
    size_t next;
    for (size_t length = 1; length <= 4 && length <= i; length++)
        if (!bbpe_utf8_is_tail(text[i - length]))
            return bbpe_utf8_decode(text, i - length, n, &next) != BBPE_UTF8_INVALID && next == i ? i - length : i;
    return i;
}

/* A safe cut where the pairs of bytes that a vocabulary joins decide. */
static size_t cut_joined(const uint64_t *joins, const uint8_t *text, size_t start, size_t stop) {
    for (size_t i = start ? start : 1; i < stop; i++)
        if (!bbpe_scheme_joins(joins, text[i - 1], text[i])) return i;
    return BBPE_SPLIT_NO_CUT;
}

/* A safe cut between BERT's words, which three bytes decide. */
static size_t cut_words(uint32_t words, const uint8_t *text, size_t start, size_t stop) {
    for (size_t i = start ? start : 1; i < stop; i++)
        if (bbpe_words_part(text, i < 3 ? 0 : i - 3, i, words)) return i;
    return BBPE_SPLIT_NO_CUT;
}

size_t bbpe_split_cut(const bbpe_scheme *scheme, const uint8_t *text, size_t start, size_t n, size_t window) {
    const sure_sets sure = sure_of(scheme);
    const size_t stop = n - start > window ? start + window : n;
    if (scheme->joins != NULL) return cut_joined(scheme->joins, text, start, stop);
    if (scheme->words != BBPE_WORDS_NONE) return cut_words(scheme->words, text, start, stop);
    /* between two characters of these, or of one class, there is none */
    const uint32_t inside = scheme->word & ~(BBPE_SET(UPPER) | BBPE_SET_N | BBPE_SET_S | (scheme->han_run ? BBPE_SET_HAN : 0));
    size_t i = start ? start : 1, next;
    uint32_t before = 0;
    while (i < stop && bbpe_utf8_is_tail(text[i])) i++;
    if (i < stop) {
        const size_t previous = character_before(text, i, n);
        if (previous < i) before = bbpe_uclass_at(text, previous, n, &next);
    }
    for (; i < stop; i = next) {
        const uint32_t after = bbpe_uclass_at(text, i, n, &next);
        if (is_sure(scheme, sure, before, after, text[i] == '\'')) return i;
        /* a lower-case letter ends a cased word before an upper-case one, but not in 'rE */
        if (scheme->cased && (before & BBPE_SET(LOWER)) && (after & BBPE_SET(UPPER)) && i >= 2 && text[i - 2] != '\'')
            return i;
        const size_t end = bbpe_uclass_run(text, next, stop, n, after & inside ? inside : after);
        before = end > next ? bbpe_uclass_at(text, character_before(text, end, n), n, &next) : after;
        next = end;
    }
    return BBPE_SPLIT_NO_CUT;
}
