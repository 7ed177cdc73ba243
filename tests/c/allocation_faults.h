/* Allocations that fail when they are told to: `fault` counts them and says which.  For one driver, linked with
 * --wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap,--wrap=mprotect, so that memory/memory.h stays as it is. */
#ifndef BBPE_TESTS_ALLOCATION_FAULTS_H
#define BBPE_TESTS_ALLOCATION_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

static struct {
    uint64_t made, fail_at; /* allocations so far; the one that fails, 0: none */
    bool and_later, failed;
} fault;

static bool fails(void) {
    fault.made++;
    if (fault.fail_at == 0 || fault.made < fault.fail_at) return false;
    if (fault.made > fault.fail_at && !fault.and_later) return false;
    return fault.failed = true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
int __real_mprotect(void *at, size_t size, int protection);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
int __wrap_mprotect(void *at, size_t size, int protection);

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return fails() ? NULL : __real_realloc(memory, size);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    return fails() ? MAP_FAILED : __real_mmap(at, size, protection, flags, file, offset);
}

int __wrap_mprotect(void *at, size_t size, int protection) {
    return fails() ? -1 : __real_mprotect(at, size, protection);
}

#endif
