/* A model in a block of memory. */
#include "models/bpe/model.h"

enum { BY_RANK = 1, WHOLE_PRETOKENS = 2, HAS_OUTPUTS = 4 };

/* A field of 32 bits as a number. */
static void visit_word(uint32_t *word, bbpe_image *image) {
    size_t number = *word;
    bbpe_image_number(image, &number);
    bbpe_image_expect(image, number <= UINT32_MAX);
    *word = (uint32_t)number;
}

/* The ids of bytes, which are within the struct itself. */
static void visit_bytes(bbpe_bpe *self, bbpe_image *image) {
    for (size_t byte = 0; byte < 256; byte++) {
        visit_word(self->byte_ids + byte, image);
        bbpe_image_expect(image, self->byte_ids[byte] < self->id_count);
    }
}

static void visit_outputs(bbpe_bpe *self, bbpe_image *image) {
    size_t count = image->purpose == BBPE_IMAGE_OPEN ? 0 : self->output_starts[self->id_count];
    bbpe_image_number(image, &count);
    bbpe_image_array(image, &self->output_starts, self->id_count + 1, sizeof *self->output_starts);
    bbpe_image_array(image, &self->outputs, count, sizeof *self->outputs);
}

void bbpe_bpe_visit(bbpe_bpe *self, bbpe_image *image) {
    size_t flags = (self->by_rank ? BY_RANK : 0) | (self->whole_pretokens ? WHOLE_PRETOKENS : 0)
                   | (self->output_starts != NULL ? HAS_OUTPUTS : 0);
    bbpe_image_number(image, &flags);
    self->by_rank = flags & BY_RANK;
    self->whole_pretokens = flags & WHOLE_PRETOKENS;
    bbpe_image_number(image, &self->id_count);
    bbpe_image_number(image, &self->number_count);
    bbpe_image_number(image, &self->longest);
    bbpe_image_number(image, &self->unmade_count);
    bbpe_image_number(image, &self->level_count);
    bbpe_image_expect(image, self->id_count <= UINT32_MAX && self->number_count <= UINT32_MAX);
    visit_word(&self->plain_start, image);
    visit_word(&self->plain_distance, image);
    visit_word(&self->fixed_ranks, image);
    visit_bytes(self, image);
    bbpe_pair_table_visit(&self->merges, image);
    bbpe_merge_table_visit(&self->table, image);
    bbpe_pretoken_table_visit(&self->tokens, image);
    bbpe_image_array(image, &self->byte_pairs, 1 << 16, sizeof *self->byte_pairs);
    bbpe_image_array(image, &self->numbers, self->id_count, sizeof *self->numbers);
    bbpe_image_array(image, &self->ids, self->number_count, sizeof *self->ids);
    bbpe_image_array(image, &self->lengths, self->id_count, sizeof *self->lengths);
    bbpe_image_array(image, &self->parts, self->id_count, sizeof *self->parts);
    bbpe_image_array(image, &self->levels, self->level_count, sizeof *self->levels);
    if (flags & HAS_OUTPUTS) visit_outputs(self, image);
}
