#include "models/cut_points.h"

#include "memory/memory.h"

/* At most one bit in so many is set.  The first size, 128 KiB, is enough for 65,000 borders. */
enum { LEAST_BITS = 16, FIRST_BITS = 20, MOST_BITS = 26, SPARSE = 16 };

/* Set the bit of a byte in a row; 1 when it is new. */
static size_t set_bit(uint64_t *row, uint8_t byte) {
    const uint64_t bit = (uint64_t)1 << (byte & 63);
    const size_t is_new = !(*row & bit);
    *row |= bit;
    return is_new;
}

/* At most four bytes as a character. */
static bbpe_character pack(const uint8_t *bytes, size_t n) {
    bbpe_character packed = {0, (unsigned)n};
    for (size_t i = 0; i < n; i++) packed.bytes |= (uint32_t)bytes[i] << (8 * i);
    return packed;
}

/* A token that ends within the character that begins at `bytes`, of which it has n bytes. */
static void add_partial(bbpe_cut_points *self, uint8_t before, const uint8_t *bytes, size_t n) {
    if (bytes[0] < 0x80 || n > 1) {
        set_bit(self->partial + bbpe_cut_points_partial_row(bytes[0], bytes[0] < 0x80 ? 0 : bytes[1]), before);
        return;
    }
    for (unsigned second = 0x80; second < 0xC0; second++)
        set_bit(self->partial + bbpe_cut_points_partial_row(bytes[0], (uint8_t)second), before);
}

/* A token that holds both characters; 1 when that is new. */
static size_t add_whole(bbpe_cut_points *self, bbpe_character left, bbpe_character right) {
    const size_t row = bbpe_cut_points_whole_row(self, bbpe_cut_points_key(left, right));
    return set_bit(self->whole + row, bbpe_character_last(right));
}

/* Add a border of a token, in front of byte p, to the sieve: the bytes that the token lacks may be any. */
static void add_to_sieve(bbpe_cut_points *self, uint8_t *any, const uint8_t *token, size_t n, size_t p) {
    const uint8_t group = (uint8_t)(1u << (token[p] & 7));
    for (size_t k = 0; k < BBPE_CUT_POINTS_SIEVE; k++) {
        if (p + k >= 2 && p + k < n + 2) self->sieve[k][token[p + k - 2] & 63] |= group;
        else any[k] |= group;
    }
}

/* Add the borders within a token; the number of bits of `whole` that are new.  `any`: groups of the sieve that any byte
 * has. */
static size_t add_token(bbpe_cut_points *self, uint8_t *any, const uint8_t *token, size_t n) {
    size_t added = 0;
    for (size_t p = 1; p < n; p++) {
        if (bbpe_utf8_is_tail(token[p]) || ((token[p - 1] | token[p]) < 0x80)) continue;
        const size_t right = bbpe_character_length(token[p]);
        if (right == 0) continue; /* no text has it at a border of well-formed characters */
        if (right == 3) add_to_sieve(self, any, token, n, p);
        size_t start = p - 1;
        while (start > 0 && bbpe_utf8_is_tail(token[start])) start--;
        if (bbpe_utf8_is_tail(token[start]) || right > n - p)
            add_partial(self, token[p - 1], token + p, n - p);
        else if (p - start <= 4)
            added += add_whole(self, pack(token + start, p - start), pack(token + p, right));
    }
    return added;
}

static bool is_ascii(const uint8_t *bytes, size_t n) {
    uint64_t words[2] = {0, 0};
    size_t i = 0;
    for (; n - i >= sizeof words[0]; i += sizeof words[0]) {
        memcpy(words + 1, bytes + i, sizeof words[0]);
        words[0] |= words[1];
    }
    for (; i < n; i++) words[0] |= bytes[i];
    return !(words[0] & 0x8080808080808080u);
}

/* The borders within all tokens, in 1 << bits bits of `whole`; *added: how many are set. */
static bbpe_status fill(bbpe_cut_points *self, const bbpe_pretoken_table *tokens, uint64_t made, unsigned bits,
                        size_t *added) {
    uint8_t any[BBPE_CUT_POINTS_SIEVE] = {0};
    bbpe_memory_table_free(self->whole);
    self->shift = 64 - (bits - 6);
    self->whole = bbpe_memory_table((size_t)1 << (bits - 6), sizeof *self->whole);
    *added = 0;
    if (self->whole == NULL) return BBPE_NO_MEMORY;
    for (size_t i = 0; i < tokens->count; i++) {
        const bbpe_pretoken_entry *entry = tokens->entries + i;
        const uint8_t *bytes = tokens->arena + entry->start;
        if ((made == 0 || entry->value & made) && !is_ascii(bytes, entry->length))
            *added += add_token(self, any, bytes, entry->length);
    }
    for (size_t k = 0; k < BBPE_CUT_POINTS_SIEVE; k++)
        for (size_t byte = 0; byte < 64; byte++) self->sieve[k][byte] |= any[k];
    return BBPE_OK;
}

/* Halve the bits of `whole` as often as it stays sparse: a row is a hash's upper bits, so two neighbours become one. */
static bbpe_status shrink(bbpe_cut_points *self, unsigned bits, size_t added) {
    size_t rows = (size_t)1 << (bits - 6);
    for (; bits > LEAST_BITS && added <= ((size_t)1 << (bits - 1)) / SPARSE; bits--) {
        rows /= 2;
        for (size_t row = 0; row < rows; row++) self->whole[row] = self->whole[2 * row] | self->whole[2 * row + 1];
    }
    uint64_t *const shrunk = bbpe_memory_table(rows, sizeof *shrunk);
    if (shrunk == NULL) return BBPE_NO_MEMORY;
    memcpy(shrunk, self->whole, rows * sizeof *shrunk);
    bbpe_memory_table_free(self->whole);
    self->whole = shrunk;
    self->shift = 64 - (bits - 6);
    return BBPE_OK;
}

bbpe_status bbpe_cut_points_init(bbpe_cut_points *self, const bbpe_pretoken_table *tokens, uint64_t made) {
    memset(self, 0, sizeof *self);
    self->partial = bbpe_memory_table(BBPE_CUT_POINTS_PARTIAL_ROWS, sizeof *self->partial);
    bbpe_status status = self->partial == NULL ? BBPE_NO_MEMORY : BBPE_OK;
    size_t added = 0;
    unsigned bits = FIRST_BITS;
    do {
        status = status == BBPE_OK ? fill(self, tokens, made, bits, &added) : status;
    } while (status == BBPE_OK && added > ((size_t)1 << bits) / SPARSE && (bits += 2) <= MOST_BITS);
    if (status == BBPE_OK) status = shrink(self, bits < MOST_BITS ? bits : MOST_BITS, added);
    if (status != BBPE_OK) bbpe_cut_points_free(self);
    return status;
}

void bbpe_cut_points_free(bbpe_cut_points *self) {
    bbpe_memory_table_free(self->whole);
    bbpe_memory_table_free(self->partial);
    memset(self, 0, sizeof *self);
}

void bbpe_cut_points_visit(bbpe_cut_points *self, bbpe_image *image) {
    size_t bits = 64 - self->shift + 6, words[sizeof self->sieve / sizeof(size_t)];
    bbpe_image_number(image, &bits);
    bbpe_image_expect(image, bits >= LEAST_BITS && bits <= MOST_BITS);
    if (image->is_broken) bits = LEAST_BITS;
    self->shift = (unsigned)(64 - (bits - 6));
    memcpy(words, self->sieve, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) bbpe_image_number(image, words + i);
    memcpy(self->sieve, words, sizeof words);
    bbpe_image_array(image, &self->whole, (size_t)1 << (bits - 6), sizeof *self->whole);
    bbpe_image_array(image, &self->partial, BBPE_CUT_POINTS_PARTIAL_ROWS, sizeof *self->partial);
}
