/* Splitting text into pretokens, by scheme and instruction set.
 *
 * A function that splits is chosen once (bbpe_split_select) and is good for any thread.  It cuts all of the
 * text: the end of one pretoken is the start of the next. */
#ifndef BBPE_SPLIT_H
#define BBPE_SPLIT_H

#include "split/token.h"

typedef enum { BBPE_ISA_AUTO, BBPE_ISA_SCALAR, BBPE_ISA_AVX2, BBPE_ISA_AVX512, BBPE_ISA_NEON } bbpe_isa;

/* Write the ends of the next pretokens of text[start..n) to ends[0..limit), limit >= 64; return how many:
 * at least one unless start == n.  Fewer than 256 places may be left unused; those after the last end may be
 * overwritten.  A pretoken never depends on anything before `start`.  `*has_3byte` is set if they have characters of three
 * bytes or more (bbpe_utf8_has_3byte), and may be if they have malformed bytes or the pretoken after them has. */
typedef size_t (*bbpe_split_fill)(const bbpe_scheme *scheme, const uint8_t *text, size_t start, size_t n,
                                  size_t *ends, size_t limit, bool *has_3byte);

/* Row `index` of the scheme table and its name, or NULL after the last one. */
const bbpe_scheme *bbpe_split_row(size_t index, const char **name);

/* The function for a scheme, or NULL when this machine lacks the instruction set.  It is specialised when
 * the scheme equals a row, but for the scalar one. */
bbpe_split_fill bbpe_split_select(const bbpe_scheme *scheme, bbpe_isa isa);

#define BBPE_SPLIT_NO_CUT SIZE_MAX

/* The first place at or after `start`, and less than `window` bytes from it, where the text may be cut: the
 * pretokens of text[0..cut) and of text[cut..n) are those of text[0..n).  Two neighbouring characters prove it.
 * BBPE_SPLIT_NO_CUT when there is none, as within one endless word. */
size_t bbpe_split_cut(const bbpe_scheme *scheme, const uint8_t *text, size_t start, size_t n, size_t window);

/* The version of Unicode that the classes come from, "16.0.0". */
const char *bbpe_split_unicode_version(void);

/* Where the pretoken that begins at `start` ends, and the scalar loop; both read the scheme at run time. */
size_t bbpe_split_step(const bbpe_scheme *self, const uint8_t *text, size_t start, size_t n);
size_t bbpe_split_scalar(const bbpe_scheme *self, const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit,
                         bool *has_3byte);
/* The loops of one instruction set; a row after the last one means: read the scheme at run time. */
#ifdef BBPE_HAS_X86
bbpe_split_fill bbpe_split_avx2(size_t row);
bbpe_split_fill bbpe_split_avx512(size_t row);
#endif
#ifdef BBPE_HAS_NEON
bbpe_split_fill bbpe_split_neon(size_t row);
#endif

#endif
