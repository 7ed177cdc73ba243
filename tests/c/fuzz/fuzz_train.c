/* The trainer against the definition: count all pairs anew before every merge. */
#include "targets.h"
#include "train/train.h"

enum {
    LONGEST = 512, /* of an input: longer ones take time and come by nothing new */
    MERGES = 100,
    BYTES = 256,
};

/* Pretokens as ids with borders between them, each with the count of its pretoken. */
typedef struct {
    uint32_t ids[LONGEST + 2];
    int64_t counts[LONGEST + 2];
    size_t n;
} symbols;

/* Where training starts from: bytes, or one token more, which stands in the text already. */
typedef struct {
    uint8_t bytes[BYTES + 2];
    int64_t offsets[BYTES + 2];
    size_t count;
} base;

static base base_of(bool from_tokens) {
    base made = {.count = from_tokens ? BYTES + 1 : BYTES, .bytes = {[BYTES] = 'a', [BYTES + 1] = 'b'}};
    for (size_t i = 0; i < BYTES; i++) made.bytes[i] = (uint8_t)i;
    for (int64_t i = 0; i <= BYTES + 1; i++) made.offsets[i] = i <= BYTES ? i : BYTES + 2;
    return made;
}

/* Counts and pretokens with zeros between them; a count is up to 2^44, as only the first 32 bits of one fit a sketch. */
static symbols read_symbols(const uint8_t *data, size_t n, bool from_tokens) {
    symbols text = {.ids = {BBPE_SYMBOLS_BORDER}, .n = 1};
    for (size_t i = 0; i < n; i++) {
        const int64_t count = (int64_t)(1 + data[i] % 8) << data[i] / 32 * 6;
        for (i++; i < n && data[i] != 0; i++) {
            const bool is_token = from_tokens && i + 1 < n && data[i] == 'a' && data[i + 1] == 'b';
            text.counts[text.n] = count;
            text.ids[text.n++] = is_token ? BYTES : data[i];
            i += is_token;
        }
        text.ids[text.n++] = BBPE_SYMBOLS_BORDER;
    }
    return text;
}

/* Whether a pair is taken before another one of the same count that occurs earlier. */
static bool is_before(const bbpe_token_strings *tokens, bbpe_train_ties ties, uint64_t a, uint64_t b) {
    if (ties == BBPE_TRAIN_IDS) return a < b;
    if (ties == BBPE_TRAIN_FIRST || a == b) return false;
    const int order = bbpe_token_strings_compare(tokens, (uint32_t)(a >> 32), (uint32_t)(b >> 32));
    return order > 0 || (order == 0 && bbpe_token_strings_compare(tokens, (uint32_t)a, (uint32_t)b) > 0);
}

/* The best pair of a text, or BBPE_PAIR_NONE. */
static uint64_t best_pair(const symbols *text, const bbpe_token_strings *tokens, const bbpe_train_options *options) {
    bbpe_pair_table counts;
    uint64_t keys[LONGEST + 2], best = BBPE_PAIR_NONE, most = (uint64_t)options->min_frequency;
    size_t pairs = 0;
    fuzz_must(bbpe_pair_table_init(&counts, text->n));
    for (size_t i = 1; i < text->n; i++) {
        const uint32_t left = text->ids[i - 1], right = text->ids[i];
        if (left == BBPE_SYMBOLS_BORDER || right == BBPE_SYMBOLS_BORDER) continue;
        if (tokens->lengths[left] + tokens->lengths[right] > options->max_length) continue;
        const uint64_t key = bbpe_pair_key(left, right), *sum = bbpe_pair_table_find(&counts, key);
        bbpe_pair_table_set(&counts, key, (sum ? *sum : 0) + (uint64_t)text->counts[i]);
        keys[pairs++] = key;
    }
    for (size_t i = 0; i < pairs; i++) {
        const uint64_t count = *bbpe_pair_table_find(&counts, keys[i]);
        if (count < most) continue;
        if (count == most && best != BBPE_PAIR_NONE && !is_before(tokens, options->ties, keys[i], best)) continue;
        most = count;
        best = keys[i];
    }
    bbpe_pair_table_free(&counts);
    return best;
}

/* Merge a pair wherever it stands, left to right. */
static void merge(symbols *text, uint64_t key, uint32_t token) {
    size_t kept = 0;
    for (size_t i = 0; i < text->n; i++) {
        const bool is_pair = i + 1 < text->n && bbpe_pair_key(text->ids[i], text->ids[i + 1]) == key;
        text->counts[kept] = text->counts[i];
        text->ids[kept++] = is_pair ? token : text->ids[i];
        i += is_pair;
    }
    text->n = kept;
}

static size_t learn_plainly(symbols text, const base *from, const bbpe_train_options *options, uint64_t *merges) {
    bbpe_token_strings tokens;
    size_t count = 0;
    fuzz_must(bbpe_token_strings_init(&tokens, from->count + MERGES, from->bytes, from->offsets, from->count));
    while (count < options->merge_limit) {
        const uint64_t best = best_pair(&text, &tokens, options);
        if (best == BBPE_PAIR_NONE) break;
        const uint32_t token = (uint32_t)(from->count + count);
        fuzz_must(bbpe_token_strings_join(&tokens, token, (uint32_t)(best >> 32), (uint32_t)best));
        merge(&text, best, token);
        merges[count++] = best;
    }
    bbpe_token_strings_free(&tokens);
    return count;
}

static void add_all(bbpe_train *train, const symbols *text, bool from_tokens) {
    for (size_t i = 1; i < text->n; i++) {
        uint8_t bytes[LONGEST];
        size_t count = 0, length = 0, used;
        for (; text->ids[i + count] != BBPE_SYMBOLS_BORDER; count++) {
            bytes[count] = (uint8_t)text->ids[i + count];
            length += text->ids[i + count] == BYTES ? 2 : 1;
        }
        if (from_tokens) {
            fuzz_must(bbpe_train_add_tokens(train, text->ids + i, length, text->counts[i], &used));
            if (used != count) fuzz_fail("tokens are read otherwise than they stand");
        } else if (count) {
            fuzz_must(bbpe_train_add(train, bytes, count, text->counts[i]));
        }
        i += count;
    }
}

static void learn(const symbols *text, const base *from, size_t n, bbpe_train_options options, const uint64_t *expected,
                  size_t expected_count) {
    const bool from_tokens = from->count > BYTES;
    bbpe_train train;
    if (from_tokens)
        fuzz_must(bbpe_train_init_from(&train, n + 1, n, from->bytes, from->offsets, from->count, options));
    else
        fuzz_must(bbpe_train_init(&train, n + 1, n, from->bytes, options));
    add_all(&train, text, from_tokens);
    for (bool done = false; !done;) fuzz_must(bbpe_train_step(&train, 100, &done));
    if (train.merge_count != expected_count) fuzz_fail("another number of merges");
    if (memcmp(train.merges, expected, expected_count * sizeof *expected) != 0) fuzz_fail("other merges");
    bbpe_train_free(&train);
}

/* Ties, least frequency and longest token; then the pretokens: any threshold gives the merges of the definition.
 * Searching all pairs of bytes takes 2 ms under the sanitizers, and is done for each threshold that is lowered: one
 * input in eight starts from bytes, and one in eight of the others from a threshold that is lowered forty times. */
void fuzz_train(const uint8_t *data, size_t n) {
    if (n < 2) return;
    const bool from_tokens = data[1] / 16 % 8 != 7;
    const int64_t thresholds[] = {1, 0, 2, 7, data[1] / 16 % 8 == 6 ? (int64_t)1 << 40 : 50};
    bbpe_train_options options = {(bbpe_train_ties)(data[0] % 3), MERGES, 1 + data[0] / 3 % 3, UINT32_MAX, 1, NULL, NULL, NULL};
    if (data[0] & 0x80) options.max_length = 1 + data[1] % 16;
    n = n < LONGEST + 2 ? n - 2 : LONGEST;
    const base from = base_of(from_tokens);
    const symbols text = read_symbols(data + 2, n, from_tokens);
    uint64_t expected[MERGES];
    const size_t count = learn_plainly(text, &from, &options, expected);
    for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++) {
        options.threshold = thresholds[i];
        learn(&text, &from, n, options, expected, count);
    }
}
