"""The matches of a regex in a text, by its automaton."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from bbpe.core.c_base cimport BBPE_OK, bbpe_status
from bbpe.core.c_pipeline cimport (
    BBPE_AUTOMATON_NONE, _Bool, bbpe_automaton_find, bbpe_automaton_finish, bbpe_automaton_scratch,
    bbpe_automaton_scratch_free, bbpe_span, bbpe_spans, bbpe_spans_add, bbpe_spans_free,
)
from bbpe.core.status cimport check


cdef class Automaton:
    """Finds matches by the tables of `bbpe.splitting.automaton_tables`; immutable, shared by any number of threads."""

    def __cinit__(self, tables not None: Tables):
        self.tables = tables
        cdef const uint8_t *idle = <const uint8_t *><char *>(<bytes>tables.idle)
        self.c.bytes_to_class = <const uint8_t *><char *>(<bytes>tables.bytes_to_class)
        self.c.blocks = <const uint16_t *><char *>(<bytes>tables.blocks)
        self.c.values = <const uint8_t *><char *>(<bytes>tables.values)
        self.c.rows = <const uint32_t *><char *>(<bytes>tables.rows)
        self.c.starts = <const uint32_t *><char *>(<bytes>tables.starts)
        self.c.width = tables.class_count + 1
        self.c.first_ending = tables.first_ending
        self.c.invalid = tables.invalid
        self.c.may_be_empty, self.c.looks_behind = tables.may_be_empty, tables.looks_behind
        self.c.reads_bytes = tables.reads_bytes
        memset(self.c.idle, 0, sizeof(self.c.idle))
        memcpy(self.c.idle, idle, len(<bytes>tables.idle))
        bbpe_automaton_finish(&self.c, tables.state_count)

    def __reduce__(self):
        return Automaton, (self.tables,)

    def spans(self, data: bytes | bytearray | memoryview) -> list[tuple[int, int]]:
        """The start and end of each match, in bytes, as `regex.finditer` finds them; a match may be empty."""
        cdef const uint8_t[::1] view = data
        cdef size_t n = len(view), i
        cdef const uint8_t *text = &view[0] if n > 0 else <const uint8_t *>b""
        cdef bbpe_spans found
        cdef bbpe_automaton_scratch scratch
        cdef bbpe_status status
        memset(&found, 0, sizeof(found))
        memset(&scratch, 0, sizeof(scratch))
        try:
            with nogil:
                status = find_all(&self.c, &scratch, text, n, &found)
            check(status)
            return [(found.items[i].start, found.items[i].end) for i in range(found.count)]
        finally:
            bbpe_spans_free(&found)
            bbpe_automaton_scratch_free(&scratch)


cdef bbpe_status find_all(
    const bbpe_automaton *automaton, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n, bbpe_spans *found
) noexcept nogil:
    cdef bbpe_span span
    cdef _Bool refuses_empty = False
    cdef bbpe_status status
    span.start = span.end = 0
    while True:
        status = bbpe_automaton_find(automaton, scratch, text, n, span.end, refuses_empty, &span)
        if status != BBPE_OK or span.start == BBPE_AUTOMATON_NONE:
            return status
        status = bbpe_spans_add(found, span.start, span.end)
        if status != BBPE_OK:
            return status
        refuses_empty = span.start == span.end
