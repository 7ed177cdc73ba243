/* A Python str, in the one, two or four bytes a unit that it has in memory, as UTF-8, one block after another.
 *
 * Encoding never needs a UTF-8 copy of a whole text: a caller goes on with the block while it is in the cache,
 * then asks for the next one at `*next`.  Every block is whole characters, and as many as fit.  A high surrogate
 * before a low one stands for one character, which no block's border separates; a surrogate alone becomes U+FFFD.
 *
 * Nothing is owned.  Blocks of 4 KiB, GB/s of UTF-8 on one core of a Zen 4, two bytes a unit: Chinese 13.7, Russian
 * 9.6, English 26; str.encode has 1.7 for Chinese.  On a Zen 3, with AVX2: Chinese 3.4, Russian 4.6, English 20. */
#ifndef BBPE_TEXT_TRANSCODE_H
#define BBPE_TEXT_TRANSCODE_H

#include "simd/cpu_level.h"

/* Write the UTF-8 of text[start..n), units of `kind` = 1 (Latin-1), 2 or 4 bytes, to out[0..capacity), capacity >= 16;
 * return the number of bytes.  `*next` is the first unit that is not taken, n when all are.  The bytes after
 * those returned, up to out[capacity), may be overwritten.  Room for all: 2, 3 or 4 bytes a unit for kind 1, 2 or 4. */
typedef size_t bbpe_transcode_function(const void *text, unsigned kind, size_t start, size_t n, size_t *next, uint8_t *out,
                                       size_t capacity);
bbpe_transcode_function bbpe_transcode_utf8;
typedef bbpe_transcode_function *bbpe_transcode;

/* The instruction sets of this machine and their names, slowest first, for tests: NULL after the last one,
 * which is the one that bbpe_transcode_utf8 takes. */
bbpe_transcode bbpe_transcode_variant(size_t index, const char **name);

bbpe_transcode_function bbpe_transcode_scalar;
#ifdef BBPE_HAS_X86
bbpe_transcode_function bbpe_transcode_avx2, bbpe_transcode_avx512;
#elif defined(BBPE_HAS_NEON)
bbpe_transcode_function bbpe_transcode_neon;
#endif

#endif
