/* A prepared model in one block of memory. */
#include "models/unigram/model.h"

static void visit_flag(bool *flag, bbpe_image *image) {
    size_t number = *flag;
    bbpe_image_number(image, &number);
    *flag = number != 0;
}

static void visit_id(uint32_t *id, bbpe_image *image) {
    size_t number = *id;
    bbpe_image_number(image, &number);
    *id = (uint32_t)number;
}

void bbpe_unigram_visit(bbpe_unigram *self, bbpe_image *image) {
    size_t unknown_score; /* its bits */
    memcpy(&unknown_score, &self->unknown_score, sizeof unknown_score);
    bbpe_image_number(image, &unknown_score);
    memcpy(&self->unknown_score, &unknown_score, sizeof unknown_score);
    bbpe_image_number(image, &self->piece_count);
    bbpe_image_number(image, &self->longest);
    bbpe_image_number(image, &self->run_ids);
    visit_id(&self->unknown, image);
    visit_id(&self->named, image);
    visit_flag(&self->has_byte_ids, image);
    visit_flag(&self->has_some_byte_ids, image);
    visit_flag(&self->is_float, image);
    visit_flag(&self->has_words, image);
    for (size_t byte = 0; byte < 256; byte++) visit_id(self->byte_ids + byte, image);
    bbpe_image_array(image, &self->pieces, self->piece_count, sizeof *self->pieces);
    bbpe_trie_visit(&self->trie, self->piece_count, image);
    bbpe_steps_visit(&self->steps, image);
    if (self->run_ids > 0) bbpe_trie_visit(&self->runs, self->run_ids, image);
}
