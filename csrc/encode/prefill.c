/* Tokens in the hot table before a text has them. */
#include "encode/internal.h"

enum {
    AT_ONCE = 32,         /* tokens whose primary slots are fetched together: 14 ns each instead of 110 */
    ENTRIES_A_TOKEN = 4,  /* at most one token for so many entries of the table */
    FIRST = 8192,         /* tokens that enter it the first time */
    LARGE = 1 << 19,      /* entries of a table for 4 MB of text and more */
    FIRST_LARGE = 1 << 16, /* as FIRST, for these: new pieces are more rarely tokens later, so that the others may never enter */
    GROWTH = 4            /* each further time there are so many times as many */
};

typedef struct {
    bbpe_cache_key key;
    bbpe_cache_entry *primary;
    uint32_t id;
} candidate;

/* The key of a token and its primary slot, which is fetched; false when it does not fit an entry, or merging is needed to
 * know its ids. */
static bool begin(const bbpe_bpe *model, const bbpe_hot_cache *hot, const bbpe_pretoken_entry *token, candidate *to) {
    const bool is_one = model->whole_pretokens || (token->value & BBPE_BPE_MADE);
    if (!is_one || token->length > BBPE_CACHE_SHORT) return false;
    if (token->start + sizeof to->key > model->tokens.arena_capacity) return false;
    const bbpe_short_key_row *row = bbpe_short_key_rows + token->length;
    memcpy(&to->key, model->tokens.arena + token->start, sizeof to->key); /* with bytes after it, which are cut off */
    to->key.lo = (to->key.lo & row->kept.lo) ^ row->salt.lo;
    to->key.hi = (to->key.hi & row->kept.hi) ^ row->salt.hi;
    to->primary = bbpe_hot_cache_primary(hot, bbpe_cache_hash(to->key));
    to->id = (uint32_t)token->value;
    BBPE_PREFETCH(to->primary);
    return true;
}

void bbpe_encode_prefill(const bbpe_bpe *model, bbpe_encode_state *state) {
    const size_t most = state->hot.entry_count / ENTRIES_A_TOKEN;
    const size_t all = most < model->tokens.count ? most : model->tokens.count;
    const size_t first = state->hot.entry_count < LARGE ? FIRST : FIRST_LARGE;
    const size_t next = GROWTH * state->prefilled > first ? GROWTH * state->prefilled : first, end = next < all ? next : all;
    candidate tokens[AT_ONCE];
    while (state->prefilled < end) {
        size_t count = 0;
        for (; state->prefilled < end && count < AT_ONCE; state->prefilled++)
            count += begin(model, &state->hot, model->tokens.entries + state->prefilled, tokens + count);
        for (size_t i = 0; i < count; i++)
            if (tokens[i].primary->key.hi == 0)
                bbpe_cache_entry_write(tokens[i].primary, state->hot.layout, tokens[i].key, &tokens[i].id, 1);
    }
}
