from libc.stdint cimport uint64_t

cdef extern from "base/common.h" nogil:
    ctypedef enum bbpe_status:
        BBPE_OK, BBPE_NO_MEMORY, BBPE_TOO_LARGE, BBPE_CHANGED, BBPE_INTERRUPTED

    void BBPE_PREFETCH(const void *word)

cdef extern from "simd/cpu_level.h" nogil:
    ctypedef enum bbpe_cpu_level:
        BBPE_CPU_BASE, BBPE_CPU_AVX2

    const char *bbpe_cpu_level_name()
    void bbpe_cpu_level_lower(bbpe_cpu_level most)

cdef extern from "base/atomic.h" nogil:
    uint64_t BBPE_ATOMIC_LOAD(uint64_t *word)
    uint64_t BBPE_ATOMIC_ADD(uint64_t *word, uint64_t value)
    void *BBPE_ATOMIC_ACQUIRE(void **word)
    void BBPE_ATOMIC_STORE(uint64_t *word, uint64_t value)
    void *BBPE_ATOMIC_EXCHANGE(void **word, void *value)
    bint BBPE_ATOMIC_SWAP(void **word, void **expected, void *value)
