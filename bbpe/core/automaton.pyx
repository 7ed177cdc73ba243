"""The matches of a regex in a text, by its automaton or by a function of Python."""
from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from bbpe.core.c_base cimport BBPE_INTERRUPTED, BBPE_OK, bbpe_status
from bbpe.core.c_pipeline cimport (
    BBPE_AUTOMATON_MOST_LOOKS, BBPE_AUTOMATON_NONE, _Bool, bbpe_automaton_find, bbpe_automaton_finish,
    bbpe_automaton_scratch, bbpe_automaton_scratch_free, bbpe_span, bbpe_spans, bbpe_spans_add, bbpe_spans_free,
    bbpe_spans_reserve, bbpe_state_maker, bbpe_state_node,
)
from bbpe.core.c_text cimport bbpe_utf8_decode
from bbpe.core.interpreter_lock cimport PyEval_RestoreThread, PyEval_SaveThread, let_go, take_back
from bbpe.core.status cimport check

from itertools import count

_identities = count(1)  # of what makes states

ctypedef int (*add_matches)(
    host_call *call, const void *regex, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n) noexcept nogil


cdef class Automaton:
    """Finds matches by the tables of `bbpe.splitting.automaton_tables`; immutable, shared by any number of threads.

    A `HostRegex` in place of the tables finds its matches by its method `next_matches`, in Python.
    """

    def __cinit__(self, tables not None: Tables | HostRegex):
        self.tables = tables
        if hasattr(tables, "next_matches"):
            self.c.host_regex, self.c.find_in_host = <const void *>tables, find_in_host
            self.c.may_be_empty, self.c.reads_bytes = True, tables.of_alphabet
            return
        cdef size_t i
        cdef const uint8_t *idle = <const uint8_t *><char *>(<bytes>tables.idle)
        self.c.bytes_to_class = <const uint8_t *><char *>(<bytes>tables.bytes_to_class)
        self.c.blocks = <const uint16_t *><char *>(<bytes>tables.blocks)
        self.c.values = <const uint8_t *><char *>(<bytes>tables.values)
        self.c.rows = <const uint32_t *><char *>(<bytes>tables.rows)
        self.c.maker = maker_of(self.makers, tables.maker)
        self.c.starts = <const uint32_t *><char *>(<bytes>tables.starts)
        self.c.width = tables.class_count + 1
        self.c.first_ending = tables.first_ending
        self.c.invalid = tables.invalid
        self.c.may_be_empty, self.c.looks_behind = tables.may_be_empty, tables.looks_behind
        self.c.reads_bytes, self.c.goes_on = tables.reads_bytes, tables.goes_on
        memset(self.c.idle, 0, sizeof(self.c.idle))
        memcpy(self.c.idle, idle, len(<bytes>tables.idle))
        if len(tables.looks) > BBPE_AUTOMATON_MOST_LOOKS:
            raise ValueError(f"{len(tables.looks)} lookarounds; expected at most {BBPE_AUTOMATON_MOST_LOOKS}")
        self.c.looks, self.c.look_count = self.looks, len(tables.looks)
        for i, look in enumerate(tables.looks):
            self.looks[i].rows = <const uint32_t *><char *>(<bytes>look.rows)
            self.looks[i].maker = maker_of(self.makers + 1 + i, look.maker)
            self.looks[i].start, self.looks[i].first_ending = look.start, look.first_ending
            self.looks[i].reads_back = look.reads_back
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
        cdef host_call host = host_call_of(n)
        memset(&found, 0, sizeof(found))
        memset(&scratch, 0, sizeof(scratch))
        scratch.host = &host
        try:
            host.held = let_go(n)
            status = find_all(&self.c, &scratch, text, n, &found)
            take_back(host.held)
            check(status)
            return [(found.items[i].start, found.items[i].end) for i in range(found.count)]
        finally:
            host_free(&host)
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


cdef void host_free(host_call *self) noexcept:
    """Forget what was asked, at the end of a call."""
    Py_XDECREF(self.asked)
    self.asked = NULL


cdef const bbpe_state_maker *maker_of(bbpe_state_maker *self, maker) except? NULL:
    """Fill what makes states from a `StateMaker`, or nothing from None; returns it or NULL."""
    if maker is None:
        return NULL
    cdef bytes nodes = maker.nodes, follow = maker.follow
    self.nodes = <const bbpe_state_node *><char *>nodes
    self.follow = <const int32_t *><char *>follow
    self.within = <const uint8_t *><char *>(<bytes>maker.within)
    self.holds = <const uint8_t *><char *>(<bytes>maker.holds)
    self.befores = <const uint32_t *><char *>(<bytes>maker.befores)
    self.first_befores = <const uint32_t *><char *>(<bytes>maker.first_befores)
    self.first_refuses = <const uint8_t *><char *>(<bytes>maker.first_refuses)
    self.node_count, self.follow_count = len(nodes) // sizeof(bbpe_state_node), len(follow) // sizeof(int32_t)
    self.first_count = len(<bytes>maker.first_refuses)
    self.width, self.row, self.entries = maker.width, maker.row, maker.entries
    self.first_ending, self.most_states = maker.first_ending, maker.most_states
    self.start, self.behind_count, self.marks = maker.start, maker.behind_count, maker.marks
    self.identity = next(_identities)
    return self


cdef dict asked_of(host_call *self):
    """The dict of `HostRegex.next_matches`, which a call keeps: iterators of matches, by scratch."""
    if self.asked == NULL:
        asked = {}
        Py_INCREF(asked)
        self.asked = <PyObject *>asked
    return <dict>self.asked


cdef bbpe_status find_in_host(
    const void *regex, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n
) noexcept nogil:
    """Find matches with the interpreter's lock, and give it away again if it was.

    BBPE_INTERRUPTED: an exception is set, which `check` raises.
    """
    cdef host_call *call = <host_call *>scratch.host
    cdef bint was_given = call.held != NULL
    cdef int result
    if was_given:
        PyEval_RestoreThread(call.held)
    result = (<add_matches><void *>_add_matches)(call, regex, scratch, text, n)
    if was_given:
        call.held = PyEval_SaveThread()
    return BBPE_OK if result == 0 else BBPE_INTERRUPTED


cdef int _add_matches(
    host_call *call, const void *regex, bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n
) except -1:
    cdef object host = <object>regex, whole = None
    cdef size_t first, last
    cdef bint are_bytes = host.of_alphabet
    cdef dict asked = asked_of(call)
    if not scratch.is_asked:
        scratch.host_byte = scratch.host_character = scratch.host_end = 0
        whole = (<const char *>text)[:n] if are_bytes else PyUnicode_DecodeUTF8(<const char *>text, n, "surrogateescape")
    matches, is_over = host.next_matches(asked, <size_t>scratch, whole, call.characters)
    check(bbpe_spans_reserve(&scratch.matches, len(matches) + 1))
    for span in matches:
        first, last = (<tuple>span)[0], (<tuple>span)[1]
        if last + 1 == scratch.host_end:  # empty where another ends
            continue
        scratch.host_end = last + 1
        if not are_bytes:
            first = _byte_of(scratch, text, n, first)
            last = _byte_of(scratch, text, n, last)
        scratch.matches.items[scratch.matches.count].start = first
        scratch.matches.items[scratch.matches.count].end = last
        scratch.matches.count += 1
    scratch.is_over = is_over
    return 0


cdef size_t _byte_of(bbpe_automaton_scratch *scratch, const uint8_t *text, size_t n, size_t character) noexcept:
    """Where a character begins that is not before the one that was asked for last."""
    while scratch.host_character < character and scratch.host_byte < n:
        bbpe_utf8_decode(text, scratch.host_byte, n, &scratch.host_byte)
        scratch.host_character += 1
    return scratch.host_byte
