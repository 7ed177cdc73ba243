#if defined(__linux__)
#define _GNU_SOURCE /* madvise */
#include <sys/mman.h>
#endif

#include "pages.h"

#if defined(__linux__)
void *bbpe_pages_new(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void bbpe_pages_free(void *memory, size_t size) {
    (void)munmap(memory, size);
}

void bbpe_pages_empty(void *memory, size_t size) {
    (void)madvise(memory, size, MADV_DONTNEED);
}
#else
void *bbpe_pages_new(size_t size) {
    (void)size;
    return NULL;
}

void bbpe_pages_free(void *memory, size_t size) {
    (void)memory;
    (void)size;
}

void bbpe_pages_empty(void *memory, size_t size) {
    (void)memory;
    (void)size;
}
#endif

#if defined(__linux__) && defined(MADV_HUGEPAGE)
#define PAGE 4096 /* advice about a part of a page of any size is refused, which is as good as none */

void bbpe_pages_expect(void *memory, size_t size) {
    if (size < BBPE_PAGES_WORTH) return;
    const size_t skip = (PAGE - (uintptr_t)memory % PAGE) % PAGE;
    (void)madvise((uint8_t *)memory + skip, (size - skip) / PAGE * PAGE, MADV_HUGEPAGE);
}
#else
void bbpe_pages_expect(void *memory, size_t size) {
    (void)memory;
    (void)size;
}
#endif

void bbpe_pages_touch(void *memory, size_t size) {
    volatile uint8_t *bytes = memory;
    for (size_t i = 0; i < size; i += 4096) bytes[i] = 0; /* no system has smaller ones */
}
