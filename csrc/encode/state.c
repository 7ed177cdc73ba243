/* Encoders, and the states that calls borrow. */
#include "encode/lookup_batch.h"

enum {
    MOST_ROUNDED = 1 << 24,  /* ids, 64 MiB */
    HEAP_TOP_GUARD = 1 << 15 /* bytes: an allocator rarely has so many among what was freed */
};

_Static_assert(offsetof(bbpe_encode_state, loan) == 0, "the owner's fields come first");

/* Without the tables for long pieces, which then are not cut, and are merged like short ones. */
static void init_light(bbpe_encoder *self, const bbpe_model *model, const bbpe_scheme *scheme, bbpe_split_fill fill) {
    memset(self, 0, sizeof *self);
    self->model = *model;
    self->fill = fill;
    if (scheme != NULL) self->scheme = *scheme;
    self->has_wholes = model->bpe != NULL && model->bpe->whole_pretokens && model->bpe->unmade_count > 0;
    if (model->bpe != NULL) self->merge_batch = bbpe_merge_batch_select(model->bpe);
    if (model->bpe != NULL) self->merge_one = bbpe_merge_one_select(model->bpe);
    self->loops = bbpe_lookup_batch_select();
    self->cut = bbpe_cut_pieces_select();
}

/* Room for the matching of long pieces. */
static bbpe_status add_match(bbpe_encoder *self) {
    if (self->model.bpe == NULL) return BBPE_OK;
    self->match = bbpe_memory_zeroed(1, sizeof *self->match);
    return self->match == NULL ? BBPE_NO_MEMORY : BBPE_OK;
}

bbpe_status bbpe_encoder_init(bbpe_encoder *self, const bbpe_model *model, const bbpe_scheme *scheme,
                              bbpe_split_fill fill) {
    bbpe_status status = BBPE_OK;
    init_light(self, model, scheme, fill);
    self->has_cuts = model->tokens != NULL;
    /* what may be a token as a whole is not cut */
    if (self->has_cuts)
        status = bbpe_cut_points_init(&self->cuts, model->tokens, self->has_wholes ? 0 : model->joining);
    if (status == BBPE_OK) status = add_match(self);
    if (status != BBPE_OK) bbpe_encoder_free(self);
    return status;
}

const bbpe_bpe_match *bbpe_encoder_match(const bbpe_encoder *self) {
    return bbpe_bpe_match_shared(self->match, self->model.bpe);
}

void bbpe_encoder_free(bbpe_encoder *self) {
    if (self->match != NULL) bbpe_bpe_match_free_shared(*self->match);
    bbpe_memory_free(self->match);
    if (!self->is_opened) bbpe_cut_points_free(&self->cuts);
    memset(self, 0, sizeof *self);
}

bbpe_status bbpe_encoder_new(bbpe_encoder **self, const bbpe_model *model, const bbpe_scheme *scheme,
                             bbpe_split_fill fill, bool is_light) {
    bbpe_status status = BBPE_OK;
    *self = bbpe_memory_zeroed(1, sizeof **self);
    if (*self == NULL) return BBPE_NO_MEMORY;
    if (is_light) init_light(*self, model, scheme, fill);
    else status = bbpe_encoder_init(*self, model, scheme, fill);
    if (status == BBPE_OK) return BBPE_OK;
    bbpe_memory_free(*self);
    *self = NULL;
    return status;
}

bbpe_status bbpe_encoder_open(bbpe_encoder **self, const bbpe_model *model, const bbpe_scheme *scheme,
                              bbpe_split_fill fill, bbpe_image *image) {
    const bbpe_status status = bbpe_encoder_new(self, model, scheme, fill, true);
    if (status != BBPE_OK) return status;
    bbpe_cut_points_visit(&(*self)->cuts, image);
    (*self)->has_cuts = (*self)->is_opened = true;
    if (add_match(*self) == BBPE_OK) return BBPE_OK;
    bbpe_encoder_delete(*self);
    *self = NULL;
    return BBPE_NO_MEMORY;
}

bbpe_status bbpe_encoder_open_match(const bbpe_encoder *self, bbpe_image *image) {
    bbpe_bpe_match *match = bbpe_memory_zeroed(1, sizeof *match);
    void *other;
    if (match == NULL) return BBPE_NO_MEMORY;
    bbpe_bpe_match_visit(match, self->model.bpe, image);
    if (!bbpe_image_is_whole(image) || !bbpe_shared_pointer_set(self->match, match, &other)) bbpe_bpe_match_free_shared(match);
    return BBPE_OK;
}

void bbpe_encoder_write_cuts(const bbpe_encoder *self, bbpe_image *image) {
    bbpe_cut_points cuts = self->cuts;
    bbpe_cut_points_visit(&cuts, image);
}

bbpe_status bbpe_encoder_write_match(const bbpe_encoder *self, bbpe_image *image) {
    const bbpe_bpe_match *made = bbpe_encoder_match(self);
    if (made == NULL) return BBPE_NO_MEMORY;
    if (!made->is_exact) return BBPE_TOO_LARGE;
    bbpe_bpe_match match = *made;
    bbpe_bpe_match_visit(&match, self->model.bpe, image);
    return BBPE_OK;
}

void bbpe_encoder_set_ask(bbpe_encoder *self, bbpe_encoder_ask ask, void *owner) {
    self->ask = ask;
    self->owner = owner;
}

void bbpe_encoder_delete(bbpe_encoder *self) {
    if (self == NULL) return;
    bbpe_encoder_free(self);
    bbpe_memory_free(self);
}

/* All but the desk, whose content is always written before it is read. */
static void clear(bbpe_encode_state *self) {
    memset(self, 0, offsetof(bbpe_encode_state, desk));
}

void bbpe_encode_state_init(bbpe_encode_state *self, size_t id_count) {
    clear(self);
    self->hot.layout = bbpe_cache_layout_for(id_count);
    bbpe_hot_cache_use(&self->hot, self->first_entries, BBPE_ENCODE_FIRST_ENTRIES, self->first_slots,
                       BBPE_ENCODE_FIRST_SLOTS);
}

void bbpe_encode_state_free(bbpe_encode_state *self) {
    if (self->is_grown) bbpe_hot_cache_free(&self->hot);
    bbpe_long_pieces_free(&self->longer, self->loan.budget);
    bbpe_bpe_work_free(&self->work);
    bbpe_model_scratch_free(&self->scratch);
    bbpe_memory_free(self->window);
    bbpe_memory_free(self->loan.ids);
    bbpe_memory_free(self->heap_top_guard);
    bbpe_pipeline_free(&self->loan.run);
    bbpe_place_scratch_free(&self->loan.places);
    bbpe_reusable_buffer_close(&self->loan.out_of_order);
    clear(self);
}

bbpe_encode_state *bbpe_encode_state_new(size_t id_count) {
    bbpe_encode_state *self = bbpe_memory_table(1, sizeof *self);
    if (self != NULL) bbpe_encode_state_init(self, id_count);
    return self;
}

void bbpe_encode_state_delete(bbpe_encode_state *self) {
    bbpe_encode_state_free(self);
    bbpe_memory_table_free(self);
}

bbpe_encode_loan *bbpe_encode_state_loan(bbpe_encode_state *self) {
    return &self->loan;
}

bbpe_encode_tables bbpe_encode_state_tables(const bbpe_encode_state *self) {
    return (bbpe_encode_tables){self->hot.entry_count, self->hot.slot_mask + 1, self->hot.slots_taken, self->kept,
                                self->is_grown};
}

size_t bbpe_encode_state_long_bytes(const bbpe_encode_state *self) {
    return bbpe_long_pieces_bytes(&self->longer);
}

bool bbpe_encode_state_grow(bbpe_encode_state *self, size_t entries, size_t slots) {
    bbpe_hot_cache hot;
    if (self->is_grown && entries == self->hot.entry_count) {
        const bool is_moved = bbpe_hot_cache_grow_slots(&self->hot, slots);
        if (is_moved) self->slots_asked = 0;
        return is_moved;
    }
    if (bbpe_hot_cache_init(&hot, self->hot.layout, entries, slots) != BBPE_OK) return false;
    bbpe_hot_cache_copy(&hot, &self->hot);
    if (self->is_grown) bbpe_hot_cache_free(&self->hot);
    self->hot = hot;
    self->kept = self->kept_asked = 0;
    self->slots_asked = 0;
    return self->is_grown = true;
}

/* An allocator may return to the system the free memory at the top of its heap when lists are dropped, and to get it again
 * takes 16 of 46 ms for 8 MB of multilingual text: a block after the lists keeps it. */
void bbpe_encode_state_guard_heap_top(bbpe_encode_state *self, bool guards) {
    void *const before = self->heap_top_guard;
    self->heap_top_guard = guards ? bbpe_memory_new(HEAP_TOP_GUARD, 1) : NULL; /* without memory there is none */
    bbpe_memory_free(before);
}

bbpe_status bbpe_encode_state_reserve(bbpe_encode_state *self, size_t count) {
    size_t capacity = 1024;
    if (count > SIZE_MAX - BBPE_ENCODE_SLACK) return BBPE_TOO_LARGE;
    /* parts of a text are of nearly one size: none has to move the ids of the last one, which nobody asks for; a text
     * of gigabytes takes no more address space than it needs */
    while (capacity < count + BBPE_ENCODE_SLACK && capacity < MOST_ROUNDED) capacity *= 2;
    if (capacity < count + BBPE_ENCODE_SLACK) capacity = count + BBPE_ENCODE_SLACK;
    uint32_t *ids = bbpe_memory_reserve(self->loan.ids, &self->ids_capacity, capacity, sizeof *ids);
    if (ids == NULL) return BBPE_NO_MEMORY;
    self->loan.ids = ids;
    return BBPE_OK;
}

bool bbpe_encode_state_window(bbpe_encode_state *self, size_t bytes) {
    uint8_t *window = bbpe_memory_reserve(self->window, &self->window_capacity, bytes, 1);
    if (window == NULL) self->status = BBPE_NO_MEMORY;
    else self->window = window;
    return window != NULL;
}
