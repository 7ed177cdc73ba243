/* Advice to the operating system about large outputs.
 *
 * Memory that was never touched comes page by page, and 4 KiB at a time that costs more than decoding into it:
 * on a Zen 4 under Linux 2.7 GB/s, with huge pages 11.  Advice changes no content and may be ignored, so there
 * is nothing to fail; where there is no such system call, nothing happens. */
#ifndef BBPE_PAGES_H
#define BBPE_PAGES_H

#include "common.h"

#define BBPE_PAGES_HUGE ((size_t)2 << 20)

/* Zeroed pages of the system's, which take memory only where they are touched; NULL where there are none to be had.
 * An allocator may hand out pages that were in use, and clear them all. */
void *bbpe_pages_new(size_t size);
/* Give back pages, all that were handed out together or a part of them. */
void bbpe_pages_free(void *memory, size_t size);
/* Have pages take no memory until they are touched again, and then be zeroed. */
void bbpe_pages_empty(void *memory, size_t size);

/* Smaller outputs come from memory that the process has used before. */
#define BBPE_PAGES_WORTH BBPE_PAGES_HUGE

/* Ask for huge pages in memory that is about to be filled from its beginning to its end. */
void bbpe_pages_expect(void *memory, size_t size);

/* Write to each page of memory that is zeroed, so that it takes memory now. */
void bbpe_pages_touch(void *memory, size_t size);

#endif
