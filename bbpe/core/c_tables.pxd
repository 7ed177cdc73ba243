from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_base cimport bbpe_status

cdef extern from "tables/image.h" nogil:
    ctypedef enum bbpe_image_purpose:
        BBPE_IMAGE_MEASURE, BBPE_IMAGE_WRITE, BBPE_IMAGE_OPEN

    enum:
        BBPE_IMAGE_ALIGNMENT

    ctypedef struct bbpe_image:
        uint8_t *bytes
        size_t size
        bbpe_image_purpose purpose

    bint bbpe_image_is_whole(const bbpe_image *self)
    size_t bbpe_image_size(const bbpe_image *self)
    uint64_t bbpe_image_checksum(const uint8_t *bytes, size_t n)

cdef extern from "tables/pretoken_table.h" nogil:
    ctypedef struct bbpe_pretoken_entry:
        uint64_t start, value
        uint32_t length

    ctypedef struct bbpe_pretoken_table:
        bbpe_pretoken_entry *entries
        size_t count
        uint8_t *arena
        size_t arena_used

    bbpe_status bbpe_pretoken_table_init(bbpe_pretoken_table *self, uint64_t salt)
    void bbpe_pretoken_table_free(bbpe_pretoken_table *self)
    bbpe_status bbpe_pretoken_table_copy(bbpe_pretoken_table *self, const bbpe_pretoken_table *other)
    bbpe_status bbpe_pretoken_table_add(bbpe_pretoken_table *self, const uint8_t *bytes, size_t n,
        bbpe_pretoken_entry **entry)
    const bbpe_pretoken_entry *bbpe_pretoken_table_find(const bbpe_pretoken_table *self, const uint8_t *bytes, size_t n)

cdef extern from "tables/trie.h" nogil:
    ctypedef struct bbpe_trie:
        size_t slot_count
