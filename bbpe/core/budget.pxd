from libc.stdint cimport uint64_t

from bbpe.core.c_threads cimport bbpe_memory_budget

# The one thing of the process that all tokenizers change.
cdef bbpe_memory_budget BUDGET
# The salt of tables of strings (csrc/base/hash.h).
cdef uint64_t SALT
