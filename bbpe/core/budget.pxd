from libc.stdint cimport uint64_t

from bbpe.core.c_base cimport BBPE_ATOMIC_LOAD
from bbpe.core.c_memory cimport bbpe_pages_keep
from bbpe.core.c_threads cimport bbpe_memory_budget, bbpe_turns

# The bytes of caches, which all tokenizers share.
cdef bbpe_memory_budget BUDGET
# Whose turn it is to have the interpreter's lock, of threads that call (interpreter_lock.pxd).
cdef bbpe_turns TURNS
# The salt of tables of strings (csrc/base/hash.h).
cdef uint64_t SALT

cdef enum:
    MAPPED = 1 << 17  # bytes: an allocator keeps less by itself


cdef inline void keep_freed(size_t bytes) noexcept nogil:
    """Have the allocator keep this many bytes, which a call is going to free, for the next call."""
    if MAPPED <= bytes <= <size_t>BBPE_ATOMIC_LOAD(&BUDGET.limit):
        bbpe_pages_keep(bytes)
