#include "memory/memory.h"

#include "memory/pages.h"

enum { LINE = 64 };

/* Before each table: the memory that holds it, and its size if it is pages of its own. */
typedef struct {
    void *memory;
    size_t pages;
} table_header;

void *bbpe_memory_table(size_t count, size_t size) {
    if (count > (SIZE_MAX - 2 * BBPE_PAGES_HUGE) / size) return NULL;
    const bool is_large = count * size >= BBPE_PAGES_HUGE;
    const size_t alignment = is_large ? BBPE_PAGES_HUGE : LINE, total = count * size + alignment + sizeof(table_header);
    table_header header = {is_large ? bbpe_pages_new(total) : NULL, total};
    if (header.memory == NULL) header = (table_header){bbpe_memory_zeroed(total, 1), 0};
    if (header.memory == NULL) return NULL;
    const uintptr_t first = (uintptr_t)header.memory + sizeof header;
    uint8_t *table = (uint8_t *)header.memory + sizeof header + (alignment - first % alignment) % alignment;
    memcpy(table - sizeof header, &header, sizeof header);
    if (header.pages) bbpe_pages_expect(table, count * size);
    return table;
}

void *bbpe_memory_dense_table(size_t count, size_t size) {
    void *table = bbpe_memory_table(count, size);
    if (table != NULL) bbpe_pages_touch(table, count * size);
    return table;
}

void bbpe_memory_table_free(void *table) {
    table_header header;
    if (table == NULL) return;
    memcpy(&header, (uint8_t *)table - sizeof header, sizeof header);
    if (header.pages)
        bbpe_pages_free(header.memory, header.pages);
    else
        bbpe_memory_free(header.memory);
}
