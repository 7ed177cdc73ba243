/* What the journeys of memory_driver.c are made of: a text, and a vocabulary of its words. */
#ifndef BBPE_MEMORY_SAMPLES_H
#define BBPE_MEMORY_SAMPLES_H

#include "decode/decode.h"
#include "models/bpe/bpe.h"
#include "base/hash.h"

static const char *const WORDS[] = {
    " the", " eyes", "see", " internationalisation of everything", "中文", "東京都", "é", "😀", "123", "!!", "\n\n",
    " ordinary", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abababababababab",
};
enum { WORD_COUNT = sizeof WORDS / sizeof *WORDS, ID_LIMIT = 600, TEXT_SIZE = 6000 };

/* Words with what is none between them, and at last one endless word. */
static size_t make_text(uint8_t *text) {
    uint64_t random = 1;
    size_t n = 0;
    while (n < TEXT_SIZE - 1500) {
        random = bbpe_hash_u64(random + 1);
        const char *word = random % 5 ? WORDS[random / 8 % WORD_COUNT] : random % 3 ? " zq" : "\xff";
        memcpy(text + n, word, strlen(word));
        n += strlen(word);
    }
    for (; n < TEXT_SIZE; n++) text[n] = (uint8_t)"abcab"[bbpe_hash_u64(n) % 5];
    return n;
}

static bbpe_status make_model(bbpe_bpe *model, bool by_rank) {
    uint32_t count = 0;
    bbpe_status status = bbpe_bpe_init(model, ID_LIMIT, by_rank, by_rank);
    for (; !status && count < 256; count++) status = bbpe_bpe_add_token(model, count, &(uint8_t){(uint8_t)count}, 1);
    for (size_t word = 0; !status && word < WORD_COUNT; word++) {
        const uint8_t *bytes = (const uint8_t *)WORDS[word];
        uint32_t left = bytes[0];
        for (size_t n = 2; !status && n <= strlen(WORDS[word]); n++) {
            const bbpe_pretoken_entry *found = bbpe_pretoken_table_find(&model->tokens, bytes, n);
            const uint32_t id = found ? (uint32_t)found->value : count++;
            if (!found) status = bbpe_bpe_add_token(model, id, bytes, n);
            if (!found && !status && !by_rank) status = bbpe_bpe_add_merge(model, left, bytes[n - 1], id, id);
            left = id;
        }
    }
    return status ? status : bbpe_bpe_finalize(model);
}

/* The stop strings "a", "abc" and "bc" in the text "xbbc". */
static bbpe_status find_stop(bool *is_found) {
    static const uint32_t characters[] = {'a', 'a', 'b', 'c', 'b', 'c'};
    static const uint16_t text[] = {'x', 'b', 'b', 'c'};
    static const size_t ends[] = {1, 4, 6};
    bbpe_stop_strings stops = {0};
    uint32_t state = 0;
    size_t end = 0;
    const bbpe_status status = bbpe_stop_strings_init(&stops, characters, ends, 3);
    if (!status) *is_found = bbpe_stop_strings_find(&stops, text, 2, 4, &state, &end) && end == 4;
    bbpe_stop_strings_free(&stops);
    return status;
}

#endif
