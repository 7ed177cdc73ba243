/* Every allocation fails: exits with 1 when that ends in anything but BBPE_NO_MEMORY or the right result.
 *
 *     memory_driver [JOURNEY]      all of them, or those whose names begin so
 *
 * A journey makes everything anew: a vocabulary, an encoder, counts, merges.  It runs once undisturbed; then for each n
 * twice, with the n-th allocation failing and with all from the n-th on.  Where one allocation failed, what is left
 * must still work.  Linked with --wrap, so that memory/memory.h stays as it is; meant for AddressSanitizer, which finds leaks. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "allocation_faults.h"
#include "models/normalise/bert.h"
#include "count/count.h"
#include "encode/internal.h"
#include "memory/memory.h"
#include "memory_samples.h"
#include "threads/threads.h"
#include "models/vocab/vocab.h"
#include "train/train.h"
#include "table_sum.h"
#include "decode/decode.h"
#include "models/unigram/unigram.h"
#include "models/word_bpe/word_bpe.h"
#include "models/wordpiece/wordpiece.h"

/* From here on nothing fails; what the driver itself needs, and what must work after a failure. */
static void mend(void) {
    fault.fail_at = 0;
}

static void wrong(const char *what) {
    fprintf(stderr, "%s; allocation %llu%s failed\n", what, (unsigned long long)fault.fail_at,
            fault.and_later ? " and later" : "");
    exit(1);
}

static void mix(uint64_t *hash, const void *bytes, size_t n) {
    *hash = bbpe_hash_u64(*hash ^ bbpe_hash_bytes(bytes, n, 0));
}

/* -- journeys -------------------------------------------------------------------------------------------- */

/* A text by bytes and by code points, counted, cut, and again where one call has failed. */
static bbpe_status encode_text(const bbpe_encoder *encoder, bbpe_encode_state *state, uint64_t *hash) {
    static uint8_t text[TEXT_SIZE + 64];
    static uint32_t points[TEXT_SIZE], ids[4 * TEXT_SIZE + BBPE_ENCODE_SLACK];
    const size_t n = make_text(text);
    size_t count = 0, counted = 0, point_count = 0;
    for (size_t i = 0; i < n; point_count++) {
        points[point_count] = bbpe_utf8_decode(text, i, n, &i);
        if (points[point_count] == BBPE_UTF8_INVALID) points[point_count] = 'x';
    }
    const bbpe_encode_text views[] = {{text, 0}, {points, 4}};
    const size_t sizes[] = {n, point_count};
    for (int turn = 0; turn < 4; turn++) {
        const bbpe_encode_text view = views[turn & 1];
        const size_t size = sizes[turn & 1];
        for (int again = 0;; again++) {
            const bbpe_status status = bbpe_encode_range(encoder, state, view, 0, size, ids, &count);
            if (!status) break;
            if (status != BBPE_NO_MEMORY || again || fault.and_later) return status;
        }
        mix(hash, ids, count * sizeof *ids);
        const bbpe_status status = bbpe_encode_count(encoder, state, view, 0, size, SIZE_MAX, true, &counted);
        if (status) return status;
        if (counted != count || memcmp(ids, state->loan.ids, count * sizeof *ids) != 0) wrong("counted ids differ");
        const size_t cut = bbpe_encode_cut(encoder, state, view, size / 3, size, 500);
        if (state->status == BBPE_OK) mix(hash, &cut, sizeof cut);
    }
    return BBPE_OK;
}

/* A text in pieces, some of them empty: their ids, and their numbers alone. */
static bbpe_status encode_batch(const bbpe_encoder *encoder, bbpe_encode_state *state, uint64_t *hash) {
    enum { PIECES = 40, SIZE = TEXT_SIZE / PIECES };
    static uint8_t text[TEXT_SIZE + 64];
    static uint32_t ids[TEXT_SIZE + BBPE_ENCODE_SLACK];
    bbpe_encode_text views[PIECES];
    size_t lengths[PIECES], counts[PIECES], numbers[PIECES];
    make_text(text);
    for (size_t i = 0; i < PIECES; i++) {
        views[i] = (bbpe_encode_text){text + i * SIZE, 0};
        lengths[i] = i % 5 == 0 ? 0 : SIZE;
    }
    bbpe_status status = bbpe_encode_texts(encoder, state, views, lengths, PIECES, ids, counts);
    if (status == BBPE_NO_MEMORY && !fault.and_later)
        status = bbpe_encode_texts(encoder, state, views, lengths, PIECES, ids, counts);
    if (!status) status = bbpe_encode_texts(encoder, state, views, lengths, PIECES, NULL, numbers);
    if (status) return status;
    if (memcmp(counts, numbers, sizeof counts) != 0) wrong("numbers of ids differ");
    for (size_t i = 0, at = 0; i < PIECES; at += counts[i++]) mix(hash, ids + at, counts[i] * sizeof *ids);
    return BBPE_OK;
}

static bbpe_status encode_with(const bbpe_model *model, const bbpe_scheme *scheme, uint64_t *hash) {
    bbpe_encoder encoder = {0};
    static bbpe_encode_state state;
    bbpe_status status = bbpe_encoder_init(&encoder, model, scheme, bbpe_split_select(scheme, BBPE_ISA_AUTO));
    if (!status) {
        bbpe_encode_state_init(&state, 1 << 16);
        state.loan.budget = &(bbpe_memory_budget){1 << 20, 0};
        bbpe_encode_state_grow(&state, 64, 16);
        bbpe_encode_state_grow(&state, 64, 32);
        status = encode_text(&encoder, &state, hash);
        if (!status) status = encode_batch(&encoder, &state, hash);
        bbpe_encode_state_free(&state);
    }
    bbpe_encoder_free(&encoder);
    return status;
}

static bbpe_status encode_bpe(bool by_rank, size_t row, uint64_t *hash) {
    const char *name;
    bbpe_bpe model = {0};
    bbpe_status status = make_model(&model, by_rank);
    if (!status) {
        const bbpe_model view = bbpe_model_of_bpe(&model);
        status = encode_with(&view, bbpe_split_row(row, &name), hash);
    }
    bbpe_bpe_free(&model);
    return status;
}

static bbpe_status encode_ranks(uint64_t *hash) {
    return encode_bpe(true, 1, hash);
}

static bbpe_status encode_merges(uint64_t *hash) {
    return encode_bpe(false, 0, hash);
}

/* Words behind rules, of which each is merged by a model of bytes. */
static bbpe_status encode_words(uint64_t *hash) {
    static uint32_t starts[ID_LIMIT + 1], outputs[ID_LIMIT];
    const bbpe_scheme scheme = {.words = BBPE_WORDS_SPACE};
    bbpe_bpe model = {0};
    bbpe_word_bpe words = {0};
    for (uint32_t i = 0; i <= ID_LIMIT; i++) starts[i] = i;
    for (uint32_t i = 0; i < ID_LIMIT; i++) outputs[i] = i;
    bbpe_status status = make_model(&model, false);
    if (!status) status = bbpe_bpe_set_outputs(&model, starts, outputs);
    if (!status) status = bbpe_word_bpe_init(&words, &model, true);
    if (!status) {
        for (uint32_t c = 0; c < 0x80; c++) words.symbols[c] = 15;
        words.has_rules = true;
        words.rules = BBPE_BERT_JOIN | BBPE_BERT_LOWER;
        const bbpe_model view = bbpe_model_of_word_bpe(&words);
        status = encode_with(&view, &scheme, hash);
    }
    bbpe_word_bpe_free(&words);
    bbpe_bpe_free(&model);
    return status;
}

static bbpe_status encode_unigram(uint64_t *hash) {
    bbpe_pretoken_table tokens = {0};
    bbpe_unigram model = {0};
    double scores[WORD_COUNT + 256];
    bbpe_status status = bbpe_pretoken_table_init(&tokens, 1);
    for (size_t i = 0; !status && i < WORD_COUNT + 256; i++) {
        bbpe_pretoken_entry *entry;
        const uint8_t byte = (uint8_t)i;
        const uint8_t *bytes = i < 256 ? &byte : (const uint8_t *)WORDS[i - 256];
        status = bbpe_pretoken_table_add(&tokens, bytes, i < 256 ? 1 : strlen(WORDS[i - 256]), &entry);
        if (!status) entry->value = i;
        scores[i] = -1.0 - (double)(i % 7);
    }
    if (!status) status = bbpe_unigram_init(&model, &tokens, scores);
    if (!status) status = bbpe_unigram_prepare(&model);
    if (!status) {
        const char *name;
        model.unknown_score = -20;
        const bbpe_model view = bbpe_unigram_view(&model);
        status = encode_with(&view, bbpe_split_row(0, &name), hash);
    }
    bbpe_unigram_free(&model);
    bbpe_pretoken_table_free(&tokens);
    return status;
}

static bbpe_status encode_wordpiece(uint64_t *hash) {
    bbpe_wordpiece model = {0};
    bbpe_status status = bbpe_wordpiece_init(&model, 0, 100, 0);
    for (size_t i = 0; !status && i < 2 * (WORD_COUNT + 256); i++) {
        const uint32_t root = i & 1 ? BBPE_WORDPIECE_CONTINUE : BBPE_WORDPIECE_BEGIN;
        const uint8_t byte = (uint8_t)(i / 2);
        const uint8_t *bytes = i / 2 < 256 ? &byte : (const uint8_t *)WORDS[i / 2 - 256];
        status = bbpe_wordpiece_add(&model, root, bytes, i / 2 < 256 ? 1 : strlen(WORDS[i / 2 - 256]), (uint32_t)i);
    }
    if (!status) status = bbpe_wordpiece_finalize(&model);
    if (!status) {
        const char *name;
        const bbpe_model view = bbpe_model_of_wordpiece(&model);
        status = encode_with(&view, bbpe_split_row(0, &name), hash);
    }
    bbpe_wordpiece_free(&model);
    return status;
}

static bbpe_status decode(uint64_t *hash) {
    bbpe_token_bytes table = {0};
    uint32_t ids[WORD_COUNT], seen = 0;
    uint8_t out[400];
    size_t arena = 0;
    for (size_t i = 0; i < WORD_COUNT; i++) {
        arena += bbpe_token_bytes_arena(strlen(WORDS[i]));
        ids[i] = (uint32_t)i;
    }
    const bbpe_status status = bbpe_token_bytes_init(&table, WORD_COUNT, arena);
    if (!status) {
        const bbpe_id_array array = {ids, sizeof *ids, WORD_COUNT, BBPE_ID_U32};
        bbpe_text_size size = {0};
        for (size_t i = 0; i < WORD_COUNT; i++)
            bbpe_token_bytes_set(&table, i, (const uint8_t *)WORDS[i], strlen(WORDS[i]));
        if (bbpe_token_bytes_measure(&table, &array, 0, WORD_COUNT, &size) != WORD_COUNT) wrong("a token is not there");
        if (!bbpe_token_bytes_join(&table, &array, 0, WORD_COUNT, out, size.bytes, false)) wrong("bytes differ in size");
        mix(hash, out, size.bytes);
        static uint32_t text[400];
        if (!bbpe_token_text_fill(&table, &array, 0, WORD_COUNT, text, size.chars, bbpe_text_unit(&size), &seen))
            wrong("text differs in size");
        mix(hash, text, size.chars * 4);
    }
    bbpe_token_bytes_free(&table);
    bool is_found = false;
    const bbpe_status stops = status ? status : find_stop(&is_found);
    if (!stops && !is_found) wrong("a stop string was not found");
    return stops;
}

/* Lines of base64 of three bytes and of six, which need no padding. */
static bbpe_status load_ranks(uint64_t *hash) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static char text[40000];
    size_t n = 0;
    for (unsigned i = 0; i < 2000; i++) {
        for (int part = 0; part <= (int)(i & 1); part++)
            for (int k = 3; k >= 0; k--) text[n++] = digits[(i * 2654435761u) >> (6 * k) & 63];
        n += (size_t)snprintf(text + n, sizeof text - n, " %u\n", i);
    }
    bbpe_vocab vocab = {0};
    bbpe_rank_file_kind kind = BBPE_RANK_FILE_UNUSUAL;
    bbpe_status status = bbpe_vocab_init(&vocab, 1);
    if (!status) status = bbpe_rank_file_read((const uint8_t *)text, n, &vocab, &kind);
    if (!status) {
        mix(hash, &kind, sizeof kind);
        mix(hash, vocab.tokens.arena, vocab.tokens.arena_used);
    }
    bbpe_vocab_free(&vocab);
    return status;
}

static bbpe_status count_text(bbpe_count_table *table) {
    static uint8_t text[TEXT_SIZE + 64];
    static size_t ends[TEXT_SIZE];
    const char *name;
    const bbpe_scheme *scheme = bbpe_split_row(0, &name);
    const bbpe_split_fill fill = bbpe_split_select(scheme, BBPE_ISA_AUTO);
    uint64_t cut = 0;
    bool wide = false;
    const size_t n = make_text(text), found = fill(scheme, text, 0, n, ends, TEXT_SIZE, &wide);
    bbpe_status status = bbpe_count_table_add(table, text, n, 0, ends, NULL, found, 500, &cut);
    /* what is all different makes it grow */
    for (unsigned i = 0; !status && i < 3000; i++) {
        uint8_t word[24];
        const size_t end = (size_t)snprintf((char *)word, sizeof word, i % 9 ? "%u" : "%020u", i);
        status = bbpe_count_table_add(table, word, end, 0, &end, NULL, 1, 0, &cut);
    }
    return status;
}

static bbpe_status count(uint64_t *hash) {
    bbpe_count_table table = {0}, second = {0}, sum = {0};
    bbpe_status status = bbpe_count_table_init(&table, 1);
    if (!status) status = bbpe_count_table_init(&sum, 1);
    if (!status) status = count_text(&table);
    if (!status) status = bbpe_count_table_init(&second, 1);
    if (!status) status = count_text(&second);
    if (!status) status = table_sum(&sum, &table, &second, 4);
    if (!status) {
        static uint64_t counts[8000];
        if (sum.count != table.count || sum.count > 8000) wrong("pretokens are missing");
        bbpe_count_table_counts(&sum, counts);
        mix(hash, counts, sum.count * sizeof *counts);
    }
    bbpe_count_table_free(&table);
    bbpe_count_table_free(&second);
    bbpe_count_table_free(&sum);
    return status;
}

static bbpe_status train(uint64_t *hash) {
    uint8_t byte_order[256];
    bbpe_status status = BBPE_OK;
    for (unsigned i = 0; i < 256; i++) byte_order[i] = (uint8_t)i;
    for (int ties = 0; !status && ties < 3; ties++) {
        bbpe_train self = {0};
        const bbpe_train_options options = {(bbpe_train_ties)ties, 120, 1, UINT32_MAX, ties * 5, NULL, NULL, NULL};
        size_t bytes = 0;
        for (size_t i = 0; i < WORD_COUNT; i++) bytes += strlen(WORDS[i]);
        status = bbpe_train_init(&self, WORD_COUNT, bytes, byte_order, options);
        for (size_t i = 0; !status && i < WORD_COUNT; i++)
            status = bbpe_train_add(&self, (const uint8_t *)WORDS[i], strlen(WORDS[i]), (int64_t)(1 + i % 4));
        for (bool done = false; !status && !done;) status = bbpe_train_step(&self, 50, &done);
        if (!status) mix(hash, self.merges, self.merge_count * sizeof *self.merges);
        bbpe_train_free(&self);
    }
    return status;
}

static bbpe_status find_substrings(uint64_t *hash) {
    static uint32_t symbols[2000];
    static uint64_t weights[100];
    bbpe_substrings self = {0};
    for (size_t i = 0; i < 2000; i++) symbols[i] = i % 20 == 19 ? 0 : 1 + (uint32_t)(bbpe_hash_u64(i) % 3);
    for (size_t i = 0; i < 100; i++) weights[i] = 1 + i % 3;
    const bbpe_status status = bbpe_substrings_find(&self, symbols, 2000, 3, weights, 8);
    if (!status) mix(hash, self.found, self.count * sizeof *self.found);
    bbpe_substrings_free(&self);
    return status;
}

/* A step after the other of a large room, and less again. */
static bbpe_status extend_room(bbpe_reusable_buffer *self, uint64_t *hash) {
    const size_t step = BBPE_REUSABLE_BUFFER_STEP;
    if (!bbpe_reusable_buffer_open(self, 3 * step)) return BBPE_NO_MEMORY;
    if (self->is_pages && self->ready != step) wrong("more than a step was asked for");
    if (!bbpe_reusable_buffer_extend(self, step + 5)) return BBPE_NO_MEMORY;
    ((uint8_t *)self->start)[0] = ((uint8_t *)self->start)[step + 4] = 7;
    mix(hash, self->start, 1);
    if (bbpe_reusable_buffer_extend(self, self->size + 1)) wrong("a room is larger than it is");
    bbpe_reusable_buffer_trim(self, 1);
    if (self->is_pages && self->ready > step + BBPE_PAGES_HUGE) wrong("too much is kept");
    return bbpe_reusable_buffer_open(self, 3 * step) && bbpe_reusable_buffer_extend(self, 3 * step) ? BBPE_OK : BBPE_NO_MEMORY;
}

/* Sizes that grow and shrink; what is kept of one is where it was, and all of the next can be written. */
static bbpe_status fill_rooms(uint64_t *hash) {
    static const size_t sizes[] = {5000, 100, 9 << 20, 4096, 3 << 20, 1};
    bbpe_reusable_buffer self = {NULL, 0, 0, 0, false};
    bbpe_status status = BBPE_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !status; i++) {
        if (!bbpe_reusable_buffer_open(&self, sizes[i])) status = BBPE_NO_MEMORY;
        if (status) break;
        uint8_t *bytes = self.start;
        for (size_t k = 0; k < sizes[i]; k++) bytes[k] = (uint8_t)(k * (i + 1));
        bbpe_reusable_buffer_trim(&self, sizes[i] / 2);
        if (self.start != bytes) wrong("what is kept has moved");
        mix(hash, self.start, sizes[i] / 2);
    }
    if (!status) status = extend_room(&self, hash);
    bbpe_reusable_buffer_close(&self);
    return status;
}

/* The ids of three parts, of which the last one waits for the second. */
static bbpe_status place_parts(uint64_t *hash) {
    static const int64_t bounds[] = {0, 2, 4, 6};
    static const size_t order[] = {0, 2, 1};
    uint32_t ids[10], *to;
    bbpe_reusable_buffer room = {NULL, 0, 0, 0, false};
    bbpe_work_queue tasks = {0};
    bbpe_ordered_output self = {.tasks = &tasks, .a_unit = 1, .ids = ids, .slack = 4};
    bbpe_status status = bbpe_work_queue_init(&tasks, 3, 3, 1);
    if (!status) status = bbpe_ordered_output_init(&self, bounds);
    if (!status) bbpe_ordered_output_join(&self, 0, &room);
    for (size_t i = 0; i < 3 && !status; i++) {
        bbpe_output_job job = {.parts = {order[i], order[i] + 1}, .most = 2};
        status = bbpe_ordered_output_begin(&self, 0, &job, &to);
        if (status) break;
        to[0] = to[1] = (uint32_t)order[i];
        status = bbpe_ordered_output_add(&self, 0, &job, 2);
    }
    if (!status) mix(hash, ids, 6 * sizeof *ids);
    bbpe_ordered_output_free(&self);
    bbpe_work_queue_free(&tasks);
    bbpe_reusable_buffer_close(&room);
    return status;
}

/* -- all of it ------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bbpe_status (*run)(uint64_t *hash);
} JOURNEYS[] = {
    {"ranks", encode_ranks}, {"merges", encode_merges}, {"unigram", encode_unigram}, {"wordpiece", encode_wordpiece},
    {"words", encode_words}, {"decode", decode}, {"load", load_ranks}, {"count", count}, {"train", train},
    {"substrings", find_substrings}, {"room", fill_rooms}, {"parts", place_parts},
};

static void fail_each(size_t journey) {
    uint64_t expected = 0, refused = 0;
    mend();
    fault.made = 0;
    if (JOURNEYS[journey].run(&expected) != BBPE_OK) wrong("it fails undisturbed");
    const uint64_t made = fault.made;
    for (uint64_t n = 1; n <= made; n++)
        for (int later = 0; later < 2; later++) {
            uint64_t hash = 0;
            fault.made = 0;
            fault.failed = false;
            fault.and_later = later;
            fault.fail_at = n;
            const bbpe_status status = JOURNEYS[journey].run(&hash);
            if (!fault.failed) wrong("fewer allocations than before");
            if (status != BBPE_OK && status != BBPE_NO_MEMORY) wrong("it ends in another error");
            if (status == BBPE_OK && hash != expected) wrong("the result differs");
            refused += status != BBPE_OK;
        }
    mend();
    printf("%-10s %5llu allocations, %llu of %llu runs refused\n", JOURNEYS[journey].name, (unsigned long long)made,
           (unsigned long long)refused, (unsigned long long)(2 * made));
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof JOURNEYS / sizeof *JOURNEYS; i++)
        if (argc < 2 || strncmp(JOURNEYS[i].name, argv[1], strlen(argv[1])) == 0) fail_each(i);
    return 0;
}
