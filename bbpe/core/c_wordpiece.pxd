from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status
from bbpe.core.c_model cimport bbpe_model, bbpe_model_scratch

cdef extern from "models/normalise/bert.h" nogil:
    enum:
        BBPE_BERT_CLEAN
        BBPE_BERT_APART
        BBPE_BERT_STRIP
        BBPE_BERT_LOWER
        BBPE_BERT_JOIN
        BBPE_BERT_GROWTH

    ctypedef struct bbpe_bert_words:
        uint8_t *bytes
        size_t *ends
        size_t used, count

    void bbpe_bert_split(unsigned rules, const uint8_t *text, size_t n, bbpe_bert_words *words)

cdef extern from "models/wordpiece/wordpiece.h" nogil:
    enum:
        BBPE_WORDPIECE_BEGIN
        BBPE_WORDPIECE_CONTINUE

    ctypedef struct bbpe_wordpiece:
        bint is_bert
        unsigned rules
        bint has_tries

    bbpe_status bbpe_wordpiece_init(bbpe_wordpiece *self, uint32_t unknown, size_t max_characters, uint64_t salt)
    void bbpe_wordpiece_free(bbpe_wordpiece *self)
    bbpe_status bbpe_wordpiece_add(bbpe_wordpiece *self, uint32_t root, const uint8_t *bytes, size_t n, uint32_t id)
    bbpe_status bbpe_wordpiece_settle(bbpe_wordpiece *self)
    bbpe_status bbpe_wordpiece_encode(
        const void *self, bbpe_model_scratch *scratch, const uint8_t *word, size_t n, uint32_t *ids, size_t *count)
    bbpe_model bbpe_model_of_wordpiece(const bbpe_wordpiece *self)
