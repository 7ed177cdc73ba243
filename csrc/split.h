/* Splitting text into pretokens, by scheme.
 *
 * A splitter is chosen once by name and is immutable; any thread may use it.  It cuts all of the text:
 * the end of one pretoken is the start of the next. */
#ifndef BBPE_SPLIT_H
#define BBPE_SPLIT_H

#include "common.h"

/* Write the ends of the next pretokens of text[start..n) to ends[0..limit); return how many.  Fewer
 * than `limit` only when the text is used up.  A pretoken never depends on anything before `start`. */
typedef size_t (*bbpe_split_fill)(const uint8_t *text, size_t start, size_t n, size_t *ends, size_t limit);

/* The splitter of a scheme, or NULL when the name is unknown. */
bbpe_split_fill bbpe_split_find(const char *name);

/* The version of Unicode that the classes come from, "16.0.0". */
const char *bbpe_split_unicode_version(void);

#endif
