/* How a pattern is split, 64 bytes at a time: the same answers as split_token.h, by 64-bit algebra.
 *
 * A block begins at the start of a pretoken, so nothing before it matters and there are no carries.  Each
 * class is a mask of the bytes of its characters; shifts and one addition per flood give the starts.  The
 * last start found begins the next block.  What the algebra does not know lowers `limit`, below which the
 * starts are trusted; when none is left, split_token.h takes one step.  So a mask can refuse, never err.
 *
 * Includer: defines bbpe_vector, vector_load (64 bytes, unaligned), vector_eq and vector_in (inclusive range)
 * giving bbpe_lanes, a truth value a byte; lanes_and, lanes_or, lanes_but (a and not b) of these, and
 * lanes_bits, a bit a byte. */
#ifndef BBPE_SPLIT_MASKS_H
#define BBPE_SPLIT_MASKS_H

#include "split_token.h"

/* ASCII may be classified by other primitives than the rest. */
#ifndef ascii_vector
#define ascii_vector bbpe_vector
#define ascii_lanes bbpe_lanes
#define ascii_load vector_load
#define ascii_eq vector_eq
#define ascii_in vector_in
#define ascii_or lanes_or
#define ascii_but lanes_but
#define ascii_bits lanes_bits
#endif

#if defined(__GNUC__) && !defined(__clang__)
/* a vector load of masks just stored one by one waits for all of them to reach the cache */
#pragma GCC optimize("no-tree-vectorize", "no-tree-slp-vectorize")
#endif

enum { BBPE_MASKS_READ = 66 }; /* bytes that must be left: a block, and two more for the tails of characters */

typedef struct {
    uint64_t by[BBPE_UCLASS_COUNT]; /* the bytes of each class; ASCII controls count as punctuation */
    uint64_t quote, slash, line_end;
    uint64_t tails;                 /* the bytes behind the first of their character */
    unsigned limit;
} bbpe_masks;

BBPE_INLINE uint64_t masks_below(unsigned n) {
    return n >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
}

/* All bits of `run` at or above a bit of `from` without a gap between them; `from` is within `run`. */
BBPE_INLINE uint64_t masks_flood(uint64_t from, uint64_t run) {
    return (((run + from) ^ run) | from) & run;
}

BBPE_INLINE uint64_t masks_of(const bbpe_masks *m, uint32_t set) {
    uint64_t bits = 0;
#pragma GCC unroll 19
    for (int k = 0; k < BBPE_UCLASS_COUNT; k++)
        if (set >> k & 1) bits |= m->by[k];
    return bits;
}

/* The classes of ASCII; `high` are the other bytes. */
BBPE_INLINE bbpe_masks masks_ascii(const uint8_t *text, uint64_t *high) {
    const ascii_vector v = ascii_load(text);
    const uint64_t quote = ascii_bits(ascii_eq(v, '\'')), slash = ascii_bits(ascii_eq(v, '/'));
    const ascii_lanes line_end = ascii_eq(v, '\n'), newline = ascii_or(line_end, ascii_eq(v, '\r'));
    bbpe_masks m = {{0}, quote, slash, ascii_bits(line_end), 0, 64};
    *high = ascii_bits(ascii_in(v, 0x80, 0xFF));
    m.by[BBPE_CLASS_UPPER] = ascii_bits(ascii_in(v, 'A', 'Z'));
    m.by[BBPE_CLASS_LOWER] = ascii_bits(ascii_in(v, 'a', 'z'));
    m.by[BBPE_CLASS_NUMBER] = ascii_bits(ascii_in(v, '0', '9'));
    m.by[BBPE_CLASS_SPACE] = ascii_bits(ascii_eq(v, ' '));
    m.by[BBPE_CLASS_NEWLINE] = ascii_bits(newline);
    m.by[BBPE_CLASS_BLANK] = ascii_bits(ascii_but(ascii_in(v, '\t', '\r'), newline));
    m.by[BBPE_CLASS_PUNCT] = ~(*high | masks_of(&m, BBPE_SET_ALL & ~BBPE_SET(PUNCT)));
    return m;
}

/* Add characters of `length` bytes to a class, by their first bytes, which are returned. */
BBPE_INLINE uint64_t masks_add(bbpe_masks *m, int class_index, uint64_t first, unsigned length) {
    m->by[class_index] |= first | first << 1 | (length == 3 ? first << 2 : 0);
    return first;
}

/* Three-byte letters and punctuation of Chinese, Japanese and Korean text.  `three`: what begins three
 * bytes of which the last two are tails. */
BBPE_INLINE uint64_t masks_add_cjk(bbpe_masks *m, bbpe_vector v, bbpe_vector v1, bbpe_vector v2, uint64_t three) {
    const bbpe_lanes e3 = vector_eq(v, 0xE3);
    /* U+4DC0-4DFF are symbols */
    const bbpe_lanes han =
        lanes_or(vector_in(v, 0xE5, 0xE9), lanes_but(vector_eq(v, 0xE4), vector_eq(v1, 0xB7)));
    const bbpe_lanes hiragana = lanes_but(vector_eq(v1, 0x81), vector_eq(v2, 0x80));
    const bbpe_lanes middle = lanes_but(vector_eq(v1, 0x82), lanes_or(vector_in(v2, 0x97, 0x9C), vector_eq(v2, 0xA0)));
    const bbpe_lanes katakana = lanes_but(vector_eq(v1, 0x83), vector_eq(v2, 0xBB));
    const bbpe_lanes kana = lanes_and(e3, lanes_or(hiragana, lanes_or(middle, katakana)));
    const bbpe_lanes hangul = lanes_or(
        lanes_and(vector_eq(v, 0xEA), vector_in(v1, 0xB0, 0xBF)),
        lanes_or(vector_in(v, 0xEB, 0xEC), lanes_and(vector_eq(v, 0xED), vector_in(v1, 0x80, 0x9D))));
    /* U+3001-3003, 3008-3011, 3014-301F; U+FF01-FF0F, FF1A-FF20; U+30FB */
    const bbpe_lanes marks = lanes_and(
        vector_eq(v1, 0x80),
        lanes_or(vector_in(v2, 0x81, 0x83), lanes_or(vector_in(v2, 0x88, 0x91), vector_in(v2, 0x94, 0x9F))));
    const bbpe_lanes dot = lanes_and(vector_eq(v1, 0x83), vector_eq(v2, 0xBB));
    const bbpe_lanes wide = lanes_and(
        lanes_and(vector_eq(v, 0xEF), vector_eq(v1, 0xBC)),
        lanes_or(vector_in(v2, 0x81, 0x8F), vector_in(v2, 0x9A, 0xA0)));
    return masks_add(m, BBPE_CLASS_HAN_LETTER, lanes_bits(han) & three, 3)
           | masks_add(m, BBPE_CLASS_KANA_LETTER, lanes_bits(lanes_or(kana, hangul)) & three, 3)
           | masks_add(m, BBPE_CLASS_PUNCT, lanes_bits(lanes_or(wide, lanes_and(e3, lanes_or(marks, dot)))) & three, 3);
}

/* Two-byte letters whose neighbourhood is regular: U+00C0-00FF and U+0400-045F. */
BBPE_INLINE uint64_t masks_add_european(bbpe_masks *m, bbpe_vector v, bbpe_vector v1, uint64_t two) {
    const bbpe_lanes latin =
        lanes_but(vector_eq(v, 0xC3), lanes_or(vector_eq(v1, 0x97), vector_eq(v1, 0xB7)));
    const bbpe_lanes d0 = vector_eq(v, 0xD0), d1 = lanes_and(vector_eq(v, 0xD1), vector_in(v1, 0x80, 0x9F));
    const bbpe_lanes upper =
        lanes_or(lanes_and(latin, vector_in(v1, 0x80, 0x9E)), lanes_and(d0, vector_in(v1, 0x80, 0xAF)));
    const bbpe_lanes lower = lanes_but(lanes_or(latin, lanes_or(d0, d1)), upper);
    return masks_add(m, BBPE_CLASS_UPPER, lanes_bits(upper) & two, 2)
           | masks_add(m, BBPE_CLASS_LOWER, lanes_bits(lower) & two, 2);
}

/* The class of a well-formed character of two or three bytes; no branch, since scripts alternate. */
BBPE_INLINE unsigned masks_class_of(const uint8_t *s, unsigned is_three) {
    const uint32_t low = (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
    const uint32_t c = is_three ? (low & 0x3FF) << 6 | (s[2] & 0x3Fu) : low;
    return bbpe_uclass_value[bbpe_uclass_block[c / BBPE_UCLASS_BLOCK] * BBPE_UCLASS_BLOCK + c % BBPE_UCLASS_BLOCK];
}

/* Classify by table: `easy` begins well-formed characters of two bytes, or of three where `three` says so,
 * `hard` are bytes of longer, cut-off or malformed ones. */
BBPE_INLINE void masks_add_by_table(bbpe_masks *m, uint64_t easy, uint64_t hard, uint64_t three, const uint8_t *text,
                                    size_t start, size_t n) {
    uint64_t by[BBPE_UCLASS_COUNT] = {0};
    for (; easy; easy &= easy - 1) {
        const unsigned b = (unsigned)__builtin_ctzll(easy), is_three = (unsigned)(three >> b & 1);
        by[masks_class_of(text + start + b, is_three)] |= (uint64_t)(is_three ? 7 : 3) << b;
    }
    while (hard) {
        const unsigned b = (unsigned)__builtin_ctzll(hard);
        size_t next;
        const uint32_t set = bbpe_uclass_at(text, start + b, n, &next);
        const unsigned length = (unsigned)(next - start - b);
        if (b + length > 64) {
            m->limit = b;
            break;
        }
        const uint64_t bytes = masks_below(length) << b;
        by[__builtin_ctz(set)] |= bytes;
        m->tails |= bytes & (bytes - 1);
        hard &= ~bytes;
    }
#pragma GCC unroll 19
    for (int k = 0; k < BBPE_UCLASS_COUNT; k++) m->by[k] |= by[k];
}

/* Give each character that is not ASCII its class: the frequent letters in the vector, others by table. */
BBPE_INLINE void masks_add_high(bbpe_masks *m, uint64_t high, const uint8_t *text, size_t start, size_t n) {
    const bbpe_vector v = vector_load(text + start), v1 = vector_load(text + start + 1);
    const bbpe_vector v2 = vector_load(text + start + 2);
    const uint64_t tail = lanes_bits(vector_in(v, 0x80, 0xBF)), two = lanes_bits(vector_in(v, 0xC2, 0xDF)) & tail >> 1;
    /* not overlong, no surrogate */
    const bbpe_lanes odd = lanes_or(lanes_and(vector_eq(v, 0xE0), vector_in(v1, 0x80, 0x9F)),
                                    lanes_and(vector_eq(v, 0xED), vector_in(v1, 0xA0, 0xBF)));
    const uint64_t three = lanes_bits(lanes_but(vector_in(v, 0xE0, 0xEF), odd)) & tail >> 1 & tail >> 2;
    uint64_t known = 0;
    if (three) known |= masks_add_cjk(m, v, v1, v2, three);
    if (two) known |= masks_add_european(m, v, v1, two);
    m->tails = (two | three) << 1 | three << 2;
    const uint64_t easy = (two | three) & ~known, hard = high & ~(two | three | m->tails);
    if (easy | hard) masks_add_by_table(m, easy, hard, three, text, start, n);
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
            const unsigned run = gap ? 64 - (unsigned)__builtin_clzll(gap) : 0;
            if (run + 1 < m->limit) m->limit = run + 1;
        }
    }
    return upper & lower << 1;
}

BBPE_INLINE uint64_t masks_number_starts(bbpe_masks *m, uint64_t numbers, uint64_t space, const bbpe_scheme scheme) {
    const uint64_t led = scheme.number_space && !(scheme.apart & BBPE_SET_N) ? space << 1 : 0;
    if (scheme.number_max == 1) return numbers & ~m->tails & ~led;
    uint64_t starts = numbers & ~(numbers << 1);
    if (scheme.number_max == 0) return starts & ~led;
    if (numbers & m->tails) {
        /* bytes are not characters here */
        const unsigned first = (unsigned)__builtin_ctzll(numbers & m->tails) - 1;
        if (first < m->limit) m->limit = first;
    }
    uint64_t hop = numbers & numbers >> 1; /* where the next number_max bytes are numbers too */
    for (uint32_t k = 2; k <= scheme.number_max; k++) hop &= numbers >> k;
    if (hop)
        for (unsigned step = scheme.number_max; step < 64; step *= 2) {
            starts |= (starts & hop) << step;
            hop &= hop >> step;
        }
    return starts & ~led;
}

/* White space: a run starts, is cut behind its last line end, and leaves its last character to what follows.  Behind
 * `lines` the text ends. */
BBPE_INLINE uint64_t masks_blank_starts(const bbpe_masks *m, uint64_t white, uint64_t solid, uint64_t lines,
                                        const bbpe_scheme scheme) {
    uint64_t starts = white & ~(white << 1 & ~(lines << 1)), last = white & solid >> 1;
    if (m->tails) /* the first byte of a last character of two or three bytes */
        last = white & ~m->tails
               & ((solid >> 1) | (m->tails >> 1 & ((solid >> 2 & ~(m->tails >> 2)) | (solid >> 3 & m->tails >> 2))));
    if (!scheme.newline) return starts | (last & ~lines);
    const uint64_t newline = m->by[BBPE_CLASS_NEWLINE] & white, blank = white & ~newline;
    uint64_t behind = blank & newline << 1;
    const uint64_t ends = (behind + blank) & ~blank;
    for (uint64_t bad = ends & newline; bad; bad &= bad - 1) /* another line end follows */
        behind &= ~((uint64_t)1 << (63 - __builtin_clzll(behind & ((bad & (0 - bad)) - 1))));
    return starts | (last & ~newline) | behind;
}

/* Contractions from left to right, since each one moves the next start. */
BBPE_INLINE uint64_t masks_contract(bbpe_masks *m, uint64_t starts, uint64_t words, const uint8_t *text, size_t start,
                                    size_t n, const bbpe_scheme scheme) {
    const bool suffix = scheme.contraction == BBPE_CONTRACTION_SUFFIX_FOLD;
    /* what stands behind the last trusted byte may be a letter */
    const uint64_t before_word = words >> 1 | (masks_below(m->limit) & ~(masks_below(m->limit) >> 1));
    uint64_t quotes = m->quote & before_word & (suffix ? words << 1 : starts | 1) & masks_below(m->limit);
    for (unsigned done = 0; quotes; quotes &= quotes - 1) {
        const unsigned b = (unsigned)__builtin_ctzll(quotes);
        if (suffix && b == done) continue; /* behind a contraction, not behind a word */
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

/* The starts in a block, below m->limit; bit 0 is one, set or not. */
BBPE_INLINE uint64_t masks_starts(bbpe_masks *m, const uint8_t *text, size_t start, size_t n, const bbpe_scheme scheme) {
    const uint64_t in = masks_below(m->limit), space = m->by[BBPE_CLASS_SPACE] & in;
    const uint64_t words = masks_of(m, scheme.word) & in, numbers = masks_of(m, BBPE_SET_N) & in;
    const uint64_t lines = scheme.by_line ? m->line_end & in : 0;
    uint64_t rest = masks_of(m, scheme.rest & ~scheme.word) & in, white = masks_of(m, BBPE_SET_S) & in;
    if (scheme.han_run) {
        const uint64_t han = masks_of(m, BBPE_SET_HAN) & in;
        if (han) m->limit = (unsigned)__builtin_ctzll(han);
    }
    if (scheme.rest & scheme.word) { /* a mark belongs to a word, but not behind a run of rest */
        const uint64_t unclear = masks_of(m, scheme.rest & scheme.word) & rest << 1 & in;
        if (unclear && (unsigned)__builtin_ctzll(unclear) < m->limit) m->limit = (unsigned)__builtin_ctzll(unclear);
    }
    if (scheme.tail != BBPE_TAIL_NONE) {
        const uint64_t newline = m->by[BBPE_CLASS_NEWLINE] & in;
        const uint64_t tail = newline | (scheme.tail == BBPE_TAIL_NEWLINES_SLASH ? m->slash & in : 0);
        const uint64_t swallowed = masks_flood(newline & rest << 1, tail & ~(lines << 1));
        rest &= ~swallowed;
        white &= ~swallowed;
    }
    const uint64_t rest_starts = rest & ~(rest << 1) & ~(space << 1);
    uint64_t word_starts = words & ~(words << 1) & ~(space << 1);
    if (scheme.prefix != BBPE_SET(SPACE)) {
        uint64_t prefix = rest_starts | (m->by[BBPE_CLASS_BLANK] & in);
        if (m->tails)
            for (int k = 0; k < 3; k++) prefix |= prefix << 1 & m->tails & rest;
        word_starts &= ~(prefix << 1);
    }
    if (scheme.cased) word_starts |= masks_case_starts(m, words, scheme);
    const uint64_t solid = in & ~white & ~(scheme.apart & BBPE_SET_N ? numbers : 0);
    uint64_t starts = rest_starts | word_starts | masks_number_starts(m, numbers, space, scheme)
                      | masks_blank_starts(m, white, solid, lines, scheme);
    if (scheme.contraction != BBPE_CONTRACTION_NONE) starts = masks_contract(m, starts, words, text, start, n, scheme);
    if (m->limit == 0) return 0;
    if (white >> (m->limit - 1) & 1) { /* a run that reaches the limit is not over yet */
        const uint64_t before = ~white & masks_below(m->limit);
        m->limit = before ? 65 - (unsigned)__builtin_clzll(before) : 1;
    }
    return starts & masks_below(m->limit);
}

/* Whether the algebra knows the scheme: each character begins some clause, what an earlier step cuts off is at
 * most numbers, and a word may begin with any character of rest, or with a blank alone. */
BBPE_INLINE bool masks_know(const bbpe_scheme scheme) {
    const uint32_t taken = scheme.word | scheme.rest | BBPE_SET_S | BBPE_SET_N | (scheme.han_run ? BBPE_SET_HAN : 0);
    return taken == BBPE_SET_ALL && !scheme.ascii_word && scheme.number_max < 64
           && (scheme.prefix == BBPE_SET_SPACE || scheme.prefix == BBPE_SET_PREFIX)
           && (scheme.apart == 0 || (scheme.apart == BBPE_SET_N && !scheme.end_first && !scheme.han_run));
}

#ifndef masks_write
/* Write the places of the bits, eight at a time: the branches are then foreseeable. */
BBPE_INLINE size_t masks_write(uint64_t starts, size_t start, size_t *ends) {
    const unsigned count = (unsigned)__builtin_popcountll(starts);
    for (unsigned k = 0; k < count; k += 8)
        for (unsigned j = 0; j < 8; j++) {
            *ends++ = start + (unsigned)__builtin_ctzll(starts | (uint64_t)1 << 63); /* a place behind the last is any */
            starts &= starts - 1;
        }
    return count;
}
#endif

BBPE_INLINE bbpe_masks masks_load(const uint8_t *text, size_t start, size_t n) {
    uint64_t high;
    bbpe_masks m = masks_ascii(text + start, &high);
    if (high) masks_add_high(&m, high, text, start, n);
    return m;
}

/* Whether bytes 0 to `end`, of which the first character has `first` bytes, are as far as they go one word:
 * letters in whose midst no word ends, and before them at most what a word may begin with. */
BBPE_INLINE bool masks_one_word(const bbpe_masks *m, unsigned first, unsigned end, const bbpe_scheme scheme) {
    const uint32_t begins = (scheme.word | scheme.prefix) & ~(scheme.han_run ? BBPE_SET_HAN : 0);
    const uint64_t bytes = masks_below(end) & ~masks_below(first);
    return (masks_of(m, begins) & 1) && !(bytes & ~masks_of(m, scheme.word))
           && !(scheme.cased && (m->by[BBPE_CLASS_UPPER] & masks_below(end)));
}

/* The end of a word that fills a block to its limit and goes on from `i`; 0 when that takes split_token.h to say.
 * Without it each block of a long word, frequent in Japanese, would be looked at in vain. */
BBPE_INLINE size_t masks_long_word(const uint8_t *text, size_t i, size_t n, const bbpe_scheme scheme) {
    while (n - i >= BBPE_MASKS_READ) {
        const bbpe_masks m = masks_load(text, i, n);
        const uint64_t others = ~masks_of(&m, scheme.word) & masks_below(m.limit);
        const unsigned letters = others ? (unsigned)__builtin_ctzll(others) : m.limit;
        if (scheme.cased && (m.by[BBPE_CLASS_UPPER] & masks_below(letters))) return 0;
        i += letters;
        if (others) return scheme.contraction == BBPE_CONTRACTION_SUFFIX_FOLD ? bbpe_split_contraction(text, i, n, true) : i;
    }
    return 0;
}

/* The ends of pretokens that a vocabulary parts.  All pairs of a block are looked up, which no branch has to guess. */
BBPE_INLINE size_t masks_fill_joined(const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit,
                                     const bbpe_scheme scheme) {
    size_t count = 0;
    while (start < n && limit - count >= 64) {
        uint64_t starts = 0;
        if (n - start >= 64)
            for (unsigned k = 1; k < 64; k++)
                starts |= (bbpe_scheme_joins(scheme.joins, text[start + k - 1], text[start + k]) ^ 1) << k;
        if (starts) {
            count += masks_write(starts, start, ends + count);
            start += 63 - (unsigned)__builtin_clzll(starts);
        } else {
            ends[count++] = start = bbpe_split_token(text, start, n, scheme);
        }
    }
    return count;
}

#include "split_words_masks.h"

BBPE_INLINE size_t masks_fill(const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit,
                              const bbpe_scheme scheme) {
    size_t count = 0, end;
    if (scheme.joins != NULL) return masks_fill_joined(text, start, n, ends, limit, scheme);
    if (scheme.words != BBPE_WORDS_NONE) return masks_fill_words(text, start, n, ends, limit, scheme);
    while (start < n && limit - count >= 64) {
        end = 0;
        if (masks_know(scheme) && n - start >= BBPE_MASKS_READ) {
            uint64_t starts, high;
            bbpe_masks m = masks_ascii(text + start, &high);
            if (high) { /* apart, so that without it whole classes are known to be empty */
                masks_add_high(&m, high, text, start, n);
                const unsigned loaded = m.limit, first = 1 + (unsigned)__builtin_ctzll(~(m.tails >> 1));
                starts = masks_starts(&m, text, start, n, scheme) & ~(uint64_t)1;
                if (!starts && loaded > first && masks_one_word(&m, first, loaded, scheme))
                    end = masks_long_word(text, start + loaded, n, scheme);
            } else {
                starts = masks_starts(&m, text, start, n, scheme) & ~(uint64_t)1;
                if (!starts && masks_one_word(&m, 1, 64, scheme)) end = masks_long_word(text, start + 64, n, scheme);
            }
            if (BBPE_LIKELY(starts)) {
                count += masks_write(starts, start, ends + count);
                start += 63 - (unsigned)__builtin_clzll(starts);
                continue;
            }
        }
        ends[count++] = start = end ? end : bbpe_split_token(text, start, n, scheme);
    }
    return count;
}

#endif
