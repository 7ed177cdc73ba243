from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_memory cimport bbpe_reusable_buffer
from bbpe.core.c_models cimport bbpe_bpe_dropout, bbpe_model
from bbpe.core.c_pipeline cimport (
    bbpe_pipeline_call, bbpe_pipeline_run, bbpe_place_scratch, bbpe_place_trims, bbpe_stretch, bbpe_token_lengths,
)
from bbpe.core.c_split cimport bbpe_scheme, bbpe_split_fill
from bbpe.core.c_tables cimport bbpe_image
from bbpe.core.c_threads cimport bbpe_memory_budget, bbpe_ordered_output

cdef extern from "encode/encode.h" nogil:
    ctypedef struct bbpe_encoder:
        pass

    ctypedef struct bbpe_encode_state:
        pass

    ctypedef void (*bbpe_encode_ask_room)(void *owner, bbpe_encode_state *state)
    ctypedef struct bbpe_encode_loan:
        uint32_t *ids
        bbpe_reusable_buffer out_of_order
        uint64_t seen, generation, table_bytes, sized_at
        bbpe_encode_ask_room ask_room
        void *owner
        bbpe_memory_budget *budget
        bbpe_pipeline_run run
        bbpe_place_scratch places

    ctypedef struct bbpe_encode_tables:
        size_t entries, slots, slots_taken
        uint64_t kept
        bint is_grown

    ctypedef struct bbpe_encode_text:
        const void *units
        unsigned unit_size

    ctypedef struct bbpe_encode_cut_text:
        bbpe_encode_text text
        size_t length
        const int64_t *cuts

    enum:
        BBPE_ENCODE_SLACK

    size_t bbpe_hot_cache_bytes(size_t entries, size_t slots)
    bbpe_status bbpe_encoder_new(bbpe_encoder **self, const bbpe_model *model, const bbpe_scheme *scheme,
        bbpe_split_fill fill, bint is_light)
    bbpe_status bbpe_encoder_open(bbpe_encoder **self, const bbpe_model *model, const bbpe_scheme *scheme,
        bbpe_split_fill fill, bbpe_image *image)
    bbpe_status bbpe_encoder_open_match(const bbpe_encoder *self, bbpe_image *image)
    void bbpe_encoder_write_cuts(const bbpe_encoder *self, bbpe_image *image)
    bbpe_status bbpe_encoder_write_match(const bbpe_encoder *self, bbpe_image *image)
    ctypedef void (*bbpe_encoder_ask)(void *owner)
    void bbpe_encoder_set_ask(bbpe_encoder *self, bbpe_encoder_ask ask, void *owner)
    void bbpe_encoder_delete(bbpe_encoder *self)
    bbpe_encode_state *bbpe_encode_state_new(size_t id_count)
    bint bbpe_encode_entries_are_full(uint64_t kept, size_t entries)
    bint bbpe_encode_slots_are_full(size_t taken, size_t slots)
    bint bbpe_encode_state_grow(bbpe_encode_state *self, size_t entries, size_t slots)
    void bbpe_encode_state_delete(bbpe_encode_state *self)
    bbpe_encode_loan *bbpe_encode_state_loan(bbpe_encode_state *self)
    bbpe_encode_tables bbpe_encode_state_tables(const bbpe_encode_state *self)
    size_t bbpe_encode_state_long_bytes(const bbpe_encode_state *self)
    void bbpe_encode_state_guard_heap_top(bbpe_encode_state *self, bint serves)
    bbpe_status bbpe_encode_state_reserve(bbpe_encode_state *self, size_t count)
    bbpe_status bbpe_encode_range(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text,
        size_t start, size_t end, uint32_t *ids, size_t *count)
    bbpe_status bbpe_encode_texts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_text *texts,
        const size_t *lengths, size_t count, uint32_t *ids, size_t *counts)
    bbpe_status bbpe_encode_stretches(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_stretch *stretches,
        size_t count, uint32_t *ids, size_t *counts)

    ctypedef struct bbpe_encode_want:
        size_t limit
        bint keeps
        bbpe_bpe_dropout *dropout

    bbpe_status bbpe_encode_call(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pipeline_call *call,
        const bbpe_encode_text *texts, const size_t *lengths, size_t count, const bbpe_encode_want *want, size_t *counts,
        size_t *failed)
    ctypedef struct bbpe_places_rules:
        const bbpe_token_lengths *lengths
        const bbpe_place_trims *trims
        const bbpe_scheme *scheme
        bbpe_split_fill fill

    ctypedef struct bbpe_places:
        bbpe_place_scratch *memory
        size_t count
        bint has_words, in_chars, is_off

    bbpe_status bbpe_encode_places(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pipeline_call *call,
        const bbpe_places_rules *rules, bbpe_places *places)
    bbpe_status bbpe_encode_given(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
        const int64_t *ends, size_t pretokens, uint32_t *ids, size_t *count)
    bbpe_status bbpe_encode_count(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text,
        size_t start, size_t end, size_t limit, bint keeps, size_t *count)
    size_t bbpe_encode_bound(unsigned unit_size, size_t units)
    size_t bbpe_encode_cut(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
        size_t n, size_t window)
    size_t bbpe_encode_cuts(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t n,
        size_t chunk, int64_t *cuts)
    bint bbpe_encode_next_parts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_cut_text *text,
        bbpe_ordered_output *parts, size_t thread, bbpe_status *status)
