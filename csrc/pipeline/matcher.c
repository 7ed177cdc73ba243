#include "pipeline/matcher.h"

#include "memory/memory.h"

enum {
    BUDGET_FACTOR = 8,   /* bytes of walks for a byte of text, */
    BUDGET_START = 4096, /* and so many at first: words that begin alike in a short text are no attack */
    BLOCK = 1 << 16,     /* bytes whose matches are known at once in linear time, at least */
    VECTOR = 64,         /* bytes that are searched for a first byte at once */
};

bbpe_status bbpe_matcher_init(bbpe_matcher *self, const bbpe_pretoken_table *tokens, size_t count) {
    memset(self, 0, sizeof *self);
    for (size_t i = 0; i < tokens->count; i++) {
        const bbpe_pretoken_entry *entry = tokens->entries + i;
        if (entry->length == 0) continue;
        const uint8_t first = tokens->arena[entry->start];
        if (!self->begins[first] && self->first_count < BBPE_MATCHER_FEW) self->firsts[self->first_count] = first;
        self->first_count += !self->begins[first];
        self->begins[first] = true;
        if (entry->length > self->longest) self->longest = entry->length;
    }
    self->count = count;
    return bbpe_trie_init(&self->trie, tokens, BBPE_MATCHER_TOKEN, count);
}

void bbpe_matcher_free(bbpe_matcher *self) {
    bbpe_trie_free(&self->trie);
}

/* The state that a byte leads to, or 0, the root, when the trie has none. */
static uint32_t child_of(const bbpe_trie *trie, uint32_t state, uint8_t byte) {
    const uint32_t child = bbpe_trie_base(trie->slots[state]) ^ byte;
    return (trie->slots[child] & (2 * BBPE_TRIE_EMPTY - 1)) == byte ? child : 0;
}

static uint32_t step(const bbpe_matcher_linear *self, uint32_t state, uint8_t byte) {
    for (;;) {
        const uint32_t child = child_of(&self->trie, state, byte);
        if (child != 0 || state == 0) return child;
        state = self->fail[state];
    }
}

/* Give each state of one depth the state of its longest proper suffix; `states` has that of each token one level above. */
static size_t link_level(bbpe_matcher_linear *self, const bbpe_pretoken_table *tokens, size_t depth, uint32_t *states) {
    size_t longer = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        const bbpe_pretoken_entry *entry = tokens->entries + i;
        if (entry->length <= depth) continue;
        const uint8_t byte = tokens->arena[entry->start + depth];
        const uint32_t parent = states[i], state = child_of(&self->trie, parent, byte);
        states[i] = state;
        longer += entry->length > depth + 1;
        if (self->fail[state] != UINT32_MAX) continue;
        self->fail[state] = parent == 0 ? 0 : step(self, self->fail[parent], byte);
        self->order[self->state_count++] = state;
    }
    return longer;
}

bbpe_status bbpe_matcher_linear_init(bbpe_matcher_linear *self, const bbpe_pretoken_table *reversed, size_t count) {
    memset(self, 0, sizeof *self);
    const bbpe_status status = bbpe_trie_init(&self->trie, reversed, BBPE_MATCHER_TOKEN, count);
    if (status != BBPE_OK) return status;
    uint32_t *states = bbpe_memory_zeroed(reversed->count, sizeof *states);
    self->fail = bbpe_memory_new(self->trie.slot_count, sizeof *self->fail);
    self->order = bbpe_memory_new(self->trie.slot_count, sizeof *self->order);
    if (!states || !self->fail || !self->order) {
        bbpe_memory_free(states);
        bbpe_matcher_linear_free(self);
        return BBPE_NO_MEMORY;
    }
    memset(self->fail, 0xFF, self->trie.slot_count * sizeof *self->fail);
    self->fail[0] = 0;
    for (size_t depth = 0; link_level(self, reversed, depth, states) > 0; depth++) {}
    bbpe_memory_free(states);
    return BBPE_OK;
}

void bbpe_matcher_linear_free(bbpe_matcher_linear *self) {
    bbpe_trie_free(&self->trie);
    bbpe_memory_free(self->fail);
    bbpe_memory_free(self->order);
    memset(self, 0, sizeof *self);
}

static bool has_token(const uint64_t *policy, uint32_t token) {
    return token != BBPE_TRIE_NONE && (policy[token / 64] >> (token % 64) & 1);
}

void bbpe_matcher_linear_best(const bbpe_matcher_linear *self, const uint64_t *policy, uint32_t *best) {
    best[0] = BBPE_TRIE_NONE;
    for (size_t i = 0; i < self->state_count; i++) {
        const uint32_t state = self->order[i], token = bbpe_trie_id(self->trie.slots[state]);
        best[state] = has_token(policy, token) ? token : best[self->fail[state]];
    }
}

bbpe_status bbpe_matches_add(bbpe_matches *self, bbpe_match match) {
    if (self->count == self->capacity) {
        bbpe_match *items = bbpe_memory_reserve(self->items, &self->capacity, self->count + 1, sizeof *items);
        if (items == NULL) return BBPE_NO_MEMORY;
        self->items = items;
    }
    self->items[self->count++] = match;
    return BBPE_OK;
}

/* The place of the next byte that begins a token, or n. */
static size_t next_first(const bbpe_matcher *self, const uint8_t *text, size_t at, size_t n) {
    if (self->first_count == 1) {
        const uint8_t *found = memchr(text + at, self->firsts[0], n - at);
        return found == NULL ? n : (size_t)(found - text);
    }
    if (self->first_count <= BBPE_MATCHER_FEW) {
        const uint8_t a = self->firsts[0], b = self->firsts[1];
        const uint8_t c = self->firsts[self->first_count > 2 ? 2 : 0], d = self->firsts[self->first_count > 3 ? 3 : 0];
        for (; n - at >= VECTOR; at += VECTOR) {
            uint8_t any = 0; /* compilers make vectors of this */
            for (size_t i = 0; i < VECTOR; i++) {
                const uint8_t byte = text[at + i];
                any |= (uint8_t)((byte == a) | (byte == b) | (byte == c) | (byte == d));
            }
            if (any) break;
        }
    }
    while (at < n && !self->begins[text[at]]) at++;
    return at;
}

/* The longest token of a policy that begins at a place, its length and how many bytes were read to know that. */
static uint32_t longest_of(const bbpe_matcher *self, const uint64_t *policy, const uint8_t *text, size_t n, size_t *length,
                           size_t *walked) {
    const bbpe_trie *trie = &self->trie;
    uint32_t found = BBPE_TRIE_NONE;
    uint64_t slot = trie->slots[0];
    size_t i = 0;
    for (; i < n; i++) {
        slot = trie->slots[bbpe_trie_base(slot) ^ text[i]];
        if ((slot & (2 * BBPE_TRIE_EMPTY - 1)) != text[i]) break;
        const uint32_t token = bbpe_trie_id(slot);
        if (!has_token(policy, token)) continue;
        found = token;
        *length = i + 1;
    }
    *walked += i;
    return found;
}

bbpe_status bbpe_matcher_find(const bbpe_matcher *self, const uint64_t *policy, const uint8_t *text, size_t n, size_t most,
                              size_t *at, bool *is_slow, bbpe_matches *found) {
    const size_t begin = *at;
    size_t walked = 0, length = 0;
    *is_slow = false;
    if (self->first_count == 0) *at = n;
    while (*at < n && found->count < most) {
        const size_t place = next_first(self, text, *at, n);
        *at = place;
        if (place == n) break;
        if (walked > BUDGET_START + BUDGET_FACTOR * (place - begin)) {
            *is_slow = true;
            break;
        }
        const uint32_t token = longest_of(self, policy, text + place, n - place, &length, &walked);
        if (token == BBPE_TRIE_NONE) {
            *at = place + 1;
            continue;
        }
        const bbpe_status status = bbpe_matches_add(found, (bbpe_match){place, place + length, token});
        if (status != BBPE_OK) return status;
        *at = place + length;
    }
    return BBPE_OK;
}

/* Whether a token that begins in a range counts in all ranges up to its end. */
static bool counts_up_to(bbpe_token_levels levels, const bbpe_token_range *range, size_t end, uint32_t token) {
    while (has_token(levels.levels[range->level], token)) {
        if (end <= range->end) return true;
        range++;
    }
    return false;
}

/* The length of the longest token that begins at a place of a range and counts, or 0. */
static size_t longest_in_ranges(const bbpe_matcher *self, const uint64_t *policy, bbpe_token_levels levels,
                                const bbpe_token_range *range, const uint8_t *text, size_t at, size_t end, uint32_t *found) {
    const bbpe_trie *trie = &self->trie;
    uint64_t slot = trie->slots[0];
    size_t length = 0;
    for (size_t i = at; i < end; i++) {
        slot = trie->slots[bbpe_trie_base(slot) ^ text[i]];
        if ((slot & (2 * BBPE_TRIE_EMPTY - 1)) != text[i]) break;
        const uint32_t token = bbpe_trie_id(slot);
        if (!has_token(policy, token) || !counts_up_to(levels, range, i + 1, token)) continue;
        *found = token;
        length = i + 1 - at;
    }
    return length;
}

static bool is_empty(const uint64_t *policy, size_t count) {
    for (size_t i = 0; i < (count + 63) / 64; i++)
        if (policy[i] != 0) return false;
    return true;
}

bbpe_status bbpe_matcher_find_in_ranges(const bbpe_matcher *self, const uint64_t *policy, bbpe_token_levels levels,
                                        const uint8_t *text, size_t start, size_t end, bbpe_matches *found) {
    const bbpe_token_range *range = levels.ranges;
    bbpe_status status = BBPE_OK;
    for (size_t at = start; at < end && status == BBPE_OK; range++) {
        const size_t limit = range->end < end ? range->end : end;
        if (at >= limit) continue;
        /* a text from outside, in which nothing counts, is not looked at */
        if (self->first_count == 0 || is_empty(levels.levels[range->level], self->count)) {
            at = limit;
            continue;
        }
        for (at = next_first(self, text, at, limit); at < limit && status == BBPE_OK; at = next_first(self, text, at, limit)) {
            uint32_t token = BBPE_TRIE_NONE;
            const size_t length = longest_in_ranges(self, policy, levels, range, text, at, end, &token);
            if (length > 0) status = bbpe_matches_add(found, (bbpe_match){at, at + length, token});
            at += length > 0 ? length : 1;
            if (at > limit) break;
        }
    }
    return status;
}

/* The longest token of a policy that begins at each place of text[start, end), by what follows it too. */
static void find_block(const bbpe_matcher_linear *self, const uint32_t *best, size_t longest, const uint8_t *text,
                       size_t start, size_t end, size_t n, uint32_t *tokens) {
    uint32_t state = 0;
    for (size_t at = n - end > longest ? end + longest : n; at-- > start;) {
        state = step(self, state, text[at]);
        if (at < end) tokens[at - start] = best[state];
    }
}

bbpe_status bbpe_matcher_linear_find(const bbpe_matcher_linear *self, const uint32_t *best, const size_t *lengths,
                                     size_t longest, const uint8_t *text, size_t n, size_t most, size_t *at,
                                     bbpe_matches *found) {
    const size_t block = longest > BLOCK ? longest : BLOCK;
    uint32_t *tokens = bbpe_memory_new(n - *at < block ? n - *at : block, sizeof *tokens);
    if (tokens == NULL) return BBPE_NO_MEMORY;
    bbpe_status status = BBPE_OK;
    while (*at < n && found->count < most && status == BBPE_OK) {
        const size_t start = *at, end = n - start < block ? n : start + block;
        find_block(self, best, longest, text, start, end, n, tokens);
        while (*at < end && found->count < most && status == BBPE_OK) {
            const uint32_t token = tokens[*at - start];
            const size_t length = token == BBPE_TRIE_NONE ? 0 : lengths[token];
            if (length > 0) status = bbpe_matches_add(found, (bbpe_match){*at, *at + length, token});
            *at += length > 0 ? length : 1;
        }
    }
    bbpe_memory_free(tokens);
    return status;
}
