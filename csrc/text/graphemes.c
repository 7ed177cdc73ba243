#include "text/graphemes.h"

#include "text/search.h"

/* A cluster up to one of its characters. */
typedef struct {
    unsigned last;                  /* the kind of this character */
    bool is_pictograph, is_joined;  /* it ends with a pictograph and extenders; and with ZWJ after them */
    bool is_consonant, has_linker;  /* it ends with a consonant, extenders and linkers; and one of them is a linker */
    bool is_half_flag;              /* it ends with an odd number of regional indicators */
} cluster;

static unsigned kind_of(uint32_t c) {
    return c == BBPE_UTF8_INVALID ? BBPE_CLUSTER_OTHER : bbpe_character_get(c)->cluster;
}

static bool is_control(unsigned kind) {
    return kind == BBPE_CLUSTER_CR || kind == BBPE_CLUSTER_LF || kind == BBPE_CLUSTER_CONTROL;
}

static bool is_extender(unsigned kind) {
    return kind == BBPE_CLUSTER_EXTEND || kind == BBPE_CLUSTER_CONJUNCT_EXTEND || kind == BBPE_CLUSTER_LINKER;
}

static bool joins_hangul(unsigned left, unsigned right) {
    const bool vowels = right == BBPE_CLUSTER_V, trails = right == BBPE_CLUSTER_T;
    if (left == BBPE_CLUSTER_L) return right == BBPE_CLUSTER_L || vowels || right == BBPE_CLUSTER_LV || right == BBPE_CLUSTER_LVT;
    if (left == BBPE_CLUSTER_LV || left == BBPE_CLUSTER_V) return vowels || trails;
    return (left == BBPE_CLUSTER_LVT || left == BBPE_CLUSTER_T) && trails;
}

/* Whether the next character is in the cluster too, where it does not matter what is before the last one. */
static bool joins_last(unsigned left, unsigned right) {
    if (left == BBPE_CLUSTER_CR && right == BBPE_CLUSTER_LF) return true;
    if (is_control(left) || is_control(right)) return false;
    return is_extender(right) || right == BBPE_CLUSTER_ZWJ || right == BBPE_CLUSTER_SPACING || left == BBPE_CLUSTER_PREPEND
        || joins_hangul(left, right);
}

static bool joins(const cluster *self, unsigned kind) {
    return joins_last(self->last, kind) || (self->has_linker && kind == BBPE_CLUSTER_CONSONANT)
        || (self->is_joined && kind == BBPE_CLUSTER_PICTOGRAPH) || (self->is_half_flag && kind == BBPE_CLUSTER_REGIONAL);
}

static void add(cluster *self, unsigned kind) {
    const bool is_linker = kind == BBPE_CLUSTER_LINKER, is_zwj = kind == BBPE_CLUSTER_ZWJ;
    const bool is_conjunct = is_linker || is_zwj || kind == BBPE_CLUSTER_CONJUNCT_EXTEND;
    const bool stays = self->is_consonant && is_conjunct;
    self->has_linker = stays && (self->has_linker || is_linker);
    self->is_consonant = stays || kind == BBPE_CLUSTER_CONSONANT;
    self->is_joined = self->is_pictograph && is_zwj;
    self->is_pictograph = kind == BBPE_CLUSTER_PICTOGRAPH || (self->is_pictograph && is_extender(kind));
    self->is_half_flag = kind == BBPE_CLUSTER_REGIONAL && !self->is_half_flag;
    self->last = kind;
}

size_t bbpe_grapheme_end(const uint8_t *text, size_t n, size_t start) {
    cluster found = {0};
    size_t end, next;
    add(&found, kind_of(bbpe_utf8_decode(text, start, n, &end)));
    for (; end < n; end = next) {
        const unsigned kind = kind_of(bbpe_utf8_decode(text, end, n, &next));
        if (!joins(&found, kind)) break;
        add(&found, kind);
    }
    return end;
}

size_t bbpe_grapheme_boundary(const uint8_t *text, size_t n, size_t least, size_t at) {
    size_t next;
    unsigned right = kind_of(bbpe_utf8_decode(text, at, n, &next));
    while (at > least) {
        const size_t before = bbpe_search_before(text, at);
        const unsigned left = kind_of(bbpe_utf8_decode(text, before, n, &next));
        const bool depends = right == BBPE_CLUSTER_CONSONANT || right == BBPE_CLUSTER_PICTOGRAPH || right == BBPE_CLUSTER_REGIONAL;
        if (!joins_last(left, right) && !(depends && (left == right || left == BBPE_CLUSTER_ZWJ || is_extender(left)))) break;
        at = before;
        right = left;
    }
    return at;
}
