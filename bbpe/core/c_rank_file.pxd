from libc.stdint cimport uint8_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_vocab cimport bbpe_vocab

cdef extern from "models/vocab/rank_file.h" nogil:
    ctypedef enum bbpe_rank_file_kind:
        BBPE_RANK_FILE_UNUSUAL
        BBPE_RANK_FILE_CANONICAL

    bbpe_status bbpe_rank_file_read(const uint8_t *text, size_t n, bbpe_vocab *vocab, bbpe_rank_file_kind *kind)
