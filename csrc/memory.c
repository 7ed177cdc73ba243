#include "memory.h"

#include "pages.h"

enum { LINE = 64, HUGE_PAGE = 1 << 21 };

/* A table lies behind the address of the memory that holds it. */
void *bbpe_memory_table(size_t count, size_t size) {
    if (count > (SIZE_MAX - 2 * HUGE_PAGE) / size) return NULL;
    const size_t alignment = count * size < HUGE_PAGE ? LINE : HUGE_PAGE;
    /* fresh pages are zeroed by the system, when they are touched */
    uint8_t *memory = bbpe_memory_zeroed(count * size + alignment + sizeof memory, 1);
    if (memory == NULL) return NULL;
    const uintptr_t first = (uintptr_t)memory + sizeof memory;
    uint8_t *table = memory + sizeof memory + (alignment - first % alignment) % alignment;
    memcpy(table - sizeof memory, &memory, sizeof memory);
    bbpe_pages_expect(table, count * size);
    return table;
}

void bbpe_memory_table_free(void *table) {
    uint8_t *memory;
    if (table == NULL) return;
    memcpy(&memory, (uint8_t *)table - sizeof memory, sizeof memory);
    bbpe_memory_free(memory);
}
