#define _POSIX_C_SOURCE 200112L /* posix_memalign */
#include "memory.h"

#include "pages.h"

enum { LINE = 64, HUGE_PAGE = 1 << 21 };

void *bbpe_memory_table(size_t count, size_t size) {
#if defined(_WIN32)
    return bbpe_memory_zeroed(count, size);
#else
    void *memory;
    if (count == 0 || count > (SIZE_MAX - HUGE_PAGE) / size) return NULL;
    if (posix_memalign(&memory, count * size < HUGE_PAGE ? LINE : HUGE_PAGE, count * size) != 0) return NULL;
    bbpe_pages_expect(memory, count * size);
    memset(memory, 0, count * size);
    return memory;
#endif
}
