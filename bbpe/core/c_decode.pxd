from libc.stdint cimport uint8_t, uint32_t

from bbpe.core.c_base cimport bbpe_status

cdef extern from "decode/decode.h" nogil:
    ctypedef enum bbpe_id_type:
        BBPE_ID_U8, BBPE_ID_U16, BBPE_ID_U32, BBPE_ID_U64, BBPE_ID_I8, BBPE_ID_I16, BBPE_ID_I32, BBPE_ID_I64

    ctypedef struct bbpe_id_array:
        const void *data
        ptrdiff_t stride
        size_t count
        bbpe_id_type type

    ctypedef struct bbpe_token_bytes:
        size_t id_count

    ctypedef struct bbpe_text_size:
        size_t bytes, chars
        uint32_t leads

    ctypedef struct bbpe_stop_state:
        uint32_t depth, string, found

    ctypedef struct bbpe_stop_strings:
        bbpe_stop_state *states

    const uint32_t BBPE_ID_NONE

    void bbpe_id_array_load(const bbpe_id_array *self, size_t start, size_t count, uint32_t *out)
    size_t bbpe_token_bytes_arena(size_t length)
    bbpe_status bbpe_token_bytes_init(bbpe_token_bytes *self, size_t id_count, size_t arena)
    void bbpe_token_bytes_free(bbpe_token_bytes *self)
    void bbpe_token_bytes_set(bbpe_token_bytes *self, size_t id, const uint8_t *bytes, size_t length)
    const uint8_t *bbpe_token_bytes_get(const bbpe_token_bytes *self, size_t id, size_t *length)
    bint bbpe_token_bytes_measure_one(const bbpe_token_bytes *self, size_t id, bbpe_text_size *size)
    size_t bbpe_token_bytes_measure(const bbpe_token_bytes *self, const bbpe_id_array *ids, size_t start, size_t stop,
        bbpe_text_size *size)
    bint bbpe_token_bytes_join(const bbpe_token_bytes *self, const bbpe_id_array *ids, size_t start, size_t stop,
        uint8_t *out, size_t size, bint ascii)
    unsigned bbpe_text_unit(const bbpe_text_size *size)
    bint bbpe_token_text_fill(const bbpe_token_bytes *table, const bbpe_id_array *ids, size_t start, size_t stop,
        void *out, size_t chars, unsigned unit, uint32_t *seen)
    bbpe_status bbpe_stop_strings_init(bbpe_stop_strings *self, const uint32_t *characters, const size_t *ends,
        size_t count)
    void bbpe_stop_strings_free(bbpe_stop_strings *self)
    bint bbpe_stop_strings_find(const bbpe_stop_strings *self, const void *text, unsigned unit, size_t n,
        uint32_t *state, size_t *end)
