"""One long text, for several threads."""
from libc.stdint cimport int64_t
from libc.string cimport memset

from bbpe.lazy import np

from bbpe.core.automaton cimport host_call, host_call_of, host_free
from bbpe.core.call cimport Call, array_of, call_view, solve, view_call
from bbpe.core.c_base cimport BBPE_NO_MEMORY, BBPE_OK, bbpe_status
from bbpe.core.c_encode cimport (
    bbpe_encode_count, bbpe_encode_cuts, bbpe_encode_state, bbpe_encode_state_loan, bbpe_encode_state_reserve,
    bbpe_encode_stretches, bbpe_encode_text,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_reserve
from bbpe.core.c_pipeline cimport (
    BBPE_PIPELINE_FINE, BBPE_STRETCH_NO_ID, bbpe_pipeline_begin, bbpe_pipeline_empty, bbpe_pipeline_free,
    bbpe_pipeline_next, bbpe_pipeline_run, bbpe_stretch,
)
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.status cimport check
from bbpe.core.text_view cimport text_close, text_open, text_view

cdef enum:
    SECTION_BYTES = 1 << 26  # of a long text, whose stretches are in memory at once
    SECTION_STRETCHES = 1 << 20

ctypedef struct vector:
    int64_t *items
    size_t count, capacity


cdef class LongText:
    """One long text on its way through a pipeline, a section at a time, whose parts several threads encode.

    A text that the encoder gets as it is is one section, and its parts end at `cuts`.
    """
    cdef Call call
    cdef object text
    cdef text_view view
    cdef size_t chunk
    cdef bbpe_pipeline_run run
    cdef host_call host
    cdef bbpe_stretch *stretches  # those of the run, the long ones cut
    cdef size_t count, capacity
    cdef vector parts  # where in these each part begins, and where the last one ends
    cdef const int64_t[::1] cuts

    def __cinit__(self, text: Text, Call call not None, size_t chunk):
        """`chunk`: the code units of a part, about."""
        memset(&self.run, 0, sizeof(self.run))
        if not call.is_divided:
            raise ValueError("the ids of a part depend on those before it; the text cannot be divided")
        self.call, self.text, self.chunk = call, text, max(chunk, <size_t>1)
        self.view.has_buffer = False
        text_open(&self.view, text)
        self.host = host_call_of(self.view.length)
        if call.is_bare:
            self.cuts = call.encoder.cuts(text, self.chunk)
            return
        check(bbpe_pipeline_begin(&self.run, self.view.text.units, self.view.text.unit_size, self.view.length))

    def __dealloc__(self):
        text_close(&self.view)
        host_free(&self.host)
        bbpe_pipeline_free(&self.run)
        bbpe_memory_free(self.stretches)
        bbpe_memory_free(self.parts.items)

    def next_section(self) -> int:
        """Go on to the next section, once all parts of the last one are encoded; returns how many parts it has, 0 at the end."""
        cdef bbpe_encode_state *state
        cdef bbpe_status status = BBPE_OK
        cdef call_view view
        if self.run.is_done:
            return 0
        if self.call.is_bare:
            self.run.is_done = True
            return len(self.cuts) - 1
        bbpe_pipeline_empty(&self.run)
        while not self.run.is_done and self.run.bytes < SECTION_BYTES and self.run.count < SECTION_STRETCHES:
            view_call(&view, self.call, &self.host)
            self.host.held = let_go(self.view.length)
            status = bbpe_pipeline_next(&self.run, &view.c)
            take_back(self.host.held)
            check(status)
            if self.run.problem != BBPE_PIPELINE_FINE:
                solve(&self.run, self.call, &view, self.text)
        self.call.encoder.states.prepare(SECTION_BYTES)
        state = self.call.encoder.states.borrow(0)
        with nogil:
            status = self._divide(state)
        self.call.encoder.states.give_back(state)
        check(status)
        return self.parts.count - 1

    cdef bbpe_status _divide(self, bbpe_encode_state *state) noexcept nogil:
        cdef const bbpe_stretch *stretch
        cdef vector cuts
        cdef bbpe_status status = BBPE_OK
        cdef size_t i, k, count, part = 0
        memset(&cuts, 0, sizeof(cuts))
        self.count = self.parts.count = 0
        for i in range(self.run.count):
            stretch = self.run.stretches + i
            count = 1
            if stretch.n > self.chunk and stretch.pretokens == NULL:
                if not reserve(&cuts, stretch.n // self.chunk + 2):
                    status = BBPE_NO_MEMORY
                    break
                count = bbpe_encode_cuts(
                    self.call.encoder.states.encoder(), state, bbpe_encode_text(stretch.text, 0), stretch.n, self.chunk, cuts.items)
            for k in range(count):
                if self.count == 0 or part >= self.chunk:
                    status = self._begin_part()
                    part = 0
                if status == BBPE_OK:
                    status = self._add(stretch, cuts.items, k, count)
                if status != BBPE_OK:
                    break
                part += self.stretches[self.count - 1].n
        if status == BBPE_OK:
            status = self._begin_part()
        bbpe_memory_free(cuts.items)
        return status

    cdef bbpe_status _begin_part(self) noexcept nogil:
        if not reserve(&self.parts, self.parts.count + 1):
            return BBPE_NO_MEMORY
        self.parts.items[self.parts.count] = <int64_t>self.count
        self.parts.count += 1
        return BBPE_OK

    cdef bbpe_status _add(self, const bbpe_stretch *stretch, const int64_t *cuts, size_t k, size_t count) noexcept nogil:
        """Add part k of `count` of a stretch."""
        cdef bbpe_stretch *added
        cdef void *grown = bbpe_memory_reserve(self.stretches, &self.capacity, self.count + 1, sizeof(bbpe_stretch))
        if grown == NULL:
            return BBPE_NO_MEMORY
        self.stretches = <bbpe_stretch *>grown
        added = self.stretches + self.count
        added[0] = stretch[0]
        added.ends_text = False
        if count > 1:
            added.text, added.n = stretch.text + cuts[k], <size_t>(cuts[k + 1] - cuts[k])
        if k + 1 < count:
            added.id = BBPE_STRETCH_NO_ID
        self.count += 1
        return BBPE_OK

    def encode(self, size_t part, bint keeps, size_t share, size_t worker) -> tuple[npt.NDArray[np.uint32] | None, int]:
        """The ids of a part of the section, if they are wanted, and how many they are."""
        cdef bbpe_encode_state *state
        cdef size_t parts = (len(self.cuts) if self.call.is_bare else self.parts.count) - 1, count = 0
        if part >= parts:
            raise IndexError(f"part {part} of {parts}")
        state = self.call.encoder.states.borrow(share, worker)
        try:
            check(self._encode_cut(state, part, keeps, &count) if self.call.is_bare else
                  self._encode_stretches(state, part, keeps, &count))
            return (array_of(bbpe_encode_state_loan(state).ids, count) if keeps else None), count
        finally:
            self.call.encoder.states.give_back(state, worker)

    cdef bbpe_status _encode_cut(self, bbpe_encode_state *state, size_t part, bint keeps, size_t *count) noexcept:
        cdef bbpe_status status
        cdef size_t start = self.cuts[part], stop = self.cuts[part + 1]
        encoder = self.call.encoder.states.encoder()
        held = let_go(stop - start)
        status = bbpe_encode_count(encoder, state, self.view.text, start, stop, <size_t>-1, keeps, count)
        take_back(held)
        return status

    cdef bbpe_status _encode_stretches(self, bbpe_encode_state *state, size_t part, bint keeps, size_t *count) noexcept:
        cdef bbpe_status status = BBPE_OK
        cdef size_t start = self.parts.items[part], stop = self.parts.items[part + 1], i, bound = 0
        for i in range(start, stop):
            bound += self.stretches[i].n + 1
        if keeps:
            status = bbpe_encode_state_reserve(state, bound)
        encoder = self.call.encoder.states.encoder()
        held = let_go(bound)
        if status == BBPE_OK:
            status = bbpe_encode_stretches(
                encoder, state, self.stretches + start, stop - start, bbpe_encode_state_loan(state).ids if keeps else NULL,
                count)
        take_back(held)
        return status


cdef bint reserve(vector *self, size_t count) noexcept nogil:
    cdef void *grown = bbpe_memory_reserve(self.items, &self.capacity, count, sizeof(int64_t))
    if grown == NULL:
        return False
    self.items = <int64_t *>grown
    return True
