from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_split cimport c_bool
from bbpe.core.c_tables cimport bbpe_image, bbpe_pretoken_entry, bbpe_pretoken_table

cdef extern from "models/bpe/bpe.h" nogil:
    ctypedef struct bbpe_bpe_parts:
        uint32_t left, right

    ctypedef struct bbpe_bpe:
        bbpe_pretoken_table tokens
        uint32_t *lengths
        bbpe_bpe_parts *parts
        size_t id_count
        uint32_t byte_ids[256]
        size_t longest
        bint whole_pretokens
        uint32_t *output_starts
        uint32_t *outputs
        uint32_t fixed_ranks

    ctypedef struct bbpe_bpe_work:
        size_t capacity

    ctypedef struct bbpe_bpe_dropout:
        uint64_t state, threshold

    ctypedef struct bbpe_bpe_match:
        pass

    const uint64_t BBPE_BPE_MADE

    bbpe_status bbpe_bpe_init(bbpe_bpe *self, size_t id_count, bint by_rank, bint whole_pretokens)
    void bbpe_bpe_free(bbpe_bpe *self)
    void bbpe_bpe_work_free(bbpe_bpe_work *self)
    bbpe_status bbpe_bpe_add_merges(bbpe_bpe *self, const uint32_t (*rows)[3], size_t count)
    bbpe_status bbpe_bpe_set_levels(bbpe_bpe *self, const uint32_t *levels, size_t count)
    bbpe_status bbpe_bpe_finalize(bbpe_bpe *self)
    bbpe_status bbpe_bpe_set_outputs(bbpe_bpe *self, const uint32_t *starts, const uint32_t *outputs)
    void bbpe_bpe_visit(bbpe_bpe *self, bbpe_image *image)
    uint64_t bbpe_bpe_value(const bbpe_bpe *self, uint32_t left, uint32_t right)
    bint bbpe_bpe_is_short(const bbpe_bpe *self, size_t n)
    size_t bbpe_bpe_merge_short(const bbpe_bpe *self, const uint8_t *text, size_t n, size_t enough, uint32_t *ids)
    size_t bbpe_bpe_merge_runs(const bbpe_bpe *self, bbpe_bpe_work *work, const uint8_t *text, size_t n, uint32_t *ids)
    bbpe_status bbpe_bpe_merge_long(const bbpe_bpe *self, bbpe_bpe_work *work, const uint8_t *text, size_t n,
        size_t enough, uint32_t *ids, size_t *count)
    bbpe_status bbpe_bpe_match_init(bbpe_bpe_match *self, const bbpe_bpe *model)
    void bbpe_bpe_match_free(bbpe_bpe_match *self)
    bbpe_status bbpe_bpe_match_encode(const bbpe_bpe_match *self, const bbpe_bpe *model, bbpe_bpe_work *work,
        const uint8_t *text, size_t n, uint32_t *ids, size_t *count)

cdef extern from "models/vocab/vocab.h" nogil:
    ctypedef enum bbpe_rank_file_kind:
        BBPE_RANK_FILE_UNUSUAL, BBPE_RANK_FILE_CANONICAL

    ctypedef struct bbpe_vocab:
        bbpe_pretoken_table tokens
        size_t id_count
        bint is_unique

    const uint32_t BBPE_VOCAB_MAX_ID

    bbpe_status bbpe_tekken_rows_read(const uint8_t *text, size_t n, uint32_t first, size_t most, bbpe_vocab *vocab,
        c_bool *is_usual)
    bbpe_status bbpe_rank_file_read(const uint8_t *text, size_t n, bbpe_vocab *vocab, bbpe_rank_file_kind *kind)
    bbpe_status bbpe_vocab_init(bbpe_vocab *self, uint64_t salt)
    void bbpe_vocab_free(bbpe_vocab *self)
    void bbpe_vocab_visit(bbpe_vocab *self, bbpe_image *image)
    bbpe_status bbpe_vocab_reserve(bbpe_vocab *self, size_t tokens, size_t bytes)
    bbpe_status bbpe_vocab_add(bbpe_vocab *self, uint32_t id, const uint8_t *bytes, size_t n, uint32_t *found)
    bbpe_status bbpe_vocab_index(bbpe_vocab *self)
    const bbpe_pretoken_entry *bbpe_vocab_get(const bbpe_vocab *self, size_t id)

    ctypedef struct bbpe_merge:
        uint32_t left, right, made

    ctypedef struct bbpe_merge_list:
        bbpe_merge *merges
        size_t count, capacity

    ctypedef struct bbpe_merge_keys:
        const bbpe_vocab *keys
        const uint8_t *prefix
        size_t prefix_length

    void bbpe_merge_list_free(bbpe_merge_list *self)
    void bbpe_merge_list_visit(bbpe_merge_list *self, bbpe_image *image)
    bbpe_status bbpe_merge_list_reserve(bbpe_merge_list *self, size_t merges)
    void bbpe_merge_list_trim(bbpe_merge_list *self)
    void bbpe_merge_list_add(bbpe_merge_list *self, bbpe_merge merge)
    void bbpe_merge_list_mark_used(const bbpe_merge_list *self, uint8_t *used, size_t id_count)
    bbpe_status bbpe_keys_read(const uint8_t *text, size_t n, bbpe_vocab *keys, c_bool *is_usual)
    bbpe_status bbpe_scored_rows_read(const uint8_t *text, size_t n, bbpe_vocab *keys, double **scores, c_bool *is_usual)
    bbpe_status bbpe_merges_read_json(const uint8_t *text, size_t n, bbpe_merge_keys names, bbpe_merge_list *list,
        c_bool *is_usual)
    bbpe_status bbpe_merges_read_lines(const uint8_t *text, size_t n, bbpe_merge_keys names, bbpe_merge_list *list,
        c_bool *is_usual)
    bbpe_status bbpe_keys_to_bytes(const bbpe_vocab *keys, const uint8_t *left_out, bbpe_vocab *tokens, c_bool *is_usual)
    bbpe_status bbpe_keys_to_texts(const bbpe_vocab *keys, const uint8_t *left_out, bint marks_blanks, bbpe_vocab *tokens,
        c_bool *is_usual)

cdef extern from "models/model.h" nogil:
    ctypedef struct bbpe_model_scratch:
        void *memory
        size_t capacity

    ctypedef bbpe_status (*bbpe_model_encode)(const void *self, bbpe_model_scratch *scratch, const uint8_t *bytes,
        size_t n, uint32_t *ids, size_t *count)

    ctypedef struct bbpe_model:
        const bbpe_bpe *bpe
        const void *self
        bbpe_model_encode encode
        const bbpe_bpe *merges
        const bbpe_pretoken_table *tokens

    bbpe_model bbpe_model_of_bpe(const bbpe_bpe *bpe)
    void *bbpe_model_scratch_reserve(bbpe_model_scratch *self, size_t count, size_t size)
    void bbpe_model_scratch_free(bbpe_model_scratch *self)

cdef extern from "models/normalise/bert.h" nogil:
    ctypedef struct bbpe_bert_words:
        uint8_t *bytes
        size_t *ends
        size_t used, count

    enum:
        BBPE_BERT_CLEAN, BBPE_BERT_APART, BBPE_BERT_STRIP, BBPE_BERT_LOWER, BBPE_BERT_JOIN, BBPE_BERT_BLANK,
        BBPE_BERT_GROWTH

    void bbpe_bert_split(unsigned rules, const uint8_t *text, size_t n, bbpe_bert_words *words)

cdef extern from "models/unigram/unigram.h" nogil:
    ctypedef struct bbpe_unigram_piece:
        uint32_t id

    ctypedef struct bbpe_unigram:
        double unknown_score
        uint32_t unknown
        bint has_byte_ids, has_some_byte_ids, is_float
        uint32_t named
        uint32_t byte_ids[256]
        bbpe_unigram_piece *pieces
        size_t piece_count, run_ids

    ctypedef struct bbpe_unigram_nbest:
        uint32_t *ids
        size_t *ends
        double *sums
        size_t count

    bbpe_status bbpe_unigram_init(bbpe_unigram *self, const bbpe_pretoken_table *tokens, const double *scores)
    bbpe_status bbpe_unigram_add_runs(bbpe_unigram *self, bbpe_pretoken_table *tokens)
    bbpe_status bbpe_unigram_prepare(bbpe_unigram *self)
    void bbpe_unigram_free(bbpe_unigram *self)
    void bbpe_unigram_visit(bbpe_unigram *self, bbpe_image *image)
    bbpe_model bbpe_unigram_view(const bbpe_unigram *self)
    bbpe_status bbpe_unigram_nbest_best(bbpe_unigram_nbest *self, const bbpe_unigram *model, const uint8_t *text,
        size_t n, size_t most)
    bbpe_status bbpe_unigram_nbest_draw(bbpe_unigram_nbest *self, const bbpe_unigram *model, const uint8_t *text,
        size_t n, double alpha, uint64_t *state)
    void bbpe_unigram_nbest_free(bbpe_unigram_nbest *self)

cdef extern from "models/wordpiece/wordpiece.h" nogil:
    ctypedef struct bbpe_wordpiece:
        bint is_bert
        unsigned rules
        bint has_tries
        size_t id_count
        uint32_t unknown

    enum:
        BBPE_WORDPIECE_BEGIN, BBPE_WORDPIECE_CONTINUE
    uint32_t BBPE_WORDPIECE_NONE

    bbpe_status bbpe_wordpiece_init(bbpe_wordpiece *self, uint32_t unknown, size_t max_characters, uint64_t salt)
    void bbpe_wordpiece_free(bbpe_wordpiece *self)
    void bbpe_wordpiece_visit(bbpe_wordpiece *self, bbpe_image *image)
    bbpe_status bbpe_wordpiece_add(bbpe_wordpiece *self, uint32_t root, const uint8_t *bytes, size_t n, uint32_t id)
    bbpe_status bbpe_wordpiece_finalize(bbpe_wordpiece *self)
    bbpe_status bbpe_wordpiece_encode(const void *self, bbpe_model_scratch *scratch, const uint8_t *word, size_t n,
        uint32_t *ids, size_t *count)
    bbpe_model bbpe_model_of_wordpiece(const bbpe_wordpiece *self)

cdef extern from "models/word_bpe/word_bpe.h" nogil:
    ctypedef struct bbpe_word_bpe:
        uint8_t *symbols
        uint8_t unknown
        uint8_t spelled[256]
        bint of_bytes, begins, ends, fuses, drops, spells, has_rules, is_clip
        unsigned rules

    bbpe_status bbpe_word_bpe_init(bbpe_word_bpe *self, const bbpe_bpe *bpe, bint has_symbols)
    void bbpe_word_bpe_free(bbpe_word_bpe *self)
    bbpe_model bbpe_model_of_word_bpe(const bbpe_word_bpe *self)
