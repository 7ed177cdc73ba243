from bbpe.core.c_cache cimport bbpe_cache_budget

# The one thing of the process that all tokenizers change.
cdef bbpe_cache_budget BUDGET
