/* Finished structs in one block of memory, as a file holds them: written once, and from then on used where they are.
 *
 * A struct has one function that visits its numbers and arrays in order, for measuring the block, writing it and opening
 * it.  The arrays of an opened struct point into the block, whose owner keeps it as long as the struct is used; nobody
 * writes to either, and the struct is forgotten, not freed.  The reader makes sure that a block is what was written
 * (bbpe_image_checksum).  Opening makes sure that all arrays are within it. */
#ifndef BBPE_TABLES_IMAGE_H
#define BBPE_TABLES_IMAGE_H

#include "base/common.h"

/* Where arrays begin, and of what the size of a block is a multiple: a cache line. */
enum { BBPE_IMAGE_ALIGNMENT = 64 };

typedef enum { BBPE_IMAGE_MEASURE, BBPE_IMAGE_WRITE, BBPE_IMAGE_OPEN } bbpe_image_purpose;

typedef struct {
    uint8_t *bytes; /* aligned; those after the last item are the caller's to zero; NULL while the block is measured */
    size_t size;
    bbpe_image_purpose purpose;
    size_t used;    /* by what has been visited */
    bool is_broken; /* not the image of such a struct */
} bbpe_image;

/* A number of a struct. */
void bbpe_image_number(bbpe_image *self, size_t *number);
/* An array of `count` items: `array` points to the pointer to it, which is NULL where there are no items. */
void bbpe_image_array(bbpe_image *self, void *array, size_t count, size_t size);
/* Mark the block as broken unless a condition holds that the visitor knows of its numbers. */
void bbpe_image_expect(bbpe_image *self, bool is_met);
/* Whether a block has been opened: all of it was used, and nothing is broken. */
bool bbpe_image_is_whole(const bbpe_image *self);
/* The size of the block that has been measured. */
size_t bbpe_image_size(const bbpe_image *self);

/* A digest by which a block that was damaged by accident is told from what was written, 20 GB/s. */
uint64_t bbpe_image_checksum(const uint8_t *bytes, size_t n);

#endif
