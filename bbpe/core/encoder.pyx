"""Text -> ids (csrc/encode/encode.h): one nogil section a call, states borrowed, ids as lists or arrays."""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint8_t, uint32_t

from bbpe.lazy import np

from bbpe.core.c_base cimport BBPE_OK, bbpe_status
from bbpe.core.c_encode cimport (
    bbpe_encode_bound, bbpe_encode_cut, bbpe_encode_cut_text, bbpe_encode_cuts, bbpe_encode_given,
    bbpe_encode_next_parts, bbpe_encode_range, bbpe_encode_state,
)
from bbpe.core.c_split cimport BBPE_SPLIT_NO_CUT
from bbpe.core.c_threads cimport (
    bbpe_ordered_output_add, bbpe_ordered_output_begin, bbpe_ordered_output_take, bbpe_output_job,
)
from bbpe.core.ends cimport check_pretokens
from bbpe.core.id_buffer cimport IdBuffer
from bbpe.core.int_objects cimport IntObjects
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.model cimport Model
from bbpe.core.parts cimport Parts
from bbpe.core.split cimport Splitter
from bbpe.core.states cimport States
from bbpe.core.status cimport check
from bbpe.core.tasks cimport heed_signals
from bbpe.core.text_group cimport TextGroup, check_rows
from bbpe.core.text_view cimport check_cuts, text_close, text_open, text_view

cdef enum:
    SHORT = 1 << 20   # units of a text that is encoded in one go, without threads
    STRETCH = 1 << 24 # units of a long text that are encoded at once

SHORT_TEXT: int = SHORT


cdef class Encoder:
    """A model and, for schemes that have one, a compiled splitter; shared by any thread.

    `id_count` is above all ids, those of special and added tokens too.  Without a splitter the caller cuts the text and
    hands over the ends of the pretokens.  Results never depend on the states, which are the only thing that changes.
    """

    def __cinit__(self, Model model not None, Splitter splitter=None, size_t id_count=0):
        self.model = model
        self.splitter = splitter
        self.states = States(model, splitter)
        self.ints = IntObjects(max(id_count, model.written_count))

    def to_array(self, text: Text) -> npt.NDArray[np.uint32]:
        """The ids of a str or bytes-like text as uint32[n]."""
        cdef text_view view
        cdef IdBuffer buffer
        cdef size_t count = 0, found = 0, start = 0, stop
        text_open(&view, text)
        try:
            # the upper bound costs address space, not memory: pages are touched as ids arrive
            buffer = IdBuffer(bbpe_encode_bound(view.text.unit_size, view.length))
            while start < view.length:
                stop = self._stretch_end(&view, start)
                buffer.extend(count + bbpe_encode_bound(view.text.unit_size, stop - start))
                self.encode_range(&view, start, stop, buffer.ids + count, &found)
                count, start = count + found, stop
                PyErr_CheckSignals()
        finally:
            text_close(&view)
        return buffer.taken(count)

    cdef bbpe_encode_state *_state_for_cuts(self, size_t length) except NULL:
        """A state in which nothing is encoded; the encoder knows where a text of so many units may be cut."""
        self.states.prepare(length)
        return self.states.borrow(0)

    cdef size_t _stretch_end(self, const text_view *view, size_t start) except? 0:
        """Where what is encoded at once ends, so that memory is asked for when it is nearly needed."""
        cdef bbpe_encode_state *state
        cdef size_t cut = BBPE_SPLIT_NO_CUT, stop = start
        while cut == BBPE_SPLIT_NO_CUT and view.length - stop > 2 * STRETCH and self.splitter is not None:
            stop += STRETCH
            state = self._state_for_cuts(view.length)
            with nogil:
                cut = bbpe_encode_cut(self.states.encoder(), state, view.text, stop, view.length, STRETCH)
            self.states.give_back(state)
        return view.length if cut == BBPE_SPLIT_NO_CUT else cut

    cdef int encode_range(self, const text_view *view, size_t start, size_t stop, uint32_t *ids, size_t *count) except -1:
        """The ids of a part of a text, as if it were all of it; `ids` has room for BBPE_ENCODE_SLACK more than the bound."""
        cdef bbpe_encode_state *state
        cdef bbpe_status status
        if self.splitter is None:
            raise ValueError("this encoder has no splitter; the ends of the pretokens are needed")
        state = self.states.borrow(stop - start)
        encoder = self.states.encoder()
        held = let_go(stop - start)
        status = bbpe_encode_range(encoder, state, view.text, start, stop, ids, count)
        take_back(held)
        self.states.give_back(state)
        return check(status)

    def encode_given(self, const uint8_t[::1] data: Buffer, const int64_t[::1] ends not None) -> npt.NDArray[np.uint32]:
        """The ids of a bytes-like text whose pretokens end at `ends`, int64[n], as uint32[m]."""
        cdef IdBuffer buffer
        cdef size_t count = 0, n = ends.shape[0], size = data.shape[0]
        cdef bbpe_encode_state *state
        cdef bbpe_status status
        if n == 0:
            return np.empty(0, dtype=np.uint32)
        check_pretokens(ends, size)
        buffer = IdBuffer(size)
        buffer.extend(size)
        state = self.states.borrow(size)
        with nogil:
            status = bbpe_encode_given(
                self.states.encoder(), state, &data[0] if size else NULL, size, &ends[0], n, buffer.ids, &count)
        self.states.give_back(state)
        check(status)
        return buffer.taken(count)

    def cut(self, text: Text, size_t start, size_t window) -> int:
        """A position of `cuts` at or after unit `start`, looking about `window` units far; the end when there is none."""
        cdef text_view view
        cdef bbpe_encode_state *state = NULL
        cdef size_t cut = BBPE_SPLIT_NO_CUT
        text_open(&view, text)
        try:
            state = self._state_for_cuts(view.length)
            if start < view.length and self.splitter is not None:
                cut = bbpe_encode_cut(self.states.encoder(), state, view.text, start, view.length, window)
            return view.length if cut == BBPE_SPLIT_NO_CUT else cut
        finally:
            if state != NULL:
                self.states.give_back(state)
            text_close(&view)

    def cuts(self, text: Text, size_t chunk) -> npt.NDArray[np.int64]:
        """Where a text may be cut into parts of `chunk` units and more that encode as the whole: int64[n + 1] from 0."""
        cdef text_view view
        cdef bbpe_encode_state *state
        cdef int64_t[::1] places
        cdef size_t count
        if self.splitter is None:
            raise ValueError("this encoder has no splitter, which would find where to cut")
        if chunk == 0:
            raise ValueError("chunk is 0; expected at least 1")
        text_open(&view, text)
        try:
            cuts = np.empty(view.length // chunk + 2, dtype=np.int64)
            places = cuts
            state = self._state_for_cuts(view.length)
            with nogil:
                count = bbpe_encode_cuts(self.states.encoder(), state, view.text, view.length, chunk, &places[0])
            self.states.give_back(state)
            return cuts[: count + 1]
        finally:
            text_close(&view)

    def encode_parts(
        self, text: Text, const int64_t[::1] cuts not None, Parts parts not None, size_t worker
    ):
        """Encode units cuts[k] to cuts[k + 1] of a text, for each k to be taken of `parts`."""
        cdef text_view view
        cdef bbpe_encode_cut_text cut
        cdef bbpe_status status = BBPE_OK
        cdef bbpe_encode_state *state = parts.join(self.states, worker)
        text_open(&view, text)
        try:
            check_cuts(cuts, &view, parts.tasks.c.count)
            cut.text, cut.cuts, cut.length = view.text, &cuts[0], view.length
            with nogil:
                while bbpe_encode_next_parts(self.states.encoder(), state, &cut, &parts.c, worker, &status):
                    heed_signals(worker)
            check(status)
        finally:
            text_close(&view)

    def encode_row_parts(
        self, texts: Texts, const int64_t[::1] marks not None, int64_t[::1] lengths not None,
        Parts parts not None, size_t worker
    ):
        """Encode texts[marks[k]:marks[k + 1]] for each k to be taken of `parts`; the numbers of their ids go to
        `lengths`."""
        cdef TextGroup group = TextGroup()
        cdef size_t start, end, count, i, total
        cdef bbpe_status status
        cdef bbpe_output_job job
        cdef bbpe_encode_state *state = parts.join(self.states, worker)
        cdef uint32_t *ids
        cdef bint is_more
        if <size_t>marks.shape[0] != parts.tasks.c.count + 1:
            raise ValueError(f"{marks.shape[0]} marks of {parts.tasks.c.count} parts; expected one more")
        while True:
            with nogil:
                is_more = bbpe_ordered_output_take(&parts.c, worker, &job)
                if is_more:
                    status = bbpe_ordered_output_begin(&parts.c, worker, &job, &ids)
            if not is_more:
                return
            check(status)
            if ids == NULL:
                return
            start, end, total = marks[job.parts.start], marks[job.parts.stop], 0
            check_rows(start, end, lengths)
            while start < end:
                count = group.encode_to(self.states.encoder(), state, texts, start, end, ids + total, job.most - total)
                for i in range(count):
                    lengths[start + i] = <int64_t>group.c.counts[i]
                    total += group.c.counts[i]
                start += count
            with nogil:
                status = bbpe_ordered_output_add(&parts.c, worker, &job, total)
            check(status)

    def to_list(self, const uint32_t[::1] ids not None) -> list[int]:
        """Ids of this encoder, uint32[n], as a list of int."""
        cdef uint32_t highest = 0
        cdef Py_ssize_t i
        for i in range(ids.shape[0]):
            highest = max(highest, ids[i])
        if highest >= self.ints.count:
            raise ValueError(f"id {highest} is none of the {self.ints.count} that the model writes")
        return self.ints.to_list(&ids[0], ids.shape[0]) if ids.shape[0] else []
