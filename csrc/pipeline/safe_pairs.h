/* Where a chain of splits may begin anew in a text: between the two characters of ASCII of a safe pair.  In every text a
 * span ends there, and the spans on one side do not depend on the other side.  So a chain may be applied to the parts
 * between safe pairs one by one.
 *
 * After some characters the chain does not tell others apart, such as most letters in a word.  One of these then stands for
 * all of them in the key of a part, so that few parts have different keys. */
#ifndef BBPE_PIPELINE_SAFE_PAIRS_H
#define BBPE_PIPELINE_SAFE_PAIRS_H

#include "pipeline/split_rule.h"

enum { BBPE_PAIR_IS_SAFE = 0x80, BBPE_PAIR_NO_FIRST = 128, BBPE_PART_LONGEST = 16 };

typedef struct {
    /* by two characters, or by BBPE_PAIR_NO_FIRST and the first one of a part: the least character that stands for the
     * second one there, and BBPE_PAIR_IS_SAFE if they are a safe pair */
    uint8_t pairs[129][128];
    bool has_any; /* safe pairs */
} bbpe_safe_pairs;

/* Look at the rules of a chain; `has_any` is false if some rule has too many states for that. */
bbpe_status bbpe_safe_pairs_init(bbpe_safe_pairs *self, const bbpe_split_rule *const *rules, size_t count);

/* What stands for the bytes of a part of a text: equal parts are split alike. */
typedef struct {
    uint64_t low, high;
    size_t length; /* 0: the part is too long, or not ASCII */
} bbpe_part_key;

/* The first position in text[start + 1, n) that is between a safe pair, or n; `*key` is that of the part before it. */
BBPE_INLINE size_t bbpe_safe_pairs_next(const bbpe_safe_pairs *self, const uint8_t *text, size_t start, size_t n,
                                        bbpe_part_key *key) {
    unsigned before = text[start];
    size_t i = start + 1;
    *key = (bbpe_part_key){0, 0, 0};
    if (BBPE_LIKELY(before < 0x80)) {
        uint64_t word = self->pairs[BBPE_PAIR_NO_FIRST][before], first = 0;
        const size_t most = n - start < BBPE_PART_LONGEST ? n : start + BBPE_PART_LONGEST;
        bool is_over = i == n;
        for (; i < most; i++) {
            const unsigned byte = text[i];
            if (byte >= 0x80) break;
            const unsigned pair = self->pairs[before][byte];
            is_over = pair & BBPE_PAIR_IS_SAFE;
            if (is_over) break;
            if (i - start == 8) {
                first = word;
                word = 0;
            }
            word = word << 8 | pair;
            before = byte;
        }
        if (is_over || i == n) {
            *key = (bbpe_part_key){word, first, i - start};
            return i;
        }
    }
    for (; i < n; i++)
        if ((text[i - 1] | text[i]) < 0x80 && self->pairs[text[i - 1]][text[i]] & BBPE_PAIR_IS_SAFE) return i;
    return n;
}

#endif
