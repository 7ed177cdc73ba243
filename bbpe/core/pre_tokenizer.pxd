from bbpe.core.c_pipeline cimport bbpe_pre_tokenizer, bbpe_pre_tokenizer_step


cdef class PreTokenizer:
    cdef bbpe_pre_tokenizer c
    cdef bbpe_pre_tokenizer_step *own
    cdef readonly object steps  # stub: tuple[_Step, ...]
