/* Extended grapheme clusters (Unicode Standard Annex 29): what a reader takes for one character. */
#ifndef BBPE_TEXT_GRAPHEMES_H
#define BBPE_TEXT_GRAPHEMES_H

#include "text/characters.h"

/* Where the cluster ends that begins at text[start], start < n. */
size_t bbpe_grapheme_end(const uint8_t *text, size_t n, size_t start);

/* The last place at or before text[at] where a cluster begins whatever is before it, or `least`, where one does too. */
size_t bbpe_grapheme_boundary(const uint8_t *text, size_t n, size_t least, size_t at);

#endif
