/* The classes of frequent characters beyond ASCII, whose neighbourhoods are regular: comparisons of their bytes know them.
 *
 * Includer: is class_masks.h, which has the masks of a block. */
#ifndef BBPE_SPLIT_CLASS_RANGES_H
#define BBPE_SPLIT_CLASS_RANGES_H

/* Add characters of `length` bytes to a class, by their first bytes, which are returned. */
BBPE_INLINE uint64_t masks_add(bbpe_masks *m, int class_index, uint64_t first, unsigned length) {
    m->by[class_index] |= first | first << 1 | (length >= 3 ? first << 2 : 0) | (length == 4 ? first << 3 : 0);
    return first;
}

/* Three-byte letters and punctuation of Chinese, Japanese and Korean text.  `three`: what begins three
 * bytes of which the last two are tails.  If CJK is `apart`, not all of them are of a class that is. */
BBPE_INLINE uint64_t masks_add_cjk(bbpe_masks *m, bbpe_vector v, bbpe_vector v1, bbpe_vector v2, uint64_t three,
                                   bool apart) {
    const bbpe_byte_mask e3 = vector_eq(v, 0xE3);
    /* U+4DC0-4DFF are symbols; U+3400-4DBF and 9FA6-9FFF are rare letters */
    const bbpe_byte_mask e4 = vector_eq(v, 0xE4), no_han = apart ? vector_in(v1, 0x80, 0xB7) : vector_eq(v1, 0xB7);
    bbpe_byte_mask han = mask_or(vector_in(v, 0xE5, 0xE9), mask_but(e4, no_han));
    if (apart) {
        const bbpe_byte_mask be = mask_and(vector_eq(v1, 0xBE), vector_in(v2, 0xA6, 0xBF));
        han = mask_but(han, mask_and(vector_eq(v, 0xE9), mask_or(be, vector_eq(v1, 0xBF))));
    }
    const bbpe_byte_mask hiragana = mask_but(vector_eq(v1, 0x81), vector_eq(v2, 0x80));
    const bbpe_byte_mask middle = mask_but(vector_eq(v1, 0x82), mask_or(vector_in(v2, 0x97, 0x9C), vector_eq(v2, 0xA0)));
    const bbpe_byte_mask katakana = mask_but(vector_eq(v1, 0x83), vector_eq(v2, 0xBB));
    const bbpe_byte_mask kana = mask_and(e3, mask_or(hiragana, mask_or(middle, katakana)));
    const bbpe_byte_mask hangul = mask_or(
        mask_and(vector_eq(v, 0xEA), vector_in(v1, 0xB0, 0xFF)),
        mask_or(vector_in(v, 0xEB, 0xEC), mask_but(vector_eq(v, 0xED), vector_in(v1, 0x9E, 0xFF))));
    /* U+3000; U+3001-3003, 3008-3011, 3014-301F; U+FF01-FF0F, FF1A-FF20; U+30FB */
    const bbpe_byte_mask marks = mask_and(
        vector_eq(v1, 0x80),
        mask_or(vector_in(v2, 0x81, 0x83), mask_or(vector_in(v2, 0x88, 0x91), vector_in(v2, 0x94, 0x9F))));
    const bbpe_byte_mask dot = mask_and(vector_eq(v1, 0x83), vector_eq(v2, 0xBB));
    const bbpe_byte_mask has_3byte = mask_and(
        mask_and(vector_eq(v, 0xEF), vector_eq(v1, 0xBC)),
        mask_or(vector_in(v2, 0x81, 0x8F), vector_in(v2, 0x9A, 0xA0)));
    const bbpe_byte_mask kana_dot = mask_and(e3, dot), punct = mask_or(has_3byte, mask_and(e3, marks));
    const bbpe_byte_mask blank = mask_and(e3, mask_and(vector_eq(v1, 0x80), vector_eq(v2, 0x80)));
    const uint64_t known = masks_add(m, BBPE_CLASS_HAN_LETTER, mask_bits(han) & three, 3)
                           | masks_add(m, BBPE_CLASS_BLANK, mask_bits(blank) & three, 3);
    if (apart)
        return known | masks_add(m, BBPE_CLASS_KANA_LETTER, mask_bits(kana) & three, 3)
               | masks_add(m, BBPE_CLASS_CASELESS, mask_bits(hangul) & three, 3)
               | masks_add(m, BBPE_CLASS_KANA_SYMBOL, mask_bits(kana_dot) & three, 3)
               | masks_add(m, BBPE_CLASS_PUNCT, mask_bits(punct) & three, 3);
    return known | masks_add(m, BBPE_CLASS_KANA_LETTER, mask_bits(mask_or(kana, hangul)) & three, 3)
           | masks_add(m, BBPE_CLASS_PUNCT, mask_bits(mask_or(punct, kana_dot)) & three, 3);
}

/* Two-byte letters whose neighbourhood is regular: U+00C0-00FF and U+0400-045F. */
BBPE_INLINE uint64_t masks_add_european(bbpe_masks *m, bbpe_vector v, bbpe_vector v1, uint64_t two) {
    const bbpe_byte_mask latin =
        mask_but(vector_eq(v, 0xC3), mask_or(vector_eq(v1, 0x97), vector_eq(v1, 0xB7)));
    const bbpe_byte_mask d0 = vector_eq(v, 0xD0), d1 = mask_and(vector_eq(v, 0xD1), vector_in(v1, 0x80, 0x9F));
    const bbpe_byte_mask upper =
        mask_or(mask_and(latin, vector_in(v1, 0x80, 0x9E)), mask_and(d0, vector_in(v1, 0x80, 0xAF)));
    const bbpe_byte_mask lower = mask_but(mask_or(latin, mask_or(d0, d1)), upper);
    return masks_add(m, BBPE_CLASS_UPPER, mask_bits(upper) & two, 2)
           | masks_add(m, BBPE_CLASS_LOWER, mask_bits(lower) & two, 2);
}

/* Letters of Vietnamese, U+1E80-1EFF: pairs of a capital and a small one, but for U+1E96-1E9D. */
BBPE_INLINE uint64_t masks_add_vietnamese(bbpe_masks *m, bbpe_vector v, bbpe_vector v1, bbpe_vector v2, uint64_t three) {
    const uint64_t letters = mask_bits(mask_and(vector_eq(v, 0xE1), vector_in(v1, 0xBA, 0xBB))) & three;
    const bbpe_byte_mask small = mask_or(vector_has(v2, 1), mask_and(vector_eq(v1, 0xBA), vector_in(v2, 0x96, 0x9D)));
    const uint64_t lower = mask_bits(small) & letters;
    return masks_add(m, BBPE_CLASS_UPPER, letters & ~lower, 3) | masks_add(m, BBPE_CLASS_LOWER, lower, 3);
}

/* Latin Extended-A but for U+0138, in pairs of a capital and a small letter.  The small one is odd, but even in U+0139-0148
 * and U+0179-017E.  Also the two pairs of Vietnamese beyond it, at U+01A0 and U+01AF. */
BBPE_INLINE uint64_t masks_add_latin(bbpe_masks *m, bbpe_vector v, bbpe_vector v1, uint64_t two) {
    const bbpe_byte_mask c4 = mask_but(vector_eq(v, 0xC4), vector_eq(v1, 0xB8)), c5 = vector_eq(v, 0xC5);
    const bbpe_byte_mask horned = mask_and(vector_eq(v, 0xC6), vector_in(v1, 0xAF, 0xB0));
    const bbpe_byte_mask c6 = mask_or(horned, mask_and(vector_eq(v, 0xC6), vector_in(v1, 0xA0, 0xA1)));
    const bbpe_byte_mask from_0139 = mask_and(c4, vector_in(v1, 0xB9, 0xBF));
    const bbpe_byte_mask swapped_c5 = mask_and(c5, mask_or(vector_in(v1, 0x80, 0x88), vector_in(v1, 0xB9, 0xBE)));
    const uint64_t swapped = mask_bits(mask_or(horned, mask_or(from_0139, swapped_c5)));
    const uint64_t letters = mask_bits(mask_or(c6, mask_or(c4, c5))) & two;
    const uint64_t lower = (mask_bits(vector_has(v1, 1)) ^ swapped) & letters;
    return masks_add(m, BBPE_CLASS_UPPER, letters & ~lower, 2) | masks_add(m, BBPE_CLASS_LOWER, lower, 2);
}

/* Letters of Hebrew, U+05D0-05EA, and of Arabic, U+0620-064A and 0671-06D3. */
BBPE_INLINE uint64_t masks_add_semitic(bbpe_masks *m, bbpe_vector v, bbpe_vector v1, uint64_t two) {
    const bbpe_byte_mask hebrew = mask_and(vector_eq(v, 0xD7), vector_in(v1, 0x90, 0xAA));
    const bbpe_byte_mask d8 = mask_and(vector_eq(v, 0xD8), vector_in(v1, 0xA0, 0xBF));
    const bbpe_byte_mask d9 = mask_but(vector_eq(v, 0xD9), vector_in(v1, 0x8B, 0xB0));
    const bbpe_byte_mask db = mask_and(vector_eq(v, 0xDB), vector_in(v1, 0x80, 0x93));
    const bbpe_byte_mask arabic = mask_or(mask_or(d8, d9), mask_or(vector_eq(v, 0xDA), db));
    return masks_add(m, BBPE_CLASS_CASELESS, mask_bits(mask_or(hebrew, arabic)) & two, 2);
}

/* The first bytes of characters of Devanagari, U+0900-097F, and Thai, 0E00-0E7F. */
BBPE_INLINE uint64_t masks_brahmic(bbpe_vector v, bbpe_vector v1) {
    return mask_bits(mask_and(vector_eq(v, 0xE0), mask_or(vector_in(v1, 0xA4, 0xA5), vector_in(v1, 0xB8, 0xB9))));
}

/* Of these, which `three` are, the letters and marks: U+0900-094F and two dots, 0E01-0E3A and 0E40-0E4E. */
BBPE_INLINE uint64_t masks_add_brahmic(bbpe_masks *m, bbpe_vector v1, bbpe_vector v2, uint64_t three) {
    const bbpe_byte_mask a4 = vector_eq(v1, 0xA4), a5 = vector_eq(v1, 0xA5), b8 = vector_eq(v1, 0xB8), b9 = vector_eq(v1, 0xB9);
    const bbpe_byte_mask hindi = mask_and(a4, mask_or(vector_in(v2, 0x84, 0xB9), vector_eq(v2, 0xBD)));
    const bbpe_byte_mask signs = mask_or(mask_but(a4, hindi), mask_and(a5, vector_in(v2, 0x80, 0x8F)));
    const bbpe_byte_mask thai = mask_or(mask_and(b8, mask_or(vector_in(v2, 0x81, 0xB0), vector_in(v2, 0xB2, 0xB3))),
                                        mask_and(b9, vector_in(v2, 0x80, 0x86)));
    const bbpe_byte_mask tones = mask_or(mask_and(b8, mask_or(vector_eq(v2, 0xB1), vector_in(v2, 0xB4, 0xBA))),
                                         mask_and(b9, vector_in(v2, 0x87, 0x8E)));
    return masks_add(m, BBPE_CLASS_CASELESS, mask_bits(mask_or(hindi, thai)) & three, 3)
           | masks_add(m, BBPE_CLASS_MARK, mask_bits(mask_or(signs, tones)) & three, 3)
           | masks_add(m, BBPE_CLASS_PUNCT, mask_bits(mask_and(a5, vector_in(v2, 0xA4, 0xA5))) & three, 3);
}

/* Emoji: U+1F1E6-1F1FF, 1F300-1F6BF and 1F900-1F9FF, all of which are symbols. */
BBPE_INLINE uint64_t masks_add_emoji(bbpe_masks *m, bbpe_vector v, bbpe_vector v1, bbpe_vector v2, bbpe_vector v3, uint64_t four) {
    const bbpe_byte_mask flags = mask_and(vector_eq(v2, 0x87), vector_in(v3, 0xA6, 0xBF));
    const bbpe_byte_mask others = mask_or(vector_in(v2, 0x8C, 0x9A), vector_in(v2, 0xA4, 0xA7));
    const bbpe_byte_mask block = mask_and(vector_eq(v, 0xF0), vector_eq(v1, 0x9F));
    return masks_add(m, BBPE_CLASS_PUNCT, mask_bits(mask_and(block, mask_or(flags, others))) & four, 4);
}

#endif
