from libc.stdint cimport uint8_t, uint32_t

from bbpe.core.c_base cimport bbpe_status

cdef extern from "pipeline/pipeline.h" nogil:
    ctypedef bint _Bool

    ctypedef struct bbpe_charsmap:
        pass

    ctypedef struct bbpe_charsmap_output:
        uint8_t *bytes
        size_t used, capacity

    enum:
        BBPE_CHARSMAP_SQUEEZES, BBPE_CHARSMAP_PREPENDS, BBPE_CHARSMAP_BEGINS, BBPE_CHARSMAP_UNMARKS

    bbpe_status bbpe_charsmap_init(bbpe_charsmap *self, const uint8_t *table, size_t n, unsigned rules)
    void bbpe_charsmap_free(bbpe_charsmap *self)
    void bbpe_charsmap_mark(bbpe_charsmap *self, uint32_t character)
    bbpe_status bbpe_charsmap_mark_keys(bbpe_charsmap *self, _Bool *is_broken)
    bbpe_status bbpe_charsmap_keep(bbpe_charsmap *self, const uint8_t *bytes, size_t n)
    bbpe_status bbpe_charsmap_finalize(bbpe_charsmap *self)
    bbpe_status bbpe_charsmap_apply(const bbpe_charsmap *self, const uint8_t *text, size_t n,
        bbpe_charsmap_output *output)
