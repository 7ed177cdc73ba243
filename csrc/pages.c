#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#endif

#include "pages.h"

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
