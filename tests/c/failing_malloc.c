/* An allocator to preload: one allocation that is asked for from a range of code fails, the n-th. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static uintptr_t first, last; /* of the code */
static uint64_t made, failing; /* allocations since the last call of failing_malloc_next, and which of them fails; 0: none */

void failing_malloc_watch(uintptr_t from, uintptr_t to) {
    first = from;
    last = to;
}

/* Have the n-th allocation from now on fail; returns how many there were since the last call. */
uint64_t failing_malloc_next(uint64_t n) {
    failing = n;
    return __atomic_exchange_n(&made, 0, __ATOMIC_RELAXED);
}

static bool fails(const void *caller) {
    if ((uintptr_t)caller < first || (uintptr_t)caller >= last) return false;
    return __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED) == failing;
}

void *malloc(size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}
