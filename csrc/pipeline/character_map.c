/* Steps that change each character by itself. */
#include "pipeline/normalizer_pass.h"

enum { MOST = 4, BLOCK = 64 };

static bool has_upper(const uint8_t *text, size_t n) {
    size_t i = 0;
    for (; n - i >= BLOCK; i += BLOCK) {
        uint8_t any = 0; /* compilers make vectors of this */
        for (size_t k = 0; k < BLOCK; k++) any |= (uint8_t)(text[i + k] - 'A') < 26;
        if (any) return true;
    }
    for (; i < n; i++)
        if ((uint8_t)(text[i] - 'A') < 26) return true;
    return false;
}

/* The characters that a character of a set becomes; returns how many. */
static unsigned mapped(bbpe_characters set, const bbpe_search_match *found, uint32_t to[MOST]) {
    const unsigned flags = found->row->flags;
    switch (set) {
    case BBPE_CHARACTERS_LOWERED: {
        const uint32_t *text = bbpe_character_texts + found->row->lowered;
        BBPE_ASSERT(*text <= MOST);
        memcpy(to, text + 1, *text * sizeof *text);
        return *text;
    }
    case BBPE_CHARACTERS_CLEANED: to[0] = ' '; return !(flags & BBPE_CHARACTER_DROPPED);
    case BBPE_CHARACTERS_NMT: to[0] = ' '; return !(flags & BBPE_CHARACTER_NMT_DROPPED);
    case BBPE_CHARACTERS_IDEOGRAPHS:
        to[0] = to[2] = ' ';
        to[1] = found->code;
        return 3;
    default: return 0; /* marks are dropped */
    }
}

bbpe_status bbpe_pass_map(const bbpe_normalizer_step *step, bbpe_pass *pass) {
    bbpe_search search = bbpe_search_of(step->set, pass->search, pass->text, pass->n);
    bbpe_search_match found;
    uint32_t to[MOST];
    pass->lowers = step->set == BBPE_CHARACTERS_LOWERED;
    if (pass->lowers) pass->is_changed = has_upper(pass->text, pass->n);
    while (bbpe_search_next(&search, pass->done, &found)) {
        const unsigned count = mapped(step->set, &found, to);
        const bbpe_status status = bbpe_pass_cut(pass, found.start, found.end, count * sizeof *to);
        if (status != BBPE_OK) return status;
        for (unsigned i = 0; i < count; i++) bbpe_pass_put_character(pass, to[i], found.start);
    }
    return BBPE_OK;
}
