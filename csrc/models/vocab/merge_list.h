/* Merges in order of priority, as ids: which two tokens become which one.
 *
 * Filled once, and read only from then on, by any number of threads.  The struct owns its array. */
#ifndef BBPE_MODELS_VOCAB_MERGE_LIST_H
#define BBPE_MODELS_VOCAB_MERGE_LIST_H

#include "tables/image.h"

typedef struct {
    uint32_t left, right, made;
} bbpe_merge;

typedef struct {
    bbpe_merge *merges;
    size_t count, capacity;
} bbpe_merge_list;

/* Free the array of a list, which is zeroed before use, and again then. */
void bbpe_merge_list_free(bbpe_merge_list *self);
/* Room for so many merges more. */
bbpe_status bbpe_merge_list_reserve(bbpe_merge_list *self, size_t merges);
/* Give back the room that no merge takes. */
void bbpe_merge_list_trim(bbpe_merge_list *self);
/* Of merges that are listed twice keep the last ones, as HF's `tokenizers` does.  What two ids make is always the same; all
 * are below `id_count`. */
bbpe_status bbpe_merge_list_drop_repeated(bbpe_merge_list *self, size_t id_count);
/* Note which ids below `id_count` are part or result of a merge; `used` has a byte for each, which is 1 then. */
void bbpe_merge_list_mark_used(const bbpe_merge_list *self, uint8_t *used, size_t id_count);

/* Measure, write or open a list; an opened one takes no more merges. */
void bbpe_merge_list_visit(bbpe_merge_list *self, bbpe_image *image);

/* Add a merge, for which there is room. */
BBPE_INLINE void bbpe_merge_list_add(bbpe_merge_list *self, bbpe_merge merge) {
    BBPE_ASSERT(self->count < self->capacity);
    self->merges[self->count++] = merge;
}

#endif
