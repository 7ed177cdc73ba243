#if defined(__linux__)
#define _GNU_SOURCE /* madvise */
#elif defined(__APPLE__)
#define _DARWIN_C_SOURCE /* MAP_ANONYMOUS */
#endif
#if defined(__linux__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#elif defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#endif

#include <stdlib.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "memory/pages.h"

#if defined(__linux__) || defined(__APPLE__)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* since Linux 6.1; others refuse it */
#endif

size_t bbpe_pages_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void *mapped(void *at, size_t size, int access, int flags) {
    void *memory = mmap(at, size, access, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void *bbpe_pages_new(size_t size) {
    return mapped(NULL, size, PROT_READ | PROT_WRITE, 0);
}

void *bbpe_pages_reserve(size_t size, size_t alignment) {
    if (size > SIZE_MAX - alignment) return NULL;
    uint8_t *pages = mapped(NULL, size + alignment, PROT_NONE, MAP_NORESERVE);
    if (pages == NULL) return NULL;
    const size_t before = (alignment - (uintptr_t)pages % alignment) % alignment, after = alignment - before;
    if (before > 0) (void)munmap(pages, before);
    if (after > 0) (void)munmap(pages + before + size, after);
    return pages + before;
}

bool bbpe_pages_commit(void *memory, size_t size) {
    return mprotect(memory, size, PROT_READ | PROT_WRITE) == 0;
}

void bbpe_pages_decommit(void *memory, size_t size) {
    (void)mapped(memory, size, PROT_NONE, MAP_NORESERVE | MAP_FIXED);
}

void bbpe_pages_free(void *memory, size_t size) {
    (void)munmap(memory, size);
}

void bbpe_pages_empty(void *memory, size_t size) {
#if defined(__linux__)
    (void)madvise(memory, size, MADV_DONTNEED);
#else
    /* elsewhere the advice may leave what is there */
    (void)mapped(memory, size, PROT_READ | PROT_WRITE, MAP_FIXED);
#endif
}
#elif defined(_WIN32)
size_t bbpe_pages_size(void) {
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return system.dwPageSize;
}

void *bbpe_pages_new(size_t size) {
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void *bbpe_pages_reserve(size_t size, size_t alignment) {
    if (size > SIZE_MAX - alignment) return NULL;
    /* no part of what was reserved can be given back: look where it would be, and reserve just that, unless another
     * thread was quicker */
    for (int tries = 0; tries < 8; tries++) {
        uint8_t *pages = VirtualAlloc(NULL, size + alignment, MEM_RESERVE, PAGE_NOACCESS);
        if (pages == NULL) return NULL;
        pages += (alignment - (uintptr_t)pages % alignment) % alignment;
        MEMORY_BASIC_INFORMATION whole;
        if (VirtualQuery(pages, &whole, sizeof whole) != sizeof whole) return NULL;
        (void)VirtualFree(whole.AllocationBase, 0, MEM_RELEASE);
        pages = VirtualAlloc(pages, size, MEM_RESERVE, PAGE_NOACCESS);
        if (pages != NULL) return pages;
    }
    return NULL;
}

bool bbpe_pages_commit(void *memory, size_t size) {
    return VirtualAlloc(memory, size, MEM_COMMIT, PAGE_READWRITE) != NULL;
}

void bbpe_pages_decommit(void *memory, size_t size) {
    (void)VirtualFree(memory, size, MEM_DECOMMIT);
}

void bbpe_pages_free(void *memory, size_t size) {
    (void)size;
    (void)VirtualFree(memory, 0, MEM_RELEASE);
}

void bbpe_pages_empty(void *memory, size_t size) {
    /* to decommit and commit again may fail; pages of zeros that are reset are zero, kept or not */
    memset(memory, 0, size);
    (void)VirtualAlloc(memory, size, MEM_RESET, PAGE_READWRITE);
}
#else
size_t bbpe_pages_size(void) {
    return 4096;
}

void *bbpe_pages_new(size_t size) {
    (void)size;
    return NULL;
}

void *bbpe_pages_reserve(size_t size, size_t alignment) {
    (void)size;
    (void)alignment;
    return NULL;
}

bool bbpe_pages_commit(void *memory, size_t size) {
    (void)memory;
    (void)size;
    return true;
}

void bbpe_pages_decommit(void *memory, size_t size) {
    (void)memory;
    (void)size;
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

#if defined(__linux__) || defined(__APPLE__)
const void *bbpe_pages_of_file(int file, size_t size) {
    void *memory = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void bbpe_pages_unmap(const void *memory, size_t size) {
    (void)munmap((void *)(uintptr_t)memory, size);
}

void bbpe_pages_forget(const void *memory, size_t size) {
    (void)madvise((void *)(uintptr_t)memory, size, MADV_DONTNEED);
}
#else
const void *bbpe_pages_of_file(int file, size_t size) {
    (void)file;
    (void)size;
    return NULL;
}

void bbpe_pages_unmap(const void *memory, size_t size) {
    (void)memory;
    (void)size;
}

void bbpe_pages_forget(const void *memory, size_t size) {
    (void)memory;
    (void)size;
}
#endif

void bbpe_pages_expect(void *memory, size_t size) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const size_t page = bbpe_pages_size(), skip = (page - (uintptr_t)memory % page) % page;
    if (size >= BBPE_PAGES_HUGE) (void)madvise((uint8_t *)memory + skip, (size - skip) / page * page, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size;
#endif
}

void bbpe_pages_collapse(void *memory, size_t size) {
#if defined(__linux__)
    const uintptr_t start = (uintptr_t)memory, skip = (BBPE_PAGES_HUGE - start % BBPE_PAGES_HUGE) % BBPE_PAGES_HUGE;
    if (size < skip + BBPE_PAGES_HUGE) return;
    volatile uint8_t *const first = (uint8_t *)memory + skip;
    const size_t whole = (size - skip) / BBPE_PAGES_HUGE * BBPE_PAGES_HUGE;
    /* what was never touched has nothing to be collapsed */
    for (size_t i = 0; i < whole; i += BBPE_PAGES_HUGE) first[i] = 0;
    (void)madvise((uint8_t *)memory + skip, whole, MADV_COLLAPSE);
#else
    (void)memory;
    (void)size;
#endif
}

void bbpe_pages_touch(void *memory, size_t size) {
    const size_t page = bbpe_pages_size();
    volatile uint8_t *bytes = memory;
    for (size_t i = 0; i < size; i += page) bytes[i] = 0;
}

void bbpe_pages_trim(void) {
#if defined(__GLIBC__)
    (void)malloc_trim(0);
#endif
}

void bbpe_pages_keep(size_t size) {
#if defined(__GLIBC__)
    void *volatile memory = malloc(size); /* volatile: a compiler leaves out what is freed unused */
    free(memory);
#else
    (void)size;
#endif
}
