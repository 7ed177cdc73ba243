/* How a pattern is split, 64 bytes at a time: the same answers as token.h, by 64-bit algebra.
 *
 * A block begins at the start of a pretoken, so nothing before it matters and there are no carries; or within a
 * word, of which nothing matters but whether all its letters are capitals.  Each class is a mask of the bytes of its
 * characters; shifts and one addition per flood give the starts.  The last start found, or the word after it, begins the next block.  Where
 * the algebra is unsure it lowers `limit`, below which the starts are trusted; when none is left, token.h takes
 * one step.  So a mask can refuse, never err.
 *
 * Includer: defines bbpe_vector, vector_load (64 bytes, unaligned), vector_eq and vector_in (inclusive range)
 * giving bbpe_byte_mask, a truth value a byte; mask_and, mask_or, mask_but (a and not b) of these, and
 * mask_bits, a bit a byte; and vector_with, a vector whose bytes have some bits besides.  It may define what simd/positions.h
 * asks for; vector_lookup, giving of 128 bytes those that the low seven bits of a vector's
 * bytes are the numbers of, in place of vector_with, and vector_has, whether a byte has a bit; and vector_page, giving in some lanes of a
 * vector, of 64 bytes, those that the low six bits are the numbers of, with it vector_merge, one vector in some lanes of
 * another, and perhaps vector_classes, putting the classes of well-formed characters beyond ASCII into the places of their
 * first bytes. */
#ifndef BBPE_SPLIT_MASKS_H
#define BBPE_SPLIT_MASKS_H

#include "simd/positions.h"
#include "split/class_masks.h"

enum {
    BBPE_MASKS_LEAST = 12,    /* bytes that the end of a text has at least where it is a block */
    BBPE_MASKS_STRETCH = 448, /* bytes of one of two stretches that are split in turn, */
    BBPE_MASKS_BOTH = 256,    /* and how many ends there is room for where that is done */
    BBPE_MASKS_NEAR = 8,     /* bytes that a block has to gain, or else steps take as long */
    BBPE_MASKS_STEPS = 512,   /* bytes that are read by steps at most before a block is tried again */
};

/* Where a block begins: at a pretoken, or within a word of which this is known. */
typedef enum {
    BBPE_MASKS_OUTSIDE,
    BBPE_MASKS_WITHIN,
    BBPE_MASKS_CAPITALS, /* in a pattern with cases: all letters so far are upper case */
} bbpe_masks_place;

/* All bits of `run` at or above a bit of `from` without a gap between them; `from` is within `run`. */
BBPE_INLINE uint64_t masks_flood(uint64_t from, uint64_t run) {
    return (((run + from) ^ run) | from) & run;
}

/* Starts of words, for a pattern with cases: upper* lower+ | upper+ lower*. */
BBPE_INLINE uint64_t masks_case_starts(bbpe_masks *m, uint64_t words, const bbpe_scheme scheme) {
    const uint64_t upper = m->by[BBPE_CLASS_UPPER] & words, lower = m->by[BBPE_CLASS_LOWER] & words;
    const uint64_t caseless = masks_of(m, scheme.word & ~(BBPE_SET(UPPER) | BBPE_SET(LOWER))) & words;
    if (caseless && upper) {
        /* caseless and upper case in one run: where it ends depends on all of it */
        const uint64_t mixed = (caseless & masks_flood(upper, words)) | (upper & masks_flood(caseless, words));
        if (mixed) {
            const uint64_t below = (mixed & (0 - mixed)) - 1, gap = below & ~words;
            const unsigned run = gap ? bbpe_bits_highest(gap) + 1 : 0;
            if (run + 1 < m->limit) m->limit = run + 1;
        }
    }
    return upper & lower << 1;
}

/* Starts of numbers of up to `most` characters, some of which have several bytes: one character after another. */
static BBPE_NOINLINE uint64_t masks_wide_number_starts(uint64_t numbers, uint64_t tails, uint32_t most) {
    uint64_t starts = 0;
    uint32_t count = 0; /* characters since the last start */
    for (uint64_t left = numbers & ~tails; left; left &= left - 1) {
        const uint64_t first = left & (0 - left);
        count = (numbers << 1 & first) && count < most ? count : 0;
        starts |= count++ == 0 ? first : 0;
    }
    return starts;
}

BBPE_INLINE uint64_t masks_number_starts(const bbpe_masks *m, uint64_t numbers, uint64_t space, const bbpe_scheme scheme) {
    const uint64_t led = scheme.number_space && !(scheme.apart & BBPE_SET_N) ? space << 1 : 0;
    if (scheme.number_max == 1) return numbers & ~m->tails & ~led;
    uint64_t starts = numbers & ~(numbers << 1);
    if (scheme.number_max == 0) return starts & ~led;
    if (numbers & m->tails) return masks_wide_number_starts(numbers, m->tails, scheme.number_max) & ~led;
    uint64_t hop = numbers & numbers >> 1; /* where the next number_max bytes are numbers too */
    for (uint32_t k = 2; k <= scheme.number_max; k++) hop &= numbers >> k;
    if (hop)
        for (unsigned step = scheme.number_max; step < 64; step *= 2) {
            starts |= (starts & hop) << step;
            hop &= hop >> step;
        }
    return starts & ~led;
}

/* White space: a run starts, is cut after its last line end, and leaves its last character to what follows.  After
 * `lines` the text ends. */
BBPE_INLINE uint64_t masks_blank_starts(const bbpe_masks *m, uint64_t white, uint64_t solid, uint64_t lines,
                                        const bbpe_scheme scheme) {
    uint64_t starts = white & ~(white << 1 & ~(lines << 1)), last = white & solid >> 1;
    if (white & m->tails) /* the first byte of a last character of two or three bytes */
        last = white & ~m->tails
               & ((solid >> 1) | (m->tails >> 1 & ((solid >> 2 & ~(m->tails >> 2)) | (solid >> 3 & m->tails >> 2))));
    if (!scheme.newline) return starts | (last & ~lines);
    const uint64_t newline = m->by[BBPE_CLASS_NEWLINE] & white, blank = white & ~newline;
    uint64_t after = blank & newline << 1;
    const uint64_t ends = (after + blank) & ~blank;
    for (uint64_t bad = ends & newline; bad; bad &= bad - 1) /* another line end follows */
        after &= ~((uint64_t)1 << (bbpe_bits_highest(after & ((bad & (0 - bad)) - 1))));
    return starts | (last & ~newline) | after;
}

/* Contractions from left to right, since each one moves the next start. */
BBPE_INLINE uint64_t masks_contract(bbpe_masks *m, uint64_t starts, uint64_t words, const uint8_t *text, size_t start,
                                    size_t n, const bbpe_scheme scheme) {
    const bool suffix = scheme.contraction == BBPE_CONTRACTION_SUFFIX_FOLD;
    /* what is after the last trusted byte may be a letter */
    const uint64_t in = masks_below(m->limit);
    uint64_t before_word = words >> 1 | (in & ~(in >> 1));
    /* where a word may begin with a quote, a contraction of one letter that ends with the word changes nothing: six of seven
     * in English */
    if (!suffix && scheme.prefix != BBPE_SET(SPACE)) before_word &= words >> 2 | (in & ~(in >> 2));
    uint64_t quotes = m->quote & before_word & (suffix ? words << 1 : starts | 1) & in;
    for (unsigned done = 0; quotes; quotes &= quotes - 1) {
        const unsigned b = bbpe_bits_lowest(quotes);
        if (suffix && b == done) continue; /* after a contraction, not after a word */
        if (b + 3 > m->limit) {
            m->limit = suffix ? b : b + 1;
            break;
        }
        const unsigned end =
            (unsigned)(bbpe_split_contraction(text, start + b, n, scheme.contraction != BBPE_CONTRACTION_LEAD) - start);
        if (end == b) continue;
        starts &= ~(masks_below(end) & ~masks_below(suffix ? b : b + 1));
        if (end < 64) starts |= (uint64_t)1 << end;
        done = end;
    }
    return starts;
}

/* Lower `limit` to where a mask begins. */
BBPE_INLINE void masks_trust_before(bbpe_masks *m, uint64_t mask) {
    if (mask && bbpe_bits_lowest(mask) < m->limit) m->limit = bbpe_bits_lowest(mask);
}

/* Starts of words where ASCII punctuation takes the ASCII letters after it. */
BBPE_INLINE uint64_t masks_after_ascii_word(const bbpe_masks *m, uint64_t rest_starts, uint64_t word_starts,
                                            uint64_t words) {
    const uint64_t first = (rest_starts & m->ascii_punct) << 1 & m->ascii_letters, others = words & ~m->ascii_letters;
    word_starts &= ~first;
    return others ? word_starts | (masks_flood(first, m->ascii_letters) << 1 & others) : word_starts;
}

/* The marks that belong to a run of rest, in a pattern whose words have marks too.  Where a word may begin with a character of
 * rest, one such character and marks are a word, and a run takes marks only if a space leads it or it has two characters
 * before the first one. */
BBPE_INLINE uint64_t masks_marks_of_rest(bbpe_masks *m, uint64_t rest, uint64_t space, uint64_t in,
                                         const bbpe_scheme scheme) {
    const uint64_t marks = masks_of(m, scheme.rest & scheme.word) & in, after = marks & rest << 1;
    if (after == 0) return 0;
    if (scheme.tail == BBPE_TAIL_NEWLINES_SLASH && (m->by[BBPE_CLASS_NEWLINE] << 1 & m->slash & in)) {
        masks_trust_before(m, after); /* a slash may be the end of the run before, or the beginning of one */
        return 0;
    }
    const uint64_t first = rest & ~m->tails, last = rest & ~(m->tails >> 1);
    const uint64_t runs = scheme.prefix & BBPE_SET(PUNCT) ? (first & space << 1) | (last & first >> 1) : rest;
    return masks_flood(runs, rest | marks) & marks;
}

/* The starts in a block, below m->limit; bit 0 is one, set or not. */
BBPE_INLINE uint64_t masks_starts(bbpe_masks *m, const uint8_t *text, size_t start, size_t n, const bbpe_scheme scheme) {
    const uint64_t in = masks_below(m->limit), space = m->by[BBPE_CLASS_SPACE] & in;
    const uint64_t numbers = masks_of(m, BBPE_SET_N) & in;
    const uint64_t lines = scheme.by_line ? m->line_end & in : 0;
    uint64_t rest = masks_of(m, scheme.rest & ~scheme.word) & in, white = masks_of(m, BBPE_SET_S) & in;
    /* an earlier step cuts where these begin and end */
    const uint64_t cjk = scheme.apart & BBPE_SET_CJK ? masks_of(m, BBPE_SET_CJK) & in : 0, borders = cjk ^ cjk << 1;
    if (scheme.han_run) masks_trust_before(m, masks_of(m, BBPE_SET_HAN) & in);
    if (masks_taken(scheme) != BBPE_SET_ALL) masks_trust_before(m, masks_of(m, BBPE_SET_ALL & ~masks_taken(scheme)) & in);
    const uint64_t marks = scheme.rest & scheme.word ? masks_marks_of_rest(m, rest, space, in, scheme) : 0;
    const uint64_t words = masks_of(m, scheme.word) & in & ~marks;
    rest |= marks;
    if (scheme.tail != BBPE_TAIL_NONE) {
        const uint64_t newline = m->by[BBPE_CLASS_NEWLINE] & in;
        const uint64_t tail = newline | (scheme.tail == BBPE_TAIL_NEWLINES_SLASH ? m->slash & in : 0);
        const uint64_t swallowed = masks_flood(newline & (rest & ~cjk) << 1, tail & ~(lines << 1));
        rest &= ~swallowed;
        white &= ~swallowed;
    }
    const uint64_t rest_starts = rest & ((~(rest << 1) & ~(space << 1)) | borders);
    uint64_t word_starts = words & ~(words << 1) & ~(space << 1);
    if (scheme.prefix != BBPE_SET(SPACE)) {
        uint64_t prefix = (scheme.prefix & BBPE_SET(PUNCT) ? rest_starts : 0) | (m->by[BBPE_CLASS_BLANK] & in);
        const uint64_t tails = m->tails & rest;
        prefix |= masks_flood(prefix << 1 & tails, tails);
        word_starts &= ~(prefix << 1);
    }
    if (scheme.cased) word_starts |= masks_case_starts(m, words, scheme);
    if (scheme.ascii_word) word_starts = masks_after_ascii_word(m, rest_starts, word_starts, words);
    word_starts |= words & borders;
    const uint64_t solid = in & ~white & ~cjk & ~(scheme.apart & BBPE_SET_N ? numbers : 0);
    uint64_t starts = rest_starts | word_starts | masks_number_starts(m, numbers, space, scheme)
                      | masks_blank_starts(m, white, solid, lines, scheme);
    if (scheme.contraction != BBPE_CONTRACTION_NONE) starts = masks_contract(m, starts, words, text, start, n, scheme);
    if (m->limit == 0) return 0;
    /* a run of white space that reaches the limit is not over yet; a branch would be guessed wrong in one block of four */
    const uint64_t before = ~white & masks_below(m->limit);
    const unsigned over = before ? bbpe_bits_highest(before) + 2 : 1;
    if (over < m->limit) m->limit = over;
    return starts & masks_below(m->limit);
}

/* Whether the algebra knows the scheme: each character begins some clause, what an earlier step cuts off is at
 * most numbers, and a word may begin with any character of rest, or with a blank alone; or it is of DeepSeek's kind. */
BBPE_INLINE bool masks_know(const bbpe_scheme scheme) {
    if (scheme.number_max >= 64) return false;
    if (scheme.prefix == BBPE_SET_PREFIX_NO_PUNCT) /* numbers are apart, other characters without a clause are rare */
        return scheme.rest == BBPE_SET_PS && scheme.apart & BBPE_SET_N && !scheme.cased && !scheme.end_first
               && !scheme.han_run && scheme.contraction == BBPE_CONTRACTION_NONE
               && scheme.tail != BBPE_TAIL_NEWLINES_SLASH;
    return masks_taken(scheme) == BBPE_SET_ALL && !scheme.ascii_word
           && (scheme.prefix == BBPE_SET_SPACE || scheme.prefix == BBPE_SET_PREFIX)
           && (scheme.apart == 0 || (scheme.apart == BBPE_SET_N && !scheme.end_first && !scheme.han_run));
}

/* How far a block reaches that ends within a word in whose midst no word ends so far, and in `*next` where the next block
 * begins; or 0.  `within`: it begins within such a word. */
BBPE_INLINE unsigned masks_reach(const bbpe_masks *m, uint64_t starts, bool within, bbpe_masks_place *next,
                                 const bbpe_scheme scheme) {
    const uint32_t begins = (scheme.word | scheme.prefix) & ~(scheme.han_run ? BBPE_SET_HAN : 0);
    const uint64_t after = starts ? ~(uint64_t)0 << (bbpe_bits_highest(starts)) : ~(uint64_t)0;
    uint64_t letters = masks_below(m->limit) & after;
    if (m->limit < 64 && (m->tails >> m->limit & 1)) return 0; /* trusted no further than into a character */
    if (scheme.ascii_word && (m->ascii_letters & letters)) return 0; /* the pretoken may have begun with punctuation */
    if (starts && (m->quote >> bbpe_bits_highest(starts) & 1)) return 0; /* it may be a contraction, which ends the pretoken */
    if (starts || !within) { /* the first character may be what a word begins with */
        if (!(masks_of(m, begins) & letters & (0 - letters))) return 0;
        letters &= letters - 1;
        letters &= ~masks_flood(letters & (0 - letters) & m->tails, m->tails);
    }
    if (!letters || letters & ~masks_of(m, scheme.word)) return 0;
    *next = letters & ~m->by[BBPE_CLASS_UPPER] ? BBPE_MASKS_WITHIN : BBPE_MASKS_CAPITALS;
    return m->limit;
}

/* The ends of pretokens that a vocabulary parts.  All pairs of a block are looked up, which no branch has to guess. */
BBPE_INLINE size_t masks_fill_joined(const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit,
                                     bool *has_3byte, const bbpe_scheme scheme) {
    size_t count = 0;
    while (start < n && limit - count >= 64) {
        uint64_t starts = 0;
        if (n - start >= 64) {
            *has_3byte |= masks_has_3byte(text + start);
            for (unsigned k = 1; k < 64; k++)
                starts |= (bbpe_scheme_joins(scheme.joins, text[start + k - 1], text[start + k]) ^ 1) << k;
        }
        if (starts) {
            count += positions_write(starts, start, ends + count);
            start += bbpe_bits_highest(starts);
        } else {
            ends[count++] = start = masks_step(text, start, n, has_3byte, scheme);
        }
    }
    return count;
}

#include "split/words_masks.h"

/* The starts in a block, without its first byte if a pretoken begins there.  If it begins within a word, none where what
 * is before may matter. */
BBPE_INLINE uint64_t masks_starts_from(bbpe_masks *m, bbpe_masks_block block, bbpe_masks_place place,
                                       const bbpe_scheme scheme) {
    const uint64_t starts = masks_starts(m, block.text, block.start, block.n, scheme) & ~(uint64_t)1;
    if (BBPE_LIKELY(place == BBPE_MASKS_OUTSIDE)) return starts;
    const uint64_t words = masks_of(m, scheme.word);
    if (scheme.cased && place != BBPE_MASKS_CAPITALS && (m->by[BBPE_CLASS_UPPER] & 1)) m->limit = 0;
    if (m->limit == 0) return 0;
    if (scheme.contraction == BBPE_CONTRACTION_SUFFIX_FOLD && (m->quote & 1)) return 0;
    uint64_t border = ~words & 1;
    if (scheme.apart & BBPE_SET_CJK) {
        size_t next = 0;
        const size_t before = block.start - 3; /* it has at least a character of three bytes, if it is of CJK */
        const uint32_t set = block.start < 3 ? 0 : bbpe_uclass_at(block.text, before, block.start, &next);
        border |= (masks_of(m, BBPE_SET_CJK) & 1) ^ (set & BBPE_SET_CJK && next == block.start);
    }
    return starts | border;
}

/* The starts of a block that begins at `*place`, as above; in `*reach` and `*place` where the next block begins if that is
 * within a word, or 0; `*has_3byte` as in split.h.
 *
 * A block of Chinese or Japanese goes on there instead of at its last start: fewer blocks, none of which waits for the
 * starts of the one before, 7.7 instead of 9.9 ms for 8 MB of Japanese.  Elsewhere nothing predicts how a block ends. */
BBPE_INLINE uint64_t masks_block_starts(bbpe_masks_block block, bbpe_masks_place *place, unsigned *reach, bool *has_3byte,
                                        const bbpe_scheme scheme) {
    const bbpe_masks_place from = *place;
    const size_t left = block.n - block.start;
    const bool within = from != BBPE_MASKS_OUTSIDE, is_whole = left >= BBPE_MASKS_READ;
    uint64_t starts, high;
    *place = BBPE_MASKS_OUTSIDE;
    bbpe_masks m = masks_ascii_of(block.bytes, &high, scheme);
    if (!is_whole && left < 64) m.limit = (unsigned)left;
    if (high) { /* a branch, so that without it whole classes are known to be empty */
        masks_add_high(&m, high, block, scheme);
        starts = masks_starts_from(&m, block, from, scheme);
        const uint64_t cjk = m.by[BBPE_CLASS_HAN_LETTER] | m.by[BBPE_CLASS_KANA_LETTER];
        *has_3byte |= m.has_3byte != 0;
        if (is_whole && (!starts || within || (m.limit > 0 && cjk >> (m.limit - 1) & 1)))
            *reach = masks_reach(&m, starts, within, place, scheme);
    } else {
        starts = masks_starts_from(&m, block, from, scheme);
        if (is_whole && (!starts || within)) *reach = masks_reach(&m, starts, within, place, scheme);
    }
    return starts;
}

/* The first blank before a letter in a block of ASCII, where a pretoken begins in each scheme that the algebra knows; or 0. */
BBPE_INLINE unsigned masks_blank_before_word(const uint8_t *text) {
    uint64_t high;
    const bbpe_masks m = masks_ascii(text, false, &high);
    const uint64_t letters = m.by[BBPE_CLASS_UPPER] | m.by[BBPE_CLASS_LOWER];
    const uint64_t blanks = m.by[BBPE_CLASS_SPACE] & letters >> 1 & ~(uint64_t)1;
    return blanks && !high ? bbpe_bits_lowest(blanks) : 0;
}

/* The starts in a whole block after its first byte, or 0 if it is not ASCII. */
BBPE_INLINE uint64_t masks_starts_of_ascii(const uint8_t *text, size_t start, size_t n, const bbpe_scheme scheme) {
    uint64_t high;
    bbpe_masks m = masks_ascii_of(text + start, &high, scheme);
    return high ? 0 : masks_starts(&m, text, start, n, scheme) & ~(uint64_t)1;
}

/* Two stretches of ASCII in turn, as a block waits for the one before to know where it begins, and not for one of the other
 * stretch: English 2.2 instead of 2.8 ms for 8 MB.  Returns how many ends there are, 0 if this is no such text. */
BBPE_INLINE size_t masks_fill_both(const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit,
                                   const bbpe_scheme scheme) {
    size_t later[BBPE_MASKS_BOTH], count = 0, more = 0;
    const unsigned far = masks_blank_before_word(text + start + BBPE_MASKS_STRETCH);
    const size_t middle = start + BBPE_MASKS_STRETCH + far;
    if (far == 0) return 0;
    for (size_t next = middle; start < middle;) {
        if (limit - count < 64 || BBPE_MASKS_BOTH - more < 64 || n - next < 64) return count;
        /* the next two stretches, whose first vectors would be waited for: English in memory as UTF-8 3 to 6 % less */
        BBPE_PREFETCH(text + (n - start > 2 * BBPE_MASKS_STRETCH ? start + 2 * BBPE_MASKS_STRETCH : n));
        BBPE_PREFETCH(text + (n - next > 2 * BBPE_MASKS_STRETCH ? next + 2 * BBPE_MASKS_STRETCH : n));
        const uint64_t first = masks_starts_of_ascii(text, start, n, scheme);
        const uint64_t second = masks_starts_of_ascii(text, next, n, scheme);
        if (first == 0 || second == 0) return count;
        count += positions_write(first, start, ends + count);
        more += positions_write(second, next, later + more);
        start += bbpe_bits_highest(first);
        next += bbpe_bits_highest(second);
    }
    while (ends[count - 1] > middle) count--;
    if (more > limit - count) more = limit - count;
    memcpy(ends + count, later, more * sizeof *ends);
    return count + more;
}

/* Where the algebra refuses at every second pretoken, each would cost a block.  So text is read by steps after a refusal that
 * is near the one before, for twice as many bytes each time: words of o200k with punctuation and marks take a third of the
 * time, and characters that no clause of DeepSeek's takes a fifth. */
typedef struct {
    size_t until; /* where a block is tried again */
    size_t end;   /* of the last step */
    size_t bytes; /* of the last stretch of steps */
} bbpe_masks_steps;

/* Note a step from `start` to `end`. */
BBPE_INLINE void masks_note_step(bbpe_masks_steps *self, size_t start, size_t end) {
    if (start >= self->until) {
        const size_t more = self->bytes ? 2 * self->bytes : BBPE_MASKS_NEAR;
        self->bytes = start - self->end >= BBPE_MASKS_NEAR ? 0 : more < BBPE_MASKS_STEPS ? more : BBPE_MASKS_STEPS;
        self->until = end + self->bytes;
    }
    self->end = end;
}

BBPE_INLINE size_t masks_fill(const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit, bool *has_3byte,
                              const bbpe_scheme scheme) {
    size_t count = 0, least = BBPE_MASKS_LEAST, open = start; /* where the pretoken begins that `start` is in */
    uint8_t copy[BBPE_MASKS_READ];
    if (scheme.joins != NULL) return masks_fill_joined(text, start, n, ends, limit, has_3byte, scheme);
    if (scheme.words != BBPE_WORDS_NONE) return masks_fill_words(text, start, n, ends, limit, has_3byte, scheme);
    while (masks_know(scheme) && limit - count >= BBPE_MASKS_BOTH && n - start >= 2 * BBPE_MASKS_STRETCH + 128) {
        const size_t found = masks_fill_both(text, start, n, ends + count, limit - count, scheme);
        if (found == 0) break;
        count += found;
        open = start = ends[count - 1];
    }
    /* what has no room for two stretches would be filled up one block after another: a caller has more for the next ones */
    if (count > 0 && limit - count < BBPE_MASKS_BOTH) return count;
    bbpe_masks_steps steps = {start, start, 0};
    bbpe_masks_place place = BBPE_MASKS_OUTSIDE;
    while (start < n && limit - count >= 64) {
        bbpe_masks_block block = {text + start, text, start, n};
        if (masks_know(scheme) && n - start >= least && start >= steps.until) {
            if (BBPE_UNLIKELY(n - start < BBPE_MASKS_READ)) {
                memset(copy, 0, sizeof copy);
                block.bytes = memcpy(copy, text + start, n - start);
                least = BBPE_MASKS_READ; /* what that leaves is mostly one pretoken */
            }
            unsigned reach = 0;
            const uint64_t starts = masks_block_starts(block, &place, &reach, has_3byte, scheme);
            if (BBPE_LIKELY(starts)) {
                count += positions_write(starts, start, ends + count);
                open = start + bbpe_bits_highest(starts);
            }
            if (starts || reach) {
                start = reach ? start + reach : open;
                continue;
            }
        }
        const size_t end = masks_step(text, open, n, has_3byte, scheme);
        masks_note_step(&steps, start, end);
        ends[count++] = open = start = end;
        place = BBPE_MASKS_OUTSIDE;
    }
    return count;
}

#endif
