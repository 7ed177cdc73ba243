/* The targets: each compares two ways to the same answer, on whatever the bytes stand for. */
#include "targets.h"

#include "count/count.h"
#include "encode/internal.h"
#include "memory/memory.h"
#include "models/vocab/vocab.h"
#include "../table_sum.h"
#include "decode/decode.h"

static const bbpe_scheme *row_of(uint8_t byte) {
    const char *name;
    size_t rows = 0;
    while (bbpe_split_row(rows, &name) != NULL) rows++;
    return bbpe_split_row(byte % rows, &name);
}

/* All ends of a text's pretokens; there is room for n + 64. */
static size_t split(const bbpe_scheme *scheme, bbpe_split_fill fill, const uint8_t *text, size_t start, size_t n,
                    size_t *ends) {
    size_t count = 0;
    bool wide = false;
    while (start < n) {
        const size_t found = fill(scheme, text, start, n, ends + count, 64, &wide);
        if (found == 0) fuzz_fail("no pretoken is found");
        for (size_t i = count; i < count + found; i++) {
            if (ends[i] <= start || ends[i] > n) fuzz_fail("an end is out of order");
            start = ends[i];
        }
        count += found;
    }
    return count;
}

/* A row, then a text: every instruction set, and the parts of a cut. */
static void run_split(const uint8_t *data, size_t n) {
    if (n < 2) return;
    const bbpe_scheme *scheme = row_of(data[0]);
    const size_t window = data[1];
    data += 2;
    n -= 2;
    size_t *expected = fuzz_room(n + 64, sizeof *expected), *ends = fuzz_room(n + 64, sizeof *ends);
    const size_t count = split(scheme, bbpe_split_select(scheme, BBPE_ISA_SCALAR), data, 0, n, expected);
    const bbpe_isa others[] = {BBPE_ISA_AVX2, BBPE_ISA_AVX512, BBPE_ISA_NEON};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const bbpe_split_fill fill = bbpe_split_select(scheme, others[i]);
        if (fill == NULL) continue;
        if (split(scheme, fill, data, 0, n, ends) != count || memcmp(ends, expected, count * sizeof *ends) != 0)
            fuzz_fail("instruction sets differ");
    }
    const size_t cut = n ? bbpe_split_cut(scheme, data, n / 2, n, window + 1) : BBPE_SPLIT_NO_CUT;
    if (cut != BBPE_SPLIT_NO_CUT) {
        const bbpe_split_fill fill = bbpe_split_select(scheme, BBPE_ISA_AUTO);
        uint8_t *left = fuzz_room(cut, 1), *right = fuzz_room(n - cut, 1);
        memcpy(left, data, cut);
        memcpy(right, data + cut, n - cut);
        const size_t first = split(scheme, fill, left, 0, cut, ends);
        const size_t second = split(scheme, fill, right, 0, n - cut, ends + first);
        for (size_t i = first; i < first + second; i++) ends[i] += cut;
        if (first + second != count || memcmp(ends, expected, count * sizeof *ends) != 0)
            fuzz_fail("a cut changes pretokens");
        bbpe_memory_free(left);
        bbpe_memory_free(right);
    }
    bbpe_memory_free(expected);
    bbpe_memory_free(ends);
}

enum { IDS = 1024, LONGEST_TOKEN = 40 };

/* Tokens as the data has them, each a length and its bytes, with most of what they begin with; returns the rest. */
static size_t make_model(bbpe_bpe *model, const uint8_t *data, size_t n, uint8_t options) {
    const bool by_rank = options & 1, prefixes = options & 4;
    uint32_t count = 0;
    size_t at = 1;
    fuzz_must(bbpe_bpe_init(model, IDS, by_rank, options & 2));
    for (; count < 256; count++) fuzz_must(bbpe_bpe_add_token(model, count, &(uint8_t){(uint8_t)count}, 1));
    for (size_t tokens = n ? data[0] % 20 : 0; tokens > 0 && at < n; tokens--) {
        const size_t length = 1 + data[at] % LONGEST_TOKEN;
        if (++at + length > n || count + length > IDS) break;
        uint32_t left = data[at];
        for (size_t end = prefixes || !by_rank ? 2 : length; end <= length; end++) {
            const bbpe_pretoken_entry *found = bbpe_pretoken_table_find(&model->tokens, data + at, end);
            const uint32_t id = found ? (uint32_t)found->value : count++;
            if (!found) fuzz_must(bbpe_bpe_add_token(model, id, data + at, end));
            const uint32_t rank = id ^ (options >> 4 & 3);
            if (!found && !by_rank) fuzz_must(bbpe_bpe_add_merge(model, left, data[at + end - 1], rank, id));
            left = id;
        }
        at += length;
    }
    fuzz_must(bbpe_bpe_finalize(model));
    return at < n ? at : n;
}

/* The definition: each pretoken as the token that it is, or merged by a heap. */
static size_t merge_each(const bbpe_bpe *model, const bbpe_scheme *scheme, const uint8_t *text, size_t n,
                         uint32_t *ids) {
    bbpe_bpe_work work = {0};
    size_t *ends = fuzz_room(n + 64, sizeof *ends), total = 0, start = 0;
    const size_t pretokens = split(scheme, bbpe_split_select(scheme, BBPE_ISA_SCALAR), text, 0, n, ends);
    for (size_t i = 0; i < pretokens; start = ends[i++]) {
        size_t count = 1;
        if (!bbpe_bpe_find(model, text + start, ends[i] - start, false, ids + total))
            fuzz_must(bbpe_bpe_merge_long(model, &work, text + start, ends[i] - start, 1, ids + total, &count));
        total += count;
    }
    bbpe_bpe_work_free(&work);
    bbpe_memory_free(ends);
    return total;
}

/* Ids back to bytes, by the tokens that they stand for. */
static void check_bytes(const bbpe_bpe *model, const uint32_t *ids, size_t count, const uint8_t *text, size_t n) {
    bbpe_token_bytes table;
    bbpe_text_size size = {0};
    size_t arena = 0;
    for (size_t i = 0; i < model->tokens.count; i++) arena += bbpe_token_bytes_arena(model->tokens.entries[i].length);
    fuzz_must(bbpe_token_bytes_init(&table, IDS, arena));
    for (size_t i = 0; i < model->tokens.count; i++) {
        const bbpe_pretoken_entry *entry = model->tokens.entries + i;
        bbpe_token_bytes_set(&table, (uint32_t)entry->value, model->tokens.arena + entry->start, entry->length);
    }
    const bbpe_id_array array = {ids, sizeof *ids, count, BBPE_ID_U32};
    uint8_t *out = fuzz_room(n, 1);
    if (bbpe_token_bytes_measure(&table, &array, 0, count, &size) != count) fuzz_fail("an id has no token");
    if (size.bytes != n) fuzz_fail("sizes differ");
    if (!bbpe_token_bytes_join(&table, &array, 0, count, out, n, false) || memcmp(out, text, n) != 0)
        fuzz_fail("decoding gives other bytes");
    bbpe_memory_free(out);
    bbpe_token_bytes_free(&table);
}

/* A row, options, a vocabulary, a text: encoded cold and warm, by the definition, and decoded. */
static void run_encode(const uint8_t *data, size_t n) {
    if (n < 3) return;
    const bbpe_scheme *scheme = row_of(data[0]);
    bbpe_bpe model = {0};
    bbpe_encoder encoder = {0};
    static bbpe_encode_state state;
    const size_t begin = 2 + make_model(&model, data + 2, n - 2, data[1]);
    const uint8_t *text = data + begin;
    n -= begin;
    const bbpe_model view = bbpe_model_of_bpe(&model);
    fuzz_must(bbpe_encoder_init(&encoder, &view, scheme, bbpe_split_select(scheme, BBPE_ISA_AUTO)));
    static bbpe_memory_budget budget = {1 << 16, 0};
    bbpe_encode_state_init(&state, model.id_count);
    state.loan.budget = &budget;
    bbpe_encode_state_grow(&state, 32, 8);
    uint32_t *expected = fuzz_room(n, sizeof *expected), *ids = fuzz_room(n + BBPE_ENCODE_SLACK, sizeof *ids);
    const size_t count = merge_each(&model, scheme, text, n, expected);
    for (int turn = 0; turn < 2; turn++) {
        size_t found;
        fuzz_must(bbpe_encode_utf8(&encoder, &state, text, n, ids, &found));
        if (found != count || memcmp(ids, expected, count * sizeof *ids) != 0) fuzz_fail("ids differ");
    }
    check_bytes(&model, ids, count, text, n);
    bbpe_memory_free(expected);
    bbpe_memory_free(ids);
    bbpe_encode_state_free(&state);
    bbpe_encoder_free(&encoder);
    bbpe_bpe_free(&model);
}

/* A row, the longest pretoken, a text: counted at once, and in two halves that are added up. */
static void run_count(const uint8_t *data, size_t n) {
    if (n < 2) return;
    const bbpe_scheme *scheme = row_of(data[0]);
    const size_t longest = data[1] % 32;
    data += 2;
    n -= 2;
    size_t *ends = fuzz_room(n + 64, sizeof *ends);
    const size_t pretokens = split(scheme, bbpe_split_select(scheme, BBPE_ISA_AUTO), data, 0, n, ends);
    const size_t half = pretokens / 2, middle = half ? ends[half - 1] : 0;
    bbpe_count_table whole = {0}, first = {0}, second = {0}, parts = {0};
    uint64_t cut = 0, cut_apart = 0, bytes = 0;
    fuzz_must(bbpe_count_table_init(&whole, 0));
    fuzz_must(bbpe_count_table_init(&first, 0));
    fuzz_must(bbpe_count_table_init(&parts, 0));
    fuzz_must(bbpe_count_table_init(&second, 0));
    fuzz_must(bbpe_count_table_add(&whole, data, n, 0, ends, NULL, pretokens, longest, &cut));
    fuzz_must(bbpe_count_table_add(&first, data, n, 0, ends, NULL, half, longest, &cut_apart));
    fuzz_must(bbpe_count_table_add(&second, data, n, middle, ends + half, NULL, pretokens - half, longest, &cut_apart));
    fuzz_must(table_sum(&parts, &first, &second, (size_t)1 << n % 9));
    if (whole.count != parts.count || whole.bytes != parts.bytes || cut != cut_apart)
        fuzz_fail("halves add up to other counts");
    size_t *orders = fuzz_room(2 * whole.count, sizeof *orders);
    bbpe_count_table_order(&whole, orders);
    bbpe_count_table_order(&parts, orders + whole.count);
    for (size_t i = 0; i < whole.count; i++) {
        size_t a, b;
        const uint8_t *left = bbpe_count_table_bytes(&whole, orders[i], &a);
        const uint8_t *right = bbpe_count_table_bytes(&parts, orders[whole.count + i], &b);
        const uint64_t times = whole.slots[orders[i]].count;
        if (a != b || memcmp(left, right, a) != 0) fuzz_fail("halves have another order");
        if (times != parts.slots[orders[whole.count + i]].count) fuzz_fail("a count differs");
        bytes += times * a;
    }
    if (bytes != n) fuzz_fail("bytes are missing");
    bbpe_memory_free(orders);
    bbpe_memory_free(ends);
    bbpe_count_table_free(&whole);
    bbpe_count_table_free(&first);
    bbpe_count_table_free(&parts);
    bbpe_count_table_free(&second);
}

/* A rank file, as it stands. */
static void run_ranks(const uint8_t *data, size_t n) {
    bbpe_vocab vocab = {0};
    bbpe_rank_file_kind kind;
    fuzz_must(bbpe_vocab_init(&vocab, 0));
    const bbpe_status status = bbpe_rank_file_read(data, n, &vocab, &kind);
    if (status != BBPE_OK && status != BBPE_TOO_LARGE) fuzz_fail("a status that no file explains");
    if (status == BBPE_OK && kind != BBPE_RANK_FILE_UNUSUAL)
        for (size_t i = 0; i < vocab.tokens.count; i++) {
            const bbpe_pretoken_entry *entry = vocab.tokens.entries + i;
            if (bbpe_vocab_get(&vocab, entry->value) != entry) fuzz_fail("an id is not that of its token");
        }
    bbpe_vocab_free(&vocab);
}

static uint32_t unit_at(const void *text, unsigned unit, size_t i) {
    if (unit == 4) return ((const uint32_t *)text)[i];
    return unit == 2 ? ((const uint16_t *)text)[i] : ((const uint8_t *)text)[i];
}

/* A vocabulary, then ids of any type: measured, joined, and as text where that is UTF-8. */
static void run_decode(const uint8_t *data, size_t n) {
    static const size_t sizes[] = {1, 2, 4, 8};
    bbpe_token_bytes table;
    bbpe_text_size size = {0};
    size_t at = 2, arena = 0;
    if (n < 2) return;
    fuzz_must(bbpe_token_bytes_init(&table, 256, 256 * (size_t)64));
    for (size_t id = 0; id < data[1] && at < n; id++) {
        const size_t length = data[at++] % 40;
        if (at + length > n) break;
        arena += bbpe_token_bytes_arena(length);
        if (length) bbpe_token_bytes_set(&table, id, data + at, length);
        at += length;
    }
    if (arena > 256 * (size_t)64) fuzz_fail("the arena is too small");
    const size_t each = sizes[data[0] & 3];
    const bbpe_id_array ids = {data + at, data[0] & 8 ? 1 : (ptrdiff_t)each, at + each <= n ? (n - at) / each : 0,
                               (bbpe_id_type)(data[0] & 7)};
    const size_t stop = bbpe_token_bytes_measure(&table, &ids, 0, ids.count, &size);
    if (stop == ids.count) {
        uint8_t *out = fuzz_room(size.bytes, 1);
        const unsigned unit = bbpe_text_unit(&size);
        void *text = fuzz_room(size.chars, unit);
        uint32_t seen = 0;
        if (!bbpe_token_bytes_join(&table, &ids, 0, stop, out, size.bytes, false))
            fuzz_fail("measured ids do not join");
        if (bbpe_token_text_fill(&table, &ids, 0, stop, text, size.chars, unit, &seen)) {
            size_t i = 0, k = 0;
            for (; i < size.bytes && k < size.chars; k++) {
                const uint32_t point = bbpe_utf8_decode(out, i, size.bytes, &i);
                if (point != unit_at(text, unit, k)) fuzz_fail("a character differs");
            }
            if (i != size.bytes || k != size.chars) fuzz_fail("characters are missing");
        }
        bbpe_memory_free(out);
        bbpe_memory_free(text);
    }
    bbpe_token_bytes_free(&table);
}

const fuzz_target FUZZ_TARGETS[] = {
    {"split", run_split}, {"encode", run_encode}, {"count", run_count}, {"ranks", run_ranks},
    {"train", fuzz_train}, {"decode", run_decode}, {NULL, NULL},
};
