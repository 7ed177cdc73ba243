from libc.stdint cimport uint64_t

from bbpe.core.c_encode cimport bbpe_cache_budget

# The one thing of the process that all tokenizers change.
cdef bbpe_cache_budget BUDGET
# What tables of strings are salted with (csrc/base/hash.h).
cdef uint64_t SALT
