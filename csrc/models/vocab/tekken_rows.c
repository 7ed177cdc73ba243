#include "models/vocab/tekken_rows.h"

#include "models/vocab/rank_file.h"
#include "text/text.h"

typedef struct {
    uint8_t token[BBPE_RANK_FILE_TOKEN];
    size_t length;
} row;

static bool take_name(bbpe_json *json, const char *name) {
    bbpe_json_text text;
    return bbpe_json_take_text(json, &text) && !text.has_escapes && text.length == strlen(name)
           && memcmp(text.start, name, text.length) == 0 && bbpe_json_take(json, ':');
}

static bool take_token(bbpe_json *json, row *to) {
    bbpe_json_text text;
    if (!bbpe_json_take_text(json, &text) || text.has_escapes) return false;
    if (text.length == 0 || text.length > BBPE_RANK_FILE_TOKEN / 3 * 4) return false;
    to->length = bbpe_base64_decode(text.start, text.length, to->token);
    return to->length != BBPE_BASE64_NONE;
}

static bool take_text_or_null(bbpe_json *json) {
    bbpe_json_text text;
    if (bbpe_json_take_text(json, &text)) return true;
    if (!bbpe_json_take(json, 'n') || json->end - json->at < 3 || memcmp(json->at, "ull", 3) != 0) return false;
    json->at += 3;
    return true;
}

static bool take_row(bbpe_json *json, size_t rank, row *to) {
    uint32_t number;
    return bbpe_json_take(json, '{') && take_name(json, "rank") && bbpe_json_take_number(json, BBPE_VOCAB_MAX_ID, &number)
           && number == rank && bbpe_json_take(json, ',') && take_name(json, "token_bytes") && take_token(json, to)
           && bbpe_json_take(json, ',') && take_name(json, "token_str") && take_text_or_null(json)
           && bbpe_json_take(json, '}');
}

bbpe_status bbpe_tekken_rows_read(const uint8_t *text, size_t n, uint32_t first, size_t most, bbpe_vocab *vocab,
                                  bool *is_usual) {
    bbpe_json json = {text, text + n};
    row taken;
    *is_usual = false;
    if (most > n || first + most > BBPE_VOCAB_MAX_ID || !bbpe_json_take(&json, '[')) return BBPE_OK;
    bbpe_status status = bbpe_vocab_reserve(vocab, most, n / 16);
    size_t rank = 0;
    do {
        if (status != BBPE_OK || !take_row(&json, rank, &taken)) return status;
        if (rank < most) {
            uint32_t found;
            status = bbpe_vocab_add(vocab, first + (uint32_t)rank, taken.token, taken.length, &found);
            if (status == BBPE_OK && vocab->tokens.count == rank) return BBPE_OK; /* it is there twice */
        }
        rank++;
    } while (bbpe_json_take(&json, ','));
    if (rank < most || !bbpe_json_take(&json, ']') || !bbpe_json_take_end(&json)) return status;
    if (status == BBPE_OK) status = bbpe_vocab_index(vocab);
    *is_usual = status == BBPE_OK && vocab->is_unique;
    return status;
}
