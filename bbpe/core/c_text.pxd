from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef extern from "text/text.h" nogil:
    ctypedef enum bbpe_offsets_unit:
        BBPE_OFFSETS_CHAR, BBPE_OFFSETS_UTF16

    ctypedef size_t (*bbpe_transcode)(const void *text, unsigned kind, size_t start, size_t n, size_t *next,
        uint8_t *out, size_t capacity) noexcept nogil

    void bbpe_offsets_map(const void *text, unsigned unit_size, size_t n, bbpe_offsets_unit unit, int64_t *spans,
        size_t count)
    bint bbpe_offsets_is_simple(const void *text, unsigned unit_size, size_t n)
    size_t bbpe_transcode_utf8(const void *text, unsigned kind, size_t start, size_t n, size_t *next, uint8_t *out,
        size_t capacity)
    bbpe_transcode bbpe_transcode_variant(size_t index, const char **name)

    ctypedef struct bbpe_json_member:
        const char *outer
        const char *inner
        size_t start, end

    bint bbpe_json_find(const uint8_t *text, size_t n, bbpe_json_member *members, size_t count)

    enum:
        BBPE_JSON_LINES_PLACES
        BBPE_JSON_LINES_NAMES

    ctypedef struct bbpe_json_name:
        const uint8_t *text
        size_t length

    ctypedef struct bbpe_json_place:
        const bbpe_json_name *names
        size_t count

    ctypedef struct bbpe_json_lines:
        const uint8_t *field
        size_t field_length
        const bbpe_json_place *places
        size_t place_count
        uint8_t *texts
        int64_t *ends
        int64_t *records
        size_t used, count
        size_t line_count, record_count, null_count

    size_t BBPE_JSON_LINES_TEXTS(size_t bytes)
    ctypedef size_t (*bbpe_json_lines_reader)(bbpe_json_lines *self, const uint8_t *text, size_t at, size_t n) noexcept nogil
    size_t bbpe_json_lines_read(bbpe_json_lines *self, const uint8_t *text, size_t at, size_t n)
    bbpe_json_lines_reader bbpe_json_lines_variant(size_t index, const char **name)

    uint32_t bbpe_utf8_decode(const uint8_t *text, size_t at, size_t n, size_t *next)
    size_t bbpe_grapheme_end(const uint8_t *text, size_t n, size_t start)
    size_t bbpe_grapheme_boundary(const uint8_t *text, size_t n, size_t least, size_t at)

    ctypedef struct bbpe_arrow_schema:
        const char *format
        const char *name
        const char *metadata
        int64_t flags, child_count
        bbpe_arrow_schema **children
        bbpe_arrow_schema *dictionary
        void (*release)(bbpe_arrow_schema *self) noexcept nogil
        void *owner

    ctypedef struct bbpe_arrow_array:
        int64_t length, null_count, offset, buffer_count, child_count
        const void **buffers
        bbpe_arrow_array **children
        bbpe_arrow_array *dictionary
        void (*release)(bbpe_arrow_array *self) noexcept nogil
        void *owner

    ctypedef struct bbpe_arrow_stream:
        int (*get_schema)(bbpe_arrow_stream *self, bbpe_arrow_schema *out) noexcept nogil
        int (*get_next)(bbpe_arrow_stream *self, bbpe_arrow_array *out) noexcept nogil
        const char *(*get_last_error)(bbpe_arrow_stream *self) noexcept nogil
        void (*release)(bbpe_arrow_stream *self) noexcept nogil
        void *owner

    enum:
        BBPE_ARROW_NULLABLE

    ctypedef enum bbpe_column_state:
        BBPE_COLUMN_FINE, BBPE_COLUMN_OTHER, BBPE_COLUMN_BROKEN

    ctypedef enum bbpe_row_state:
        BBPE_ROW_FINE, BBPE_ROW_NULL, BBPE_ROW_BROKEN

    ctypedef struct bbpe_text_column:
        size_t rows

    bbpe_column_state bbpe_text_column_init(bbpe_text_column *self, const bbpe_arrow_schema *schema,
        const bbpe_arrow_array *array)
    bbpe_row_state bbpe_text_column_row(const bbpe_text_column *self, size_t row, const uint8_t **text, size_t *length)
    size_t bbpe_text_column_ends(const bbpe_text_column *self, int64_t *ends, int64_t *total, bbpe_row_state *problem)
