/* Pages of the operating system.
 *
 * Memory that was never touched comes page by page, and 4 KiB at a time that costs more than decoding into it: on a Zen 4
 * under Linux 2.7 GB/s, with huge pages 11.  So huge pages are asked for, in pages of our own alone: an allocator keeps
 * what is freed, and what was asked for would stay with it.  Where there are no such system calls there are no pages: Linux, macOS and Windows have them. */
#ifndef BBPE_MEMORY_PAGES_H
#define BBPE_MEMORY_PAGES_H

#include "base/common.h"

#define BBPE_PAGES_HUGE ((size_t)2 << 20)

/* The bytes of a page; 4 KiB where there are none. */
size_t bbpe_pages_size(void);

/* Zeroed pages, which take memory only where they are touched; NULL where there are none to be had.  An allocator may hand
 * out pages that were in use, and clear them all. */
void *bbpe_pages_new(size_t size);
/* Addresses alone, from a multiple of `alignment` on (a power of two, at least a page), which the system counts as nothing,
 * however it counts memory; or NULL. */
void *bbpe_pages_reserve(size_t size, size_t alignment);
/* Make pages of reserved addresses, whole pages of them; false without memory. */
bool bbpe_pages_commit(void *memory, size_t size);
/* Make reserved addresses of pages. */
void bbpe_pages_decommit(void *memory, size_t size);
/* Give back pages or addresses: all that were handed out together. */
void bbpe_pages_free(void *memory, size_t size);
/* Have pages take no memory until they are touched again, and then be zeroed. */
void bbpe_pages_empty(void *memory, size_t size);

/* The first `size` bytes of an open file, for reading; NULL where the system has none of it. The file may be closed then. */
const void *bbpe_pages_of_file(int file, size_t size);
/* Give back what was mapped of a file. */
void bbpe_pages_unmap(const void *memory, size_t size);
/* Have what was read of a file take no memory: it is read again if it is asked for. */
void bbpe_pages_forget(const void *memory, size_t size);

/* Ask for huge pages in pages that are about to be filled. */
void bbpe_pages_expect(void *memory, size_t size);
/* Have huge pages in memory of an allocator's, of undefined content, that is about to be filled all over: now, and nothing of
 * that stays with the memory when it is freed. */
void bbpe_pages_collapse(void *memory, size_t size);

/* Write to each page of memory that is zeroed, so that it takes memory now. */
void bbpe_pages_touch(void *memory, size_t size);

/* Return to the system the freed memory that the allocator keeps, where it can. */
void bbpe_pages_trim(void);
/* Have the allocator keep this many bytes, which are going to be freed, for the next call; up to 32 MB.  glibc maps a block
 * that is larger than any mapped block that was freed, and a block that was shrunk counts with its last size.  It also
 * returns free memory at the end of its heap that is twice as large.  Either way the system clears each page again in each
 * call, which for the ids of 600 kB of Hindi takes 0.7 ms of 1.8. */
void bbpe_pages_keep(size_t size);

#endif
