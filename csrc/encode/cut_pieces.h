/* Pretokens cut into pieces, where they have characters of three bytes and more and the vocabulary allows it
 * (models/cut_points.h).
 *
 * Pieces are pretokens, or parts of them.  Which borders are looked at decides about time, never about ids. */
#ifndef BBPE_ENCODE_CUT_PIECES_H
#define BBPE_ENCODE_CUT_PIECES_H

#include "models/cut_points.h"

/* Set in the end of a piece that is not the end of its pretoken. */
#define BBPE_CUT_PART (SIZE_MAX - (SIZE_MAX >> 1))

enum { BBPE_CUT_SLACK = 64 }; /* ends after the last one that may be overwritten */

/* Where characters of one, three and four bytes begin in 64 bytes. */
typedef struct {
    uint64_t one, three, four;
} bbpe_cut_characters;

/* Pretokens of text[0..n) by their ends; those from `end` on are still to be cut, and of the first of these the bytes
 * from `start` on, where the open piece begins. */
typedef struct {
    const uint8_t *text;
    size_t n, start;
    const size_t *end, *last;
    size_t at; /* 64 bytes at a time: where the next ones are, */
    bbpe_cut_characters before; /* and what those before them have */
} bbpe_cutting;

BBPE_INLINE bbpe_cutting bbpe_cutting_of(const uint8_t *text, size_t n, size_t start, const size_t *ends, size_t count) {
    return (bbpe_cutting){text, n, start, ends, ends + count, start, {0, 0, 0}};
}

/* Write the ends of the next pieces to ends[0..limit), limit >= 64, and return how many: none when all are done.  A pretoken
 * of no bytes stays one.  `part` is BBPE_CUT_PART, or 0 where it is not asked for. */
typedef size_t (*bbpe_cut_pieces)(const bbpe_cut_points *cuts, bbpe_cutting *cutting, size_t part, size_t *ends,
                                 size_t limit);

/* The end of the piece that begins at text[at..end): the first border after it, of any two characters not both ASCII, where
 * it may be parted; or `end`. */
size_t bbpe_cut_piece(const bbpe_cut_points *cuts, const uint8_t *text, size_t at, size_t end);

bbpe_cut_pieces bbpe_cut_pieces_select(void);

/* The functions to choose from. */
size_t bbpe_cut_pieces_scalar(const bbpe_cut_points *cuts, bbpe_cutting *cutting, size_t part, size_t *ends, size_t limit);
size_t bbpe_cut_pieces_avx2(const bbpe_cut_points *cuts, bbpe_cutting *cutting, size_t part, size_t *ends, size_t limit);
size_t bbpe_cut_pieces_avx512(const bbpe_cut_points *cuts, bbpe_cutting *cutting, size_t part, size_t *ends, size_t limit);
size_t bbpe_cut_pieces_neon(const bbpe_cut_points *cuts, bbpe_cutting *cutting, size_t part, size_t *ends, size_t limit);

#endif
