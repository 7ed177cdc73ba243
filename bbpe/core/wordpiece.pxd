from libc.stdint cimport uint8_t

from bbpe.core.c_models cimport BBPE_BERT_APART, BBPE_BERT_CLEAN, BBPE_BERT_LOWER, BBPE_BERT_STRIP, bbpe_wordpiece
from bbpe.core.model cimport Model

cdef inline unsigned rules_of(bert) except? 0:
    """A `bbpe.spec.spec.rules.BertNormalizer` as the C code has it."""
    return (
        (BBPE_BERT_CLEAN if bert.clean_text else 0)
        | (BBPE_BERT_APART if bert.cjk_apart else 0)
        | (BBPE_BERT_STRIP if bert.strip_accents else 0)
        | (BBPE_BERT_LOWER if bert.lowercase else 0)
    )


cdef class WordPiece(Model):
    cdef bbpe_wordpiece c
    cdef bint is_opened         # its arrays are in an image
    cdef object data_of_image
    cdef int _open(self, const uint8_t[::1] data) except -1
