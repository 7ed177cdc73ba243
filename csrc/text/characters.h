/* What normalizers do with a character: tables that characters_generate.py writes, immutable. */
#ifndef BBPE_TEXT_CHARACTERS_H
#define BBPE_TEXT_CHARACTERS_H

#include "base/utf8.h"

/* Flags of a character. */
enum {
    BBPE_CHARACTER_DROPPED = 1 << 0,     /* BERT's cleaning drops it */
    BBPE_CHARACTER_SPACE = 1 << 1,       /* white space */
    BBPE_CHARACTER_PUNCTUATION = 1 << 2, /* BERT's pre-tokenizer makes it a word */
    BBPE_CHARACTER_IDEOGRAPH = 1 << 3,   /* BERT's normalizer puts blanks around it */
    BBPE_CHARACTER_NONSPACING = 1 << 4,  /* BERT's normalizer drops it with accents */
    BBPE_CHARACTER_MARK = 1 << 5,        /* StripAccents drops it */
    BBPE_CHARACTER_NMT_DROPPED = 1 << 6,
    BBPE_CHARACTER_NMT_BLANK = 1 << 7,
    BBPE_CHARACTER_NOT_NFC = 1 << 8, /* a normal form changes it; the flags of the others follow */
    BBPE_CHARACTER_NOT_NFD = 1 << 9,
    BBPE_CHARACTER_NOT_NFKC = 1 << 10,
    BBPE_CHARACTER_NOT_NFKD = 1 << 11,
    BBPE_CHARACTER_JOINS = 1 << 12,   /* it may compose with a character before it */
    BBPE_CHARACTER_ORDERED = 1 << 13, /* normal forms sort it: `order` is not 0 */
    BBPE_CHARACTER_LOWERS = 1 << 14,  /* its lower case is another one */
};

/* Kinds of characters in grapheme clusters (text/graphemes.h): Unicode's property Grapheme_Cluster_Break; others are extenders
 * and linkers of Indic conjuncts, their consonants, and pictographs. */
enum {
    BBPE_CLUSTER_OTHER,
    BBPE_CLUSTER_CR,
    BBPE_CLUSTER_LF,
    BBPE_CLUSTER_CONTROL,
    BBPE_CLUSTER_EXTEND,
    BBPE_CLUSTER_CONJUNCT_EXTEND,
    BBPE_CLUSTER_LINKER,
    BBPE_CLUSTER_ZWJ,
    BBPE_CLUSTER_REGIONAL,
    BBPE_CLUSTER_PREPEND,
    BBPE_CLUSTER_SPACING,
    BBPE_CLUSTER_L,
    BBPE_CLUSTER_V,
    BBPE_CLUSTER_T,
    BBPE_CLUSTER_LV,
    BBPE_CLUSTER_LVT,
    BBPE_CLUSTER_PICTOGRAPH,
    BBPE_CLUSTER_CONSONANT,
};

/* Sets that texts are searched for (text/search.h). */
typedef enum {
    BBPE_CHARACTERS_NFC, /* not stable in a normal form */
    BBPE_CHARACTERS_NFD,
    BBPE_CHARACTERS_NFKC,
    BBPE_CHARACTERS_NFKD,
    BBPE_CHARACTERS_LOWERED, /* without ASCII */
    BBPE_CHARACTERS_MARKS,
    BBPE_CHARACTERS_NONSPACING,
    BBPE_CHARACTERS_CLEANED,
    BBPE_CHARACTERS_IDEOGRAPHS,
    BBPE_CHARACTERS_NMT,
} bbpe_characters;

typedef struct {
    uint16_t flags, decomposed, compatible, lowered; /* places in bbpe_character_texts; 0: the character itself */
    uint8_t order;                                   /* by which normal forms sort it; 0: it is not sorted */
    uint8_t cluster;
} bbpe_character_row;

/* A set by the bytes of its characters, each without its upper two bits: a character of two bytes may be in the set if
 * lead & last2 is not 0, one of three if lead & second3 & last3 is not 0, and one of four if lead & second4 is not 0.  One of
 * three that begins with 0xE0, where scripts have most marks, has tables of its own. */
typedef struct {
    uint8_t lead[64], last2[64], second_e0[64], last_e0[64], second3[64], last3[64], second4[64];
    uint16_t flags; /* a character is in the set if it has one of these */
    uint8_t firm_e0; /* bits of second_e0 & last_e0 that are of more than marks which are only sorted (text/search.h) */
    bool has_controls; /* ASCII's control characters may be in the set; other ASCII is not */
} bbpe_character_set;

enum { BBPE_CHARACTER_BLOCK = 128, BBPE_CHARACTER_PAIRS = 2048 };

extern BBPE_HIDDEN const uint16_t bbpe_character_block[], bbpe_character_value[];
extern BBPE_HIDDEN const bbpe_character_row bbpe_character_rows[];
extern BBPE_HIDDEN const uint32_t bbpe_character_texts[], bbpe_character_pairs[BBPE_CHARACTER_PAIRS][3];
extern BBPE_HIDDEN const bbpe_character_set bbpe_character_sets[];

/* The row of a code point. */
BBPE_INLINE const bbpe_character_row *bbpe_character_get(uint32_t c) {
    const uint32_t block = bbpe_character_block[c / BBPE_CHARACTER_BLOCK];
    return bbpe_character_rows + bbpe_character_value[block * BBPE_CHARACTER_BLOCK + c % BBPE_CHARACTER_BLOCK];
}

/* Hangul syllables are arithmetic: a leading consonant, a vowel, and perhaps a trailing consonant. */
enum {
    BBPE_HANGUL = 0xAC00,
    BBPE_HANGUL_COUNT = 11172,
    BBPE_HANGUL_LEADS = 0x1100,
    BBPE_HANGUL_LEAD_COUNT = 19,
    BBPE_HANGUL_VOWELS = 0x1161,
    BBPE_HANGUL_VOWEL_COUNT = 21,
    BBPE_HANGUL_TRAILS = 0x11A7, /* of a syllable without one */
    BBPE_HANGUL_TRAIL_COUNT = 28,
};

/* The jamo of the syllable that is `number` after the first one; returns how many. */
BBPE_INLINE unsigned bbpe_hangul_decompose(uint32_t number, uint32_t jamo[3]) {
    const uint32_t trail = number % BBPE_HANGUL_TRAIL_COUNT, rest = number / BBPE_HANGUL_TRAIL_COUNT;
    jamo[0] = BBPE_HANGUL_LEADS + rest / BBPE_HANGUL_VOWEL_COUNT;
    jamo[1] = BBPE_HANGUL_VOWELS + rest % BBPE_HANGUL_VOWEL_COUNT;
    jamo[2] = BBPE_HANGUL_TRAILS + trail;
    return trail ? 3 : 2;
}

/* The character that two characters compose to; 0 if there is none. */
uint32_t bbpe_character_compose(uint32_t first, uint32_t second);

#endif
