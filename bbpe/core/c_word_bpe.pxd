from libc.stdint cimport uint8_t, uint32_t

from bbpe.core.c_bpe cimport bbpe_bpe
from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_model cimport bbpe_model, bbpe_model_scratch

cdef extern from "models/word_bpe/word_bpe.h" nogil:
    ctypedef struct bbpe_word_bpe:
        uint8_t *symbols
        bint begins, ends, fuses, has_rules, is_clip
        unsigned rules

    bbpe_status bbpe_word_bpe_init(bbpe_word_bpe *self, const bbpe_bpe *bpe, bint has_symbols)
    void bbpe_word_bpe_free(bbpe_word_bpe *self)
    bbpe_status bbpe_word_bpe_mark(
        const bbpe_word_bpe *self, bbpe_model_scratch *scratch, const uint8_t *bytes, size_t n, uint8_t *out,
        size_t *ends, size_t *count)
    size_t bbpe_word_bpe_room(size_t n)
    bbpe_model bbpe_model_of_word_bpe(const bbpe_word_bpe *self)
