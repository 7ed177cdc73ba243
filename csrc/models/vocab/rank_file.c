#include "models/vocab/rank_file.h"

#include "text/text.h"

typedef struct {
    const uint8_t *at, *end;
    uint8_t token[BBPE_RANK_FILE_TOKEN];
    size_t length;
    uint32_t rank;
    bool is_canonical; /* no line so far could be written otherwise */
} reader;

static bool read_token(reader *self) {
    const uint8_t *blank = memchr(self->at, ' ', (size_t)(self->end - self->at));
    if (blank == NULL) return false;
    const size_t n = (size_t)(blank - self->at);
    if (n > BBPE_RANK_FILE_TOKEN / 3 * 4) return false;
    self->length = n == 1 && *self->at == '=' ? 0 : bbpe_base64_decode(self->at, n, self->token);
    self->at = blank + 1;
    return self->length != BBPE_BASE64_NONE;
}

static bool read_rank(reader *self) {
    const uint8_t *first = self->at;
    uint32_t rank = 0;
    for (; self->at < self->end && *self->at >= '0' && *self->at <= '9'; self->at++) {
        rank = rank * 10 + (uint32_t)(*self->at - '0');
        if (rank > BBPE_VOCAB_MAX_ID) return false;
    }
    if (self->at == first) return false;
    if (*first == '0' && self->at - first > 1) self->is_canonical = false;
    self->rank = rank;
    return true;
}

static bool read_end_of_line(reader *self) {
    if (self->at == self->end) {
        self->is_canonical = false;
        return true;
    }
    if (*self->at == '\r') {
        self->is_canonical = false;
        if (++self->at == self->end) return true;
    }
    return *self->at++ == '\n';
}

bbpe_status bbpe_rank_file_read(const uint8_t *text, size_t n, bbpe_vocab *vocab, bbpe_rank_file_kind *kind) {
    reader self = {.at = text, .end = text + n, .is_canonical = true};
    size_t next = 0; /* above all ranks so far */
    *kind = BBPE_RANK_FILE_UNUSUAL;
    size_t lines = 1;
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    bbpe_status status = bbpe_vocab_reserve(vocab, lines, n / 4 * 3);
    while (status == BBPE_OK && self.at < self.end) {
        if (*self.at == '\n') {
            self.is_canonical = false;
            self.at++;
            continue;
        }
        if (!read_token(&self) || !read_rank(&self) || !read_end_of_line(&self)) return BBPE_OK;
        const size_t count = vocab->tokens.count;
        uint32_t found;
        status = bbpe_vocab_add(vocab, self.rank, self.token, self.length, &found);
        if (status == BBPE_OK && vocab->tokens.count == count) return BBPE_OK;
        if (self.rank < next) self.is_canonical = false;
        next = (size_t)self.rank + 1;
    }
    if (status == BBPE_OK) status = bbpe_vocab_index(vocab);
    if (status == BBPE_OK && vocab->is_unique && vocab->tokens.count > 0)
        *kind = self.is_canonical ? BBPE_RANK_FILE_CANONICAL : BBPE_RANK_FILE_READ;
    return status;
}
