/* Where a text may be parted before rules are applied to its parts.  With BBPE_WORDS_SPACE that is before white space of
 * ASCII, but U+000B and U+000C, which BERT's rules drop; with BBPE_WORDS_BLANK before blanks and line ends alone; for
 * BERT's rules (models/normalise/bert.h) around its punctuation too, after some punctuation of Chinese and Japanese, and
 * with BBPE_WORDS_BERT_APART around ideographs.  A blank stays with what is after it, so that it costs no pretoken of its
 * own.
 *
 * A border is known by the three bytes before it and the one after it, and never by any before the pretoken. */
#ifndef BBPE_SPLIT_WORDS_H
#define BBPE_SPLIT_WORDS_H

#include "split/scheme.h"

BBPE_INLINE bool bbpe_words_is_space(uint8_t byte, uint32_t words) {
    return byte == ' ' || (byte == '\t' && words != BBPE_WORDS_BLANK) || byte == '\n' || byte == '\r';
}

BBPE_INLINE bool bbpe_words_is_punctuation(uint8_t byte) {
    return (uint8_t)(byte - '!') <= '/' - '!' || (uint8_t)(byte - ':') <= '@' - ':'
           || (uint8_t)(byte - '[') <= '`' - '[' || (uint8_t)(byte - '{') <= '~' - '{';
}

/* U+5000 to U+9FFF, by the first of three bytes. */
BBPE_INLINE bool bbpe_words_is_ideograph(uint8_t lead) {
    return (uint8_t)(lead - 0xE5) <= 0xE9 - 0xE5;
}

/* A character of three bytes after which a word ends. */
BBPE_INLINE bool bbpe_words_is_end(const uint8_t *s, uint32_t words) {
    if (!bbpe_utf8_is_tail(s[1]) || !bbpe_utf8_is_tail(s[2])) return false;
    if (bbpe_words_is_ideograph(s[0])) return words == BBPE_WORDS_BERT_APART;
    return s[0] == 0xE3 && s[1] == 0x80 && (s[2] <= 0x83 || (uint8_t)(s[2] - 0x88) <= 0x91 - 0x88);
}

/* Whether a pretoken that begins at `start` ends at i, start < i < n. */
BBPE_INLINE bool bbpe_words_part(const uint8_t *text, size_t start, size_t i, uint32_t words) {
    const uint8_t before = text[i - 1], after = text[i];
    if (bbpe_words_is_space(after, words)) return true;
    if (words == BBPE_WORDS_SPACE || words == BBPE_WORDS_BLANK) return false;
    if (bbpe_words_is_punctuation(before)) return true;
    if (before != ' ' && bbpe_words_is_punctuation(after)) return true;
    if (before != ' ' && words == BBPE_WORDS_BERT_APART && bbpe_words_is_ideograph(after)) return true;
    return i - start >= 3 && bbpe_words_is_end(text + i - 3, words);
}

#endif
