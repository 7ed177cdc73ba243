from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport bbpe_status

cdef extern from "train/train.h" nogil:
    ctypedef bint c_bool "bool"

    ctypedef enum bbpe_train_ties:
        BBPE_TRAIN_IDS
        BBPE_TRAIN_BYTES
        BBPE_TRAIN_FIRST

    ctypedef struct bbpe_train_options:
        bbpe_train_ties ties
        size_t merge_limit
        int64_t min_frequency
        uint32_t max_length
        int64_t threshold

    ctypedef struct bbpe_token_strings:
        const uint8_t *arena
        size_t used
        const uint64_t *starts

    ctypedef struct bbpe_train:
        bbpe_train_options options
        bbpe_token_strings tokens
        uint64_t *merges
        size_t merge_count
        int64_t threshold

    bbpe_status bbpe_train_init(
        bbpe_train *self, size_t pretokens, size_t bytes, const uint8_t *byte_order, bbpe_train_options options)
    bbpe_status bbpe_train_init_from(
        bbpe_train *self, size_t pretokens, size_t bytes, const uint8_t *tokens, const int64_t *offsets, size_t count,
        bbpe_train_options options)
    bbpe_status bbpe_train_init_symbols(
        bbpe_train *self, size_t pretokens, size_t symbols, const uint8_t *tokens, const int64_t *offsets, size_t count,
        bbpe_train_options options)
    void bbpe_train_free(bbpe_train *self)
    bbpe_status bbpe_train_add(bbpe_train *self, const uint8_t *bytes, size_t n, int64_t count)
    bbpe_status bbpe_train_add_tokens(
        bbpe_train *self, const uint32_t *ids, size_t n, int64_t count, size_t *used)
    bbpe_status bbpe_train_step(bbpe_train *self, size_t visits, c_bool *done)
