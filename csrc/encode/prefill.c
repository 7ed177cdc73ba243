/* Tokens in the hot part before a text has them. */
#include "encode/encode.h"

enum { TOGETHER = 32 }; /* tokens whose homes are fetched at once: 14 ns each instead of 110 */

typedef struct {
    bbpe_cache_key key;
    bbpe_cache_entry *home;
    uint32_t id;
} seedling;

/* The key of a token and its home, which is asked for; false when it cannot stand in an entry or merging is needed to know
 * what it encodes to. */
static bool begin(const bbpe_bpe *model, const bbpe_hot_cache *hot, const bbpe_pretoken_entry *token, seedling *seed) {
    const bool is_one = model->whole_pretokens || (token->value & BBPE_BPE_MADE);
    if (!is_one || token->length > BBPE_CACHE_SHORT) return false;
    if (token->start + sizeof seed->key > model->tokens.arena_capacity) return false;
    const bbpe_cache_row *row = bbpe_cache_rows + token->length;
    memcpy(&seed->key, model->tokens.arena + token->start, sizeof seed->key); /* and what is behind it, which is cut off */
    seed->key.lo = (seed->key.lo & row->kept.lo) ^ row->salt.lo;
    seed->key.hi = (seed->key.hi & row->kept.hi) ^ row->salt.hi;
    seed->home = bbpe_hot_cache_home(hot, bbpe_cache_hash(seed->key));
    seed->id = (uint32_t)token->value;
    BBPE_PREFETCH(seed->home);
    return true;
}

void bbpe_encode_seed(const bbpe_bpe *model, bbpe_encode_state *state) {
    const size_t room = state->hot.entry_count / BBPE_ENCODE_SEEDED;
    const size_t end = room < model->tokens.count ? room : model->tokens.count;
    seedling seeds[TOGETHER];
    while (state->seeded < end) {
        size_t count = 0;
        for (; state->seeded < end && count < TOGETHER; state->seeded++)
            count += begin(model, &state->hot, model->tokens.entries + state->seeded, seeds + count);
        for (size_t i = 0; i < count; i++)
            if (seeds[i].home->key.hi == 0) *seeds[i].home = bbpe_cache_entry_of(seeds[i].key, &seeds[i].id, 1);
    }
}
