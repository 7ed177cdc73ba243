/* The ids of pieces that have more bytes or ids than a slot of the hot cache: rows of emoji, lines of DNA, base64.
 *
 *   ring   records one after another: a piece's hash, its length, its ids, its bytes; a new one overwrites the oldest
 *   sets   of eight words, a cache line: 16 bits of a hash, and where its record begins
 *
 * Places count all bytes that were ever written, so a record is there as long as its place is not further back than the ring
 * is large.  Keys are exact: bytes are compared, so a hit is never a guess.  There is no memory until a piece is remembered;
 * it grows while half of it is taken by new ones, as far as the budget of caches has room. */
#ifndef BBPE_ENCODE_LONG_PIECES_H
#define BBPE_ENCODE_LONG_PIECES_H

#include "base/hash.h"
#include "threads/threads.h"

enum {
    BBPE_LONG_PIECE = 1024, /* bytes of the longest piece */
    BBPE_LONG_PIECES_WAYS = 8,
};

#define BBPE_LONG_PIECE_PART ((uint32_t)1 << 31) /* beside the length: a part between cut points, not a whole pretoken */

typedef struct {
    uint64_t *sets; /* words: the upper bits of a hash above the place of its record in units of 8 bytes; 0: empty */
    size_t set_mask;
    uint8_t *ring;
    size_t size; /* of the ring, a power of two; 0: no memory */
    uint64_t head;  /* the place after the last record */
    uint64_t taken; /* bytes of records since it is so large */
    uint64_t added; /* records */
} bbpe_long_pieces;

typedef struct {
    uint64_t hash;
    uint32_t length; /* of the piece, with the flag of a part */
    uint32_t count;  /* of the ids, which follow; then the bytes */
} bbpe_long_piece;

/* A piece of 16 to BBPE_LONG_PIECE bytes. */
typedef struct {
    const uint8_t *bytes;
    uint32_t n;
    uint32_t length; /* with the flag of a part, as in a record */
} bbpe_long_piece_key;

/* The bytes of memory that it has. */
size_t bbpe_long_pieces_bytes(const bbpe_long_pieces *self);
/* Free its memory, and give it back to the budget that it was taken from. */
void bbpe_long_pieces_free(bbpe_long_pieces *self, bbpe_memory_budget *budget);
uint64_t bbpe_long_piece_hash(const bbpe_long_piece_key *key);
/* Fetch what finding a piece with this hash looks at first; and then the record that is likely its, which is returned, or NULL.
 * A record is there until the next one is added. */
void bbpe_long_pieces_prefetch(const bbpe_long_pieces *self, uint64_t hash);
const bbpe_long_piece *bbpe_long_pieces_prefetch_record(const bbpe_long_pieces *self, uint64_t hash);
/* The record of a piece, or NULL. */
const bbpe_long_piece *bbpe_long_pieces_find(const bbpe_long_pieces *self, const bbpe_long_piece_key *key);
/* Remember the ids of a piece that is not there, at most one a byte; nothing happens without memory or a budget. */
void bbpe_long_pieces_add(bbpe_long_pieces *self, bbpe_memory_budget *budget, const bbpe_long_piece_key *key,
                          const uint32_t *ids, size_t count);

BBPE_INLINE bbpe_long_piece_key bbpe_long_piece_key_of(const uint8_t *bytes, size_t n, bool is_part) {
    return (bbpe_long_piece_key){bytes, (uint32_t)n, (uint32_t)n | (is_part ? BBPE_LONG_PIECE_PART : 0)};
}

BBPE_INLINE bool bbpe_long_piece_has(const bbpe_long_piece *self, const bbpe_long_piece_key *key) {
    const uint8_t *bytes = (const uint8_t *)(self + 1) + self->count * sizeof(uint32_t);
    return self->length == key->length && memcmp(bytes, key->bytes, key->n) == 0;
}

BBPE_INLINE size_t bbpe_long_piece_copy_ids(const bbpe_long_piece *self, uint32_t *ids) {
    memcpy(ids, self + 1, self->count * sizeof *ids);
    return self->count;
}

#endif
