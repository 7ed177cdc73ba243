/* Words that threads share without a lock, read and written whole.
 *
 * `acquire` sees everything that was written before the `release` whose value it reads; `relaxed` promises only
 * that a word is never torn. */
#ifndef BBPE_BASE_ATOMIC_H
#define BBPE_BASE_ATOMIC_H

#include "base/common.h"

#if defined(__GNUC__) || defined(__clang__)
#define BBPE_ATOMIC_LOAD(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define BBPE_ATOMIC_STORE(p, value) __atomic_store_n(p, value, __ATOMIC_RELAXED)
#define BBPE_ATOMIC_ACQUIRE(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define BBPE_ATOMIC_RELEASE(p, value) __atomic_store_n(p, value, __ATOMIC_RELEASE)
#define BBPE_ATOMIC_OR(p, value) __atomic_fetch_or(p, value, __ATOMIC_RELAXED)
#define BBPE_ATOMIC_ADD(p, value) __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL)
#define BBPE_ATOMIC_EXCHANGE(p, value) __atomic_exchange_n(p, value, __ATOMIC_ACQ_REL)
/* Set *p to `value` if it is *expected; else *expected becomes what it is. */
#define BBPE_ATOMIC_SWAP(p, expected, value) \
    __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#else
#error "atomic.h needs the atomic operations of this compiler"
#endif

/* A pause of 10 to 50 ns, for a loop that waits until such a word changes. */
#if defined(__x86_64__) || defined(__i386__)
#define BBPE_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define BBPE_PAUSE() __asm__ volatile("yield")
#else
#define BBPE_PAUSE() ((void)0)
#endif

/* What a pointer leads to, NULL at first. */
BBPE_INLINE void *bbpe_shared_pointer_get(void **self) {
    return BBPE_ATOMIC_ACQUIRE(self);
}

/* Set a pointer; false when another thread did, and what it leads to is in *found. */
BBPE_INLINE bool bbpe_shared_pointer_set(void **self, void *value, void **found) {
    *found = NULL;
    return BBPE_ATOMIC_SWAP(self, found, value);
}

#endif
