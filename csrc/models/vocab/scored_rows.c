#include "models/vocab/scored_rows.h"

#include "memory/memory.h"
#include "text/text.h"

enum { LEAST_ROW = 6 }; /* bytes: ["",0] without the comma after it */

/* How many rows a text has at most. */
static size_t most_rows(const uint8_t *text, size_t n) {
    size_t brackets = 0;
    for (size_t i = 0; i < n; i++) brackets += text[i] == '[';
    return brackets < n / LEAST_ROW + 1 ? brackets : n / LEAST_ROW + 1;
}

/* Take a row; `memory` has room for the characters of its key.  False when it is unusual or its key is not new. */
static bool add_row(bbpe_json *json, bbpe_vocab *keys, uint8_t *memory, double *score, bbpe_status *status) {
    bbpe_json_text text;
    const size_t count = keys->tokens.count;
    uint32_t found;
    if (!bbpe_json_take(json, '[') || !bbpe_json_take_text(json, &text) || !bbpe_json_take(json, ',')
        || !bbpe_json_take_double(json, score) || !bbpe_json_take(json, ']') || count > BBPE_VOCAB_MAX_ID)
        return false;
    const size_t length = text.has_escapes ? bbpe_json_unescape(&text, memory) : text.length;
    *status = bbpe_vocab_add(keys, (uint32_t)count, text.has_escapes ? memory : text.start, length, &found);
    return *status == BBPE_OK && keys->tokens.count > count;
}

static bool add_rows(bbpe_json *json, bbpe_vocab *keys, uint8_t *memory, double *scores, bbpe_status *status) {
    if (!bbpe_json_take(json, '[')) return false;
    if (bbpe_json_take(json, ']')) return bbpe_json_take_end(json);
    do
        if (!add_row(json, keys, memory, scores + keys->tokens.count, status)) return false;
    while (bbpe_json_take(json, ','));
    return bbpe_json_take(json, ']') && bbpe_json_take_end(json);
}

bbpe_status bbpe_scored_rows_read(const uint8_t *text, size_t n, bbpe_vocab *keys, double **scores, bool *is_usual) {
    bbpe_json json = {text, text + n};
    const size_t most = most_rows(text, n);
    uint8_t *memory = bbpe_memory_new(n, 1);
    *scores = bbpe_memory_new(most, sizeof **scores);
    *is_usual = false;
    bbpe_status status = memory == NULL || *scores == NULL ? BBPE_NO_MEMORY : bbpe_vocab_reserve(keys, most, n);
    if (status == BBPE_OK) *is_usual = add_rows(&json, keys, memory, *scores, &status);
    if (*is_usual) status = bbpe_vocab_index(keys);
    bbpe_memory_free(memory);
    return status;
}
