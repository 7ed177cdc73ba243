/* The classes of the characters in a block of 64 bytes, a mask each.
 *
 * Includer: is masks.h, whose primitives these are made of. */
#ifndef BBPE_SPLIT_CLASS_MASKS_H
#define BBPE_SPLIT_CLASS_MASKS_H

#include "split/late.h"

/* a vector load of masks just stored one by one waits for all of them to reach the cache */
BBPE_GCC_OPTIMIZE("no-tree-vectorize")
BBPE_GCC_OPTIMIZE("no-tree-slp-vectorize")

enum { BBPE_MASKS_READ = 67 }; /* bytes that must be there: a block, and three more for the tails of characters */

/* 64 bytes of text[start..n), or fewer at its end. */
typedef struct {
    const uint8_t *bytes; /* the same, BBPE_MASKS_READ of which may be read */
    const uint8_t *text;
    size_t start, n;
} bbpe_masks_block;

typedef struct {
    uint64_t by[BBPE_UCLASS_COUNT]; /* the bytes of each class; controls of ASCII are punctuation, unless these differ */
    uint64_t quote, slash, line_end;
    uint64_t ascii_letters, ascii_punct; /* only if controls differ from punctuation */
    uint64_t tails;                 /* the bytes after the first of their character */
    uint64_t has_3byte;                  /* what begins characters of three bytes or more, or is malformed */
    unsigned limit;
} bbpe_masks;

#include "split/class_ranges.h"

BBPE_INLINE uint64_t masks_below(unsigned n) {
    return n >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
}

/* What some clause of a scheme begins with, besides prefixes. */
BBPE_INLINE uint32_t masks_taken(const bbpe_scheme scheme) {
    return scheme.word | scheme.rest | BBPE_SET_S | BBPE_SET_N | (scheme.han_run ? BBPE_SET_HAN : 0);
}

BBPE_INLINE uint64_t masks_of(const bbpe_masks *m, uint32_t set) {
    uint64_t bits = 0;
#pragma GCC unroll 19
    for (int k = 0; k < BBPE_UCLASS_COUNT; k++)
        if (set >> k & 1) bits |= m->by[k];
    return bits;
}

#ifdef vector_lookup
enum {
    BBPE_KIND_LETTER = 1,
    BBPE_KIND_NUMBER = 2,
    BBPE_KIND_SPACE = 4,
    BBPE_KIND_NEWLINE = 8,
    BBPE_KIND_BLANK = 16,
    BBPE_KIND_QUOTE = 32,
    BBPE_KIND_SLASH = 64,
    BBPE_KIND_PUNCT = 128,
};

/* clang-format off */
#define P BBPE_KIND_PUNCT
#define L BBPE_KIND_LETTER
#define N BBPE_KIND_NUMBER
static const uint8_t masks_kinds[128] = {
    P, P, P, P, P, P, P, P, P, BBPE_KIND_BLANK, BBPE_KIND_NEWLINE, BBPE_KIND_BLANK, BBPE_KIND_BLANK, BBPE_KIND_NEWLINE, P, P,
    P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P,
    BBPE_KIND_SPACE, P, P, P, P, P, P, P | BBPE_KIND_QUOTE, P, P, P, P, P, P, P, P | BBPE_KIND_SLASH,
    N, N, N, N, N, N, N, N, N, N, P, P, P, P, P, P,
    P, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, P, P, P, P, P,
    P, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, P, P, P, P, P,
};
#undef P
#undef L
#undef N
/* clang-format on */

/* The classes of ASCII; `high` are the other bytes.  By one lookup, a bit a class: a third of the instructions that comparing
 * takes.  All letters may be held for small ones if not `cased`. */
BBPE_INLINE bbpe_masks masks_ascii(const uint8_t *text, bool cased, uint64_t *high) {
    (void)cased;
    const bbpe_vector v = vector_load(text), kinds = vector_lookup(masks_kinds, v);
    const uint64_t letters = mask_bits(vector_has(kinds, BBPE_KIND_LETTER)), lower = mask_bits(vector_has(v, 'a' ^ 'A'));
    bbpe_masks m = {{0}, 0, 0, mask_bits(vector_eq(v, '\n')), 0, 0, 0, 0, 64};
    m.quote = mask_bits(vector_has(kinds, BBPE_KIND_QUOTE));
    m.slash = mask_bits(vector_has(kinds, BBPE_KIND_SLASH));
    m.by[BBPE_CLASS_UPPER] = letters & ~lower;
    m.by[BBPE_CLASS_LOWER] = letters & lower;
    m.by[BBPE_CLASS_NUMBER] = mask_bits(vector_has(kinds, BBPE_KIND_NUMBER));
    m.by[BBPE_CLASS_SPACE] = mask_bits(vector_has(kinds, BBPE_KIND_SPACE));
    m.by[BBPE_CLASS_NEWLINE] = mask_bits(vector_has(kinds, BBPE_KIND_NEWLINE));
    m.by[BBPE_CLASS_BLANK] = mask_bits(vector_has(kinds, BBPE_KIND_BLANK));
    m.by[BBPE_CLASS_PUNCT] = mask_bits(vector_has(kinds, BBPE_KIND_PUNCT));
    *high = mask_bits(vector_in(v, 0x80, 0xFF));
    if (*high) { /* they were looked up as ASCII */
        m.quote &= ~*high;
        m.slash &= ~*high;
#pragma GCC unroll 19
        for (int k = 0; k < BBPE_UCLASS_COUNT; k++) m.by[k] &= ~*high;
    }
    return m;
}
#else
/* The classes of ASCII; `high` are the other bytes.  All letters are held for small ones if not `cased`. */
BBPE_INLINE bbpe_masks masks_ascii(const uint8_t *text, bool cased, uint64_t *high) {
    const bbpe_vector v = vector_load(text);
    const bbpe_byte_mask line_end = vector_eq(v, '\n'), newline = mask_or(line_end, vector_eq(v, '\r'));
    bbpe_masks m = {{0}, 0, 0, mask_bits(line_end), 0, 0, 0, 0, 64};
    m.quote = mask_bits(vector_eq(v, '\''));
    m.slash = mask_bits(vector_eq(v, '/'));
    if (cased) m.by[BBPE_CLASS_UPPER] = mask_bits(vector_in(v, 'A', 'Z'));
    m.by[BBPE_CLASS_LOWER] = mask_bits(vector_in(cased ? v : vector_with(v, 'a' ^ 'A'), 'a', 'z'));
    m.by[BBPE_CLASS_NUMBER] = mask_bits(vector_in(v, '0', '9'));
    m.by[BBPE_CLASS_SPACE] = mask_bits(vector_eq(v, ' '));
    m.by[BBPE_CLASS_NEWLINE] = mask_bits(newline);
    m.by[BBPE_CLASS_BLANK] = mask_bits(mask_but(vector_in(v, '\t', '\r'), newline));
    *high = mask_bits(vector_in(v, 0x80, 0xFF));
    m.by[BBPE_CLASS_PUNCT] = ~(*high | masks_of(&m, BBPE_SET_ALL & ~BBPE_SET(PUNCT)));
    return m;
}
#endif

/* As masks_ascii, with controls as a class of their own where a scheme tells them from punctuation. */
BBPE_INLINE bbpe_masks masks_ascii_of(const uint8_t *text, uint64_t *high, const bbpe_scheme scheme) {
    bbpe_masks m = masks_ascii(text, scheme.cased, high);
    if (masks_taken(scheme) == BBPE_SET_ALL) return m;
    const bbpe_vector v = vector_load(text);
    const bbpe_byte_mask low = mask_or(vector_in(v, 0, 8), vector_in(v, 0x0E, 0x1F));
    m.by[BBPE_CLASS_OTHER] = mask_bits(mask_or(low, vector_eq(v, 0x7F)));
    m.by[BBPE_CLASS_PUNCT] &= ~m.by[BBPE_CLASS_OTHER];
    m.ascii_letters = m.by[BBPE_CLASS_UPPER] | m.by[BBPE_CLASS_LOWER];
    m.ascii_punct = m.by[BBPE_CLASS_PUNCT];
    return m;
}

/* Whether a block has characters of three bytes or more. */
BBPE_INLINE bool masks_has_3byte(const uint8_t *text) {
    return mask_bits(vector_in(vector_load(text), 0xE0, 0xFF)) != 0;
}

/* A step of the scalar truth: where the pretoken ends that begins at `start`. */
BBPE_INLINE size_t masks_step(const uint8_t *text, size_t start, size_t n, bool *has_3byte, const bbpe_scheme scheme) {
    const size_t end = bbpe_late_token(text, start, n, scheme);
    for (; end - start >= 64; start += 64) *has_3byte |= masks_has_3byte(text + start);
    *has_3byte |= bbpe_utf8_has_3byte(text + start, end - start);
    return end;
}

/* The first bytes of well-formed characters that a block has whole, by the length of these. */
typedef struct {
    uint64_t two, three, four;
} bbpe_masks_firsts;

/* The class of a well-formed character of two bytes, or of three or four; no branch, since scripts alternate. */
BBPE_INLINE unsigned masks_class_of(const uint8_t *s, unsigned is_three, unsigned is_four) {
    const uint32_t two = (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu), three = (two & 0x3FF) << 6 | (s[2] & 0x3Fu);
    const uint32_t c = is_four ? (three & 0x7FFF) << 6 | (s[3] & 0x3Fu) : is_three ? three : two;
    return bbpe_uclass_value[bbpe_uclass_block[c / BBPE_UCLASS_BLOCK] * BBPE_UCLASS_BLOCK + c % BBPE_UCLASS_BLOCK];
}

/* The bytes of each class by table: `easy` begins well-formed characters, `hard` are bytes of malformed ones and of those that
 * the end of the text cuts off, all of them in the block.  Returns those of the latter that are not the first of theirs. */
BBPE_INLINE uint64_t masks_by_table(uint64_t by[BBPE_UCLASS_COUNT], uint64_t easy, uint64_t hard, bbpe_masks_firsts firsts,
                                    bbpe_masks_block block) {
    uint64_t tails = 0;
    for (; easy; easy &= easy - 1) {
        const unsigned b = bbpe_bits_lowest(easy);
        const unsigned is_three = (unsigned)(firsts.three >> b & 1), is_four = (unsigned)(firsts.four >> b & 1);
        by[masks_class_of(block.bytes + b, is_three, is_four)] |= (uint64_t)(is_four ? 15 : is_three ? 7 : 3) << b;
    }
    while (hard) {
        const unsigned b = bbpe_bits_lowest(hard);
        size_t next;
        const uint32_t set = bbpe_uclass_at(block.text, block.start + b, block.n, &next);
        const uint64_t bytes = masks_below((unsigned)(next - block.start - b)) << b;
        by[bbpe_bits_lowest(set)] |= bytes;
        tails |= bytes & (bytes - 1);
        hard &= ~bytes;
    }
    return tails;
}

BBPE_INLINE void masks_add_by_table(bbpe_masks *m, uint64_t easy, uint64_t hard, bbpe_masks_firsts firsts,
                                    bbpe_masks_block block) {
    uint64_t by[BBPE_UCLASS_COUNT] = {0};
    m->tails |= masks_by_table(by, easy, hard, firsts, block);
#pragma GCC unroll 19
    for (int k = 0; k < BBPE_UCLASS_COUNT; k++) m->by[k] |= by[k];
}

#ifdef vector_page
/* Whether the algebra treats two classes alike. */
BBPE_INLINE bool masks_alike(int a, int b, const bbpe_scheme scheme) {
    const uint32_t sets[] = {
        scheme.word, scheme.rest, scheme.prefix, BBPE_SET_N, BBPE_SET(SPACE), BBPE_SET(NEWLINE), BBPE_SET(BLANK),
        scheme.cased ? BBPE_SET(UPPER) : 0, scheme.cased ? BBPE_SET(LOWER) : 0, scheme.han_run ? BBPE_SET_HAN : 0,
        scheme.apart,
    };
    uint32_t differ = 0;
#pragma GCC unroll 11
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) differ |= sets[k] >> a ^ sets[k] >> b;
    return (differ & 1) == 0;
}

static const uint8_t masks_no_bytes[64];

/* A block while pages are looked up, at the position of each first byte: that byte, the second one of characters of three
 * and four, the third one of characters of four, the last one of all, and the classes so far. */
typedef struct {
    bbpe_vector first, second, third, last, classes;
} bbpe_masks_pages;

/* Look up all characters on the page of 64 code points of the one at byte b; returns their first bytes. */
BBPE_INLINE uint64_t masks_look_up_page(bbpe_masks_pages *p, unsigned b, bbpe_masks_firsts firsts, const uint8_t *bytes) {
    const unsigned is_four = (unsigned)(firsts.four >> b & 1), is_two = (unsigned)(firsts.two >> b & 1);
    const uint8_t first = bytes[b], second = is_two ? 0 : bytes[b + 1], third = is_four ? bytes[b + 2] : 0;
    const unsigned three = (first & 0xFu) << 6 | (second & 0x3Fu);
    const unsigned page = is_four ? (three & 0x1FF) << 6 | (third & 0x3Fu) : is_two ? first & 0x1Fu : three;
    const uint8_t *values = bbpe_uclass_value + (size_t)bbpe_uclass_block[page / 2] * BBPE_UCLASS_BLOCK + page % 2 * 64;
    const bbpe_byte_mask same =
        mask_and(mask_and(vector_eq(p->first, first), vector_eq(p->second, second)), vector_eq(p->third, third));
    p->classes = vector_page(p->classes, same, values, p->last);
    return mask_bits(same);
}

_Static_assert(BBPE_UCLASS_BLOCK == 128, "a block of the table is two pages");

#ifdef vector_classes
#define masks_with_each(classes, easy, firsts, bytes) vector_classes(classes, easy, bytes)
#else
/* Put the classes of some characters into those of the block, one after another. */
static BBPE_NOINLINE bbpe_vector masks_with_each(bbpe_vector classes, uint64_t easy, bbpe_masks_firsts firsts,
                                                 const uint8_t *bytes) {
    _Alignas(64) uint8_t of_bytes[64];
    memcpy(of_bytes, &classes, 64);
    for (; easy; easy &= easy - 1) {
        const unsigned b = bbpe_bits_lowest(easy);
        of_bytes[b] = (uint8_t)masks_class_of(bytes + b, (unsigned)(firsts.three >> b & 1), (unsigned)(firsts.four >> b & 1));
    }
    return vector_load(of_bytes);
}
#endif

/* The classes of the characters of two to four bytes that begin at `easy`, in their places.  All characters of a page are
 * looked up together; a block mostly has one page or two.  Those of its first and of its last character come first, because
 * they do not wait for each other.  One character after another, Armenian and Coptic are split at 60 %, much of Latin at
 * 85 % of the speed. */
BBPE_INLINE bbpe_vector masks_classes(uint64_t easy, bbpe_masks_firsts firsts, const uint8_t *bytes) {
    enum { MORE_PAGES = 4 };
    const bbpe_vector none = vector_load(masks_no_bytes);
#ifdef vector_classes
    if (firsts.four & easy) return vector_classes(none, easy, bytes); /* they are on many pages */
#endif
    const bbpe_vector v = vector_load(bytes), v1 = vector_load(bytes + 1), v2 = vector_load(bytes + 2);
    /* among the easy ones */
    const bbpe_byte_mask from_three = vector_in(v, 0xE0, 0xFF), four = vector_in(v, 0xF0, 0xFF);
    const bbpe_vector last = vector_merge(v1, from_three, v2);
    bbpe_masks_pages p = {v, vector_merge(none, from_three, v1), vector_merge(none, four, v2),
                          vector_merge(last, four, vector_load(bytes + 3)), none};
    uint64_t left = easy & ~masks_look_up_page(&p, bbpe_bits_lowest(easy), firsts, bytes);
    left &= ~masks_look_up_page(&p, bbpe_bits_highest(easy), firsts, bytes);
    for (unsigned k = 0; left && k < MORE_PAGES; k++)
        left &= ~masks_look_up_page(&p, bbpe_bits_lowest(left), firsts, bytes);
    return left ? masks_with_each(p.classes, left, firsts, bytes) : p.classes;
}

/* Add the characters that begin at `easy` by their classes. */
BBPE_INLINE void masks_add_classes(bbpe_masks *m, uint64_t easy, bbpe_masks_firsts firsts, bbpe_vector classes,
                                   const bbpe_scheme scheme) {
    const uint64_t to_three = (firsts.three | firsts.four) & easy, to_four = firsts.four & easy;
    int begin = 0; /* of the classes that are alike, all of which become the first one */
#pragma GCC unroll 19
    for (int k = 1; k <= BBPE_UCLASS_COUNT; k++) {
        if (k < BBPE_UCLASS_COUNT && BBPE_IS_CONSTANT(scheme.word) && masks_alike(k - 1, k, scheme)) continue;
        if (begin != BBPE_CLASS_SPACE && begin != BBPE_CLASS_NEWLINE) { /* they are ASCII */
            const uint64_t by = mask_bits(vector_in(classes, (uint8_t)begin, (uint8_t)(k - 1))) & easy;
            m->by[begin] |= by | by << 1 | (by & to_three) << 2 | (by & to_four) << 3;
        }
        begin = k;
    }
}
#endif

/* Give each character that is not ASCII its class: the frequent letters in the vector, others by page or one by one. */
BBPE_INLINE void masks_add_high(bbpe_masks *m, uint64_t high, bbpe_masks_block block, const bbpe_scheme scheme) {
    const bbpe_vector v = vector_load(block.bytes), v1 = vector_load(block.bytes + 1);
    const bbpe_vector v2 = vector_load(block.bytes + 2);
    const uint64_t four = mask_bits(vector_in(v, 0xF0, 0xFF)), from_three = mask_bits(vector_in(v, 0xE0, 0xFF));
    const uint64_t from_two = mask_bits(vector_in(v, 0xC2, 0xFF)), tail = high & ~mask_bits(vector_in(v, 0xC0, 0xFF));
    /* not overlong, no surrogate */
    const bbpe_byte_mask odd = mask_or(mask_but(vector_eq(v, 0xE0), vector_in(v1, 0xA0, 0xFF)),
                                    mask_and(vector_eq(v, 0xED), vector_in(v1, 0xA0, 0xFF)));
    const uint64_t two = from_two & ~from_three & tail >> 1;
    const uint64_t three = from_three & ~four & ~mask_bits(odd) & tail >> 1 & tail >> 2;
    bbpe_masks_firsts firsts = {two, three, 0};
    uint64_t known = 0;
    /* asking first gains 10 % where scripts of other leads are many, and telling what is likely 3 % of Chinese */
    if (BBPE_LIKELY((three & mask_bits(vector_in(v, 0xE3, 0xFF))) != 0))
        known |= masks_add_cjk(m, v, v1, v2, three, scheme.apart & BBPE_SET(HAN_LETTER));
    else if (three & mask_bits(vector_eq(v, 0xE1)))
        known |= masks_add_vietnamese(m, v, v1, v2, three);
    else if (three & masks_brahmic(v, v1))
        known |= masks_add_brahmic(m, v1, v2, three & masks_brahmic(v, v1));
    if (two) {
        known |= masks_add_european(m, v, v1, two);
        if (two & mask_bits(vector_in(v, 0xC4, 0xC6))) known |= masks_add_latin(m, v, v1, two);
        if (two & mask_bits(vector_in(v, 0xD7, 0xDB))) known |= masks_add_semitic(m, v, v1, two);
    }
    m->tails = (two | three) << 1 | three << 2;
    if (four) {
        /* not overlong, not beyond U+10FFFF */
        const bbpe_byte_mask odd_four = mask_or(mask_but(vector_eq(v, 0xF0), vector_in(v1, 0x90, 0xFF)),
                                                 mask_or(mask_and(vector_eq(v, 0xF4), vector_in(v1, 0x90, 0xFF)),
                                                         vector_in(v, 0xF5, 0xFF)));
        firsts.four = four & ~mask_bits(odd_four) & tail >> 1 & tail >> 2 & tail >> 3;
        m->tails |= firsts.four << 1 | firsts.four << 2 | firsts.four << 3;
        known |= masks_add_emoji(m, v, v1, v2, vector_load(block.bytes + 3), firsts.four);
    }
    /* where a character begins that goes on after the block */
    const uint64_t last = (uint64_t)1 << 63;
    const uint64_t beyond = (from_two & last) | (from_three & (last | last >> 1)) | (four & last >> 2);
    uint64_t easy = (two | three | firsts.four) & ~known, hard = high & ~(two | three | firsts.four | m->tails);
    if (beyond) {
        const unsigned first = bbpe_bits_lowest(beyond);
        hard &= masks_below(first);
        if (first < m->limit) m->limit = first;
    }
    m->has_3byte = three | firsts.four | hard;
#ifdef vector_page
    /* fewer are found sooner one by one */
    if (bbpe_bits_count(easy) > 2) {
        masks_add_classes(m, easy, firsts, masks_classes(easy, firsts, block.bytes), scheme);
        easy = 0;
    }
#endif
    if (easy | hard) masks_add_by_table(m, easy, hard, firsts, block);
}

#endif
