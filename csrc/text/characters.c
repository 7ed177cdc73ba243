#include "text/characters.h"

#include "text/characters_table.h"

static uint32_t compose_hangul(uint32_t first, uint32_t second) {
    const uint32_t lead = first - BBPE_HANGUL_LEADS, vowel = second - BBPE_HANGUL_VOWELS;
    if (lead < BBPE_HANGUL_LEAD_COUNT && vowel < BBPE_HANGUL_VOWEL_COUNT)
        return BBPE_HANGUL + (lead * BBPE_HANGUL_VOWEL_COUNT + vowel) * BBPE_HANGUL_TRAIL_COUNT;
    const uint32_t syllable = first - BBPE_HANGUL, trail = second - BBPE_HANGUL_TRAILS;
    if (syllable < BBPE_HANGUL_COUNT && syllable % BBPE_HANGUL_TRAIL_COUNT == 0 && trail - 1 < BBPE_HANGUL_TRAIL_COUNT - 1)
        return first + trail;
    return 0;
}

uint32_t bbpe_character_compose(uint32_t first, uint32_t second) {
    uint32_t at = ((first * 0x9E3779B1u) ^ (second * 0x85EBCA6Bu)) * 0x9E3779B1u >> 21;
    for (; bbpe_character_pairs[at][0]; at = (at + 1) % BBPE_CHARACTER_PAIRS)
        if (bbpe_character_pairs[at][0] == first && bbpe_character_pairs[at][1] == second)
            return bbpe_character_pairs[at][2];
    return compose_hangul(first, second);
}
