#include "models/vocab/merge_list.h"

#include "memory/memory.h"

void bbpe_merge_list_free(bbpe_merge_list *self) {
    bbpe_memory_free(self->merges);
    memset(self, 0, sizeof *self);
}

bbpe_status bbpe_merge_list_reserve(bbpe_merge_list *self, size_t merges) {
    if (merges > UINT32_MAX - 1 - self->count) return BBPE_TOO_LARGE;
    /* one more, so that the array exists even when there is nothing to hold */
    return bbpe_memory_grow(&self->merges, &self->capacity, self->count + merges + 1, sizeof *self->merges)
               ? BBPE_OK
               : BBPE_NO_MEMORY;
}

void bbpe_merge_list_trim(bbpe_merge_list *self) {
    bbpe_merge *merges = bbpe_memory_resize(self->merges, self->count, sizeof *merges);
    if (merges == NULL) return;
    self->merges = merges;
    self->capacity = self->count;
}

/* Merges of one result are chained, the later one first: a token of n bytes has at most n - 1 of them that differ, and a
 * repeated one replaces the one before. */
bbpe_status bbpe_merge_list_drop_repeated(bbpe_merge_list *self, size_t id_count) {
    uint32_t *last = bbpe_memory_zeroed(id_count, sizeof *last);       /* id -> number of its last merge + 1 */
    uint32_t *before = bbpe_memory_new(self->count, sizeof *before);  /* number of a merge -> that of the one before + 1 */
    size_t kept = 0;
    if (last == NULL || before == NULL) {
        bbpe_memory_free(last);
        bbpe_memory_free(before);
        return BBPE_NO_MEMORY;
    }
    for (size_t i = 0; i < self->count; i++) {
        const bbpe_merge merge = self->merges[i];
        uint32_t *link = last + merge.made;
        while (*link && (self->merges[*link - 1].left != merge.left || self->merges[*link - 1].right != merge.right))
            link = before + (*link - 1);
        if (*link) {
            const uint32_t old = *link - 1;
            *link = before[old];
            self->merges[old].made = UINT32_MAX;
        }
        before[i] = last[merge.made];
        last[merge.made] = (uint32_t)(i + 1);
    }
    for (size_t i = 0; i < self->count; i++)
        if (self->merges[i].made != UINT32_MAX) self->merges[kept++] = self->merges[i];
    self->count = kept;
    bbpe_memory_free(last);
    bbpe_memory_free(before);
    return BBPE_OK;
}

void bbpe_merge_list_mark_used(const bbpe_merge_list *self, uint8_t *used, size_t id_count) {
    for (size_t i = 0; i < self->count; i++) {
        const bbpe_merge merge = self->merges[i];
        BBPE_ASSERT(merge.left < id_count && merge.right < id_count && merge.made < id_count);
        used[merge.left] = used[merge.right] = used[merge.made] = 1;
    }
    (void)id_count;
}

void bbpe_merge_list_visit(bbpe_merge_list *self, bbpe_image *image) {
    bbpe_image_number(image, &self->count);
    bbpe_image_array(image, &self->merges, self->count, sizeof *self->merges);
    self->capacity = image->purpose == BBPE_IMAGE_OPEN ? self->count : self->capacity;
}
