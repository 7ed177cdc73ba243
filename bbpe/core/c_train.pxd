from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_models cimport bbpe_unigram
from bbpe.core.c_split cimport c_bool

cdef extern from "train/train.h" nogil:
    ctypedef enum bbpe_train_ties:
        BBPE_TRAIN_IDS, BBPE_TRAIN_BYTES, BBPE_TRAIN_FIRST

    ctypedef enum bbpe_train_answer:
        BBPE_TRAIN_ALLOWED, BBPE_TRAIN_FORBIDDEN, BBPE_TRAIN_STOP

    ctypedef struct bbpe_train_options:
        bbpe_train_ties ties
        size_t merge_limit
        int64_t min_frequency
        uint32_t max_length
        int64_t threshold
        c_bool (*interrupted)() noexcept
        bbpe_train_answer (*allows)(void *context, const uint8_t *bytes, size_t n) noexcept
        void *context

    ctypedef struct bbpe_token_strings:
        const uint8_t *arena
        size_t used
        const uint64_t *starts

    ctypedef struct bbpe_train:
        bbpe_train_options options
        bbpe_token_strings tokens
        uint64_t *merges
        int64_t *merge_counts
        size_t merge_count
        int64_t threshold

    ctypedef struct bbpe_train_words_pair:
        uint64_t count
        uint32_t left, right

    ctypedef struct bbpe_train_words_array:
        size_t count

    ctypedef struct bbpe_train_words:
        uint64_t min_frequency
        bbpe_train_words_array symbols

    ctypedef struct bbpe_unigram_corpus:
        const uint8_t *data
        const int64_t *offsets
        const uint64_t *counts

    ctypedef struct bbpe_substring:
        uint64_t weight
        uint32_t start, length

    ctypedef struct bbpe_substrings:
        bbpe_substring *found
        size_t count

    bbpe_status bbpe_train_init(bbpe_train *self, size_t pretokens, size_t bytes, const uint8_t *byte_order,
        bbpe_train_options options)
    bbpe_status bbpe_train_init_from(bbpe_train *self, size_t pretokens, size_t bytes, const uint8_t *tokens,
        const int64_t *offsets, size_t count, bbpe_train_options options)
    bbpe_status bbpe_train_init_symbols(bbpe_train *self, size_t pretokens, size_t symbols, const uint8_t *tokens,
        const int64_t *offsets, size_t count, bbpe_train_options options)
    void bbpe_train_free(bbpe_train *self)
    bbpe_status bbpe_train_add(bbpe_train *self, const uint8_t *bytes, size_t n, int64_t count)
    bbpe_status bbpe_train_add_tokens(bbpe_train *self, const uint32_t *ids, size_t n, int64_t count, size_t *used)
    bbpe_status bbpe_train_step(bbpe_train *self, size_t visits, c_bool *done)
    bbpe_status bbpe_train_words_init(bbpe_train_words *self, bint by_pmi, uint64_t min_frequency)
    void bbpe_train_words_free(bbpe_train_words *self)
    bbpe_status bbpe_train_words_add(bbpe_train_words *self, const uint32_t *symbols, size_t n, uint64_t weight)
    bbpe_status bbpe_train_words_name(bbpe_train_words *self, const uint8_t *strings, const int64_t *offsets,
        size_t count)
    bbpe_status bbpe_train_words_begin(bbpe_train_words *self)
    const bbpe_train_words_pair *bbpe_train_words_best(const bbpe_train_words *self)
    bbpe_status bbpe_train_words_merge(bbpe_train_words *self, uint32_t symbol)
    bbpe_status bbpe_unigram_train_expect(const bbpe_unigram *model, const bbpe_unigram_corpus *corpus, size_t first,
        size_t end, const double *probabilities, double *expected, double *likelihood)
    bbpe_status bbpe_unigram_train_count(const bbpe_unigram *model, const bbpe_unigram_corpus *corpus, size_t first,
        size_t end, double *times)
    bbpe_status bbpe_unigram_train_losses(const bbpe_unigram *model, const double *times, double total, size_t first,
        size_t end, double *losses)
    bbpe_status bbpe_substrings_find(bbpe_substrings *self, const uint32_t *symbols, size_t n, uint32_t highest,
        const uint64_t *weights, unsigned depth)
    void bbpe_substrings_free(bbpe_substrings *self)
