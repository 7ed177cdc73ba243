from libc.stdint cimport uint64_t

from bbpe.core.c_threads cimport bbpe_memory_budget, bbpe_turns

# The bytes of caches, which all tokenizers share.
cdef bbpe_memory_budget BUDGET
# Whose turn it is to have the interpreter's lock, of threads that call (interpreter_lock.pxd).
cdef bbpe_turns TURNS
# The salt of tables of strings (csrc/base/hash.h).
cdef uint64_t SALT
