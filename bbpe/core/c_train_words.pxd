from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status

cdef extern from "train/words.h" nogil:
    ctypedef struct bbpe_train_words_pair:
        uint64_t count
        uint32_t left, right

    ctypedef struct bbpe_train_words_array:
        size_t count

    ctypedef struct bbpe_train_words:
        uint64_t min_frequency
        bbpe_train_words_array symbols

    bbpe_status bbpe_train_words_init(bbpe_train_words *self, bint by_pmi, uint64_t min_frequency)
    void bbpe_train_words_free(bbpe_train_words *self)
    bbpe_status bbpe_train_words_add(bbpe_train_words *self, const uint32_t *symbols, size_t n, uint64_t weight)
    bbpe_status bbpe_train_words_name(
        bbpe_train_words *self, const uint8_t *strings, const int64_t *offsets, size_t count)
    bbpe_status bbpe_train_words_begin(bbpe_train_words *self)
    const bbpe_train_words_pair *bbpe_train_words_best(const bbpe_train_words *self)
    bbpe_status bbpe_train_words_merge(bbpe_train_words *self, uint32_t symbol)
