/* Words that threads fill together, and whose content nobody reads before all of them have ended. */
#ifndef BBPE_THREADS_SHARED_WORDS_H
#define BBPE_THREADS_SHARED_WORDS_H

#include "base/atomic.h"

BBPE_INLINE void bbpe_shared_bits_set(uint64_t *words, size_t bit) {
    (void)BBPE_ATOMIC_OR(words + bit / 64, (uint64_t)1 << bit % 64);
}

BBPE_INLINE void bbpe_shared_sum_add(size_t *sum, size_t more) {
    (void)BBPE_ATOMIC_ADD(sum, more);
}

#endif
