"""Text -> ids (csrc/encode/encode.h): one nogil section a call, states borrowed, ids as lists or arrays."""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from bbpe.lazy import np

from bbpe.core.budget cimport BUDGET
from bbpe.core.c_base cimport BBPE_ATOMIC_LOAD, BBPE_CHANGED, BBPE_OK, bbpe_status
from bbpe.core.c_encode cimport (
    BBPE_ENCODE_SLACK, bbpe_encode_bound, bbpe_encode_count, bbpe_encode_cut, bbpe_encode_cut_text,
    bbpe_encode_cuts, bbpe_encode_given, bbpe_encode_next_parts, bbpe_encode_range, bbpe_encode_state,
    bbpe_encode_state_guard_heap_top, bbpe_encode_state_loan,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.c_models cimport bbpe_bpe_dropout
from bbpe.core.c_split cimport BBPE_SPLIT_NO_CUT
from bbpe.core.c_threads cimport (
    bbpe_ordered_output_add, bbpe_ordered_output_begin, bbpe_ordered_output_take, bbpe_output_job, bbpe_task_span,
    bbpe_work_queue_take,
)
from bbpe.core.ends cimport bbpe_ends_part, check_pretokens
from bbpe.core.id_buffer cimport IdBuffer
from bbpe.core.int_objects cimport IntObjects
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.model cimport Model
from bbpe.core.parts cimport Parts
from bbpe.core.split cimport Splitter
from bbpe.core.states cimport States
from bbpe.core.status cimport check
from bbpe.core.tasks cimport Tasks, heed_signals
from bbpe.core.text_group cimport TextGroup, check_rows
from bbpe.core.text_view cimport check_cuts, text_close, text_open, text_view

cdef enum:
    ON_STACK = 512    # ids of a short text need no memory of their own
    SHORT = 1 << 20   # units of a text that is encoded in one go, without threads
    FIRST = 1 << 13   # units of text that are looked at anyway when only so many ids are wanted
    STRETCH = 1 << 24 # units of a long text that are encoded at once

SHORT_TEXT: int = SHORT


cdef class Encoder:
    """A model and, for schemes that have one, a compiled splitter; shared by any thread.

    Without a splitter the caller cuts the text and hands over the ends of the pretokens.  Results never depend on
    the states, which are the only thing that changes.
    """

    def __cinit__(self, Model model not None, Splitter splitter=None):
        self.model = model
        self.splitter = splitter
        self.states = States(model, splitter)
        self.ints = IntObjects(model.written_count)

    cpdef list encode_list(
        self, text: Text, tuple before: tuple[int, ...] = (), tuple after: tuple[int, ...] = ()
    ):  # -> list[int]
        """The ids of a str or bytes-like text as a list of int, between others."""
        cdef text_view view
        cdef uint32_t few[ON_STACK]
        cdef uint32_t *ids = few
        cdef size_t count = 0, bound
        text_open(&view, text)
        try:
            bound = bbpe_encode_bound(view.text.unit_size, view.length)
            if bound + BBPE_ENCODE_SLACK > ON_STACK:
                ids = <uint32_t *>bbpe_memory_new(bound + BBPE_ENCODE_SLACK, sizeof(uint32_t))
                if ids == NULL:
                    raise MemoryError("bbpe could not allocate memory")
            self._encode(&view, 0, view.length, ids, &count)
            return self.ints.to_list(ids, count, before, after)
        finally:
            text_close(&view)
            if ids != few:
                bbpe_memory_free(ids)

    def encode_array(self, text: Text) -> npt.NDArray[np.uint32]:
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
                self._encode(&view, start, stop, buffer.ids + count, &found)
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

    cdef int _encode(self, text_view *view, size_t start, size_t stop, uint32_t *ids, size_t *count) except -1:
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

    def encode_given(self, data: Buffer, const int64_t[::1] ends not None) -> npt.NDArray[np.uint32]:
        """The ids of a bytes-like text whose pretokens end at `ends`, int64[n], as uint32[m]."""
        return self._encode_given(data, ends, NULL)

    cdef object _encode_given(self, const uint8_t[::1] text, const int64_t[::1] ends, bbpe_bpe_dropout *dropout):
        cdef IdBuffer buffer
        cdef size_t count = 0, n = ends.shape[0]
        cdef bbpe_encode_state *state
        cdef bbpe_status status
        if n == 0:
            return np.empty(0, dtype=np.uint32)
        check_pretokens(ends, <size_t>text.shape[0])
        buffer = IdBuffer(text.shape[0])
        buffer.extend(text.shape[0])
        # what is encoded with dropout is not cached
        state = self.states.borrow(text.shape[0] if dropout == NULL else 0)
        with nogil:
            status = bbpe_encode_given(
                self.states.encoder(), state, &text[0] if text.shape[0] else NULL, text.shape[0], &ends[0], n, dropout, buffer.ids, &count)
        self.states.give_back(state)
        check(status)
        return buffer.taken(count)

    def encode_dropout(
        self, data: Buffer, const int64_t[::1] ends not None, double dropout, uint64_t[::1] random not None
    ) -> npt.NDArray[np.uint32]:
        """As `encode_given`, each merge skipped with a probability; `random`, uint64[1], is the seed and goes on."""
        cdef bbpe_bpe_dropout chance
        if self.model.view.bpe == NULL:
            raise ValueError("dropout skips merges, and this tokenizer's model has none; expected BPE")
        if random.shape[0] != 1:
            raise ValueError(f"random has {random.shape[0]} numbers; expected one")
        chance.state, chance.threshold = random[0], <uint64_t>(dropout * <double>(<uint64_t>1 << 53))
        ids = self._encode_given(data, ends, &chance)
        random[0] = chance.state
        return ids

    def count(self, text: Text, limit: int | None = None) -> int:
        """How many ids a text has; no further than to more than `limit`."""
        cdef text_view view
        cdef bbpe_encode_state *state = NULL
        cdef bbpe_status status
        cdef size_t count = 0, most = <size_t>-1
        if self.splitter is None:
            raise ValueError("this encoder has no splitter; the ends of the pretokens are needed")
        if limit is not None:
            most = limit
        text_open(&view, text)
        try:
            # tables for what is looked at, not for all of the text
            state = self.states.borrow(view.length if limit is None else min(view.length, FIRST + most))
            encoder = self.states.encoder()
            held = let_go(view.length)
            status = bbpe_encode_count(encoder, state, view.text, 0, view.length, most, False, &count)
            take_back(held)
            check(status)
            return count
        finally:
            if state != NULL:
                self.states.give_back(state)
            text_close(&view)

    def count_parts(self, text: Text, const int64_t[::1] cuts not None, Tasks tasks not None, size_t worker) -> int:
        """How many ids units cuts[k] to cuts[k + 1] of a text have for all k to be taken of `tasks`."""
        cdef text_view view
        cdef bbpe_status status = BBPE_OK
        cdef bbpe_task_span taken
        cdef size_t count, start, stop, total = 0
        cdef bbpe_encode_state *state = NULL
        tasks.check_worker(worker)
        text_open(&view, text)
        try:
            state = self.states.borrow(tasks.share, worker)
            check_cuts(cuts, &view, tasks.c.count)
            with nogil:
                while status == BBPE_OK and bbpe_work_queue_take(&tasks.c, worker, &taken):
                    if not bbpe_ends_part(&cuts[taken.start], &cuts[taken.stop], view.length, &start, &stop):
                        status = BBPE_CHANGED
                        break
                    status = bbpe_encode_count(self.states.encoder(), state, view.text, start, stop, <size_t>-1, False, &count)
                    total += count
                    heed_signals(worker)
            check(status)
            return total
        finally:
            if state != NULL:
                self.states.give_back(state, worker)
            text_close(&view)

    def count_rows(
        self, texts: Texts, size_t start, size_t end, int64_t[::1] lengths not None, size_t share,
        size_t worker
    ):
        """Put the numbers of ids of texts[start:end) in `lengths`; the worker's share is `Tasks.share`."""
        cdef TextGroup group = TextGroup()
        cdef bbpe_encode_state *state
        cdef size_t count, i
        if self.splitter is None:
            raise ValueError("this encoder has no splitter; the ends of the pretokens are needed")
        check_rows(start, end, lengths)
        state = self.states.borrow(share, worker)
        try:
            while start < end:
                count = group.count(self.states.encoder(), state, texts, start, end)
                for i in range(count):
                    lengths[start + i] = <int64_t>group.c.counts[i]
                start += count
        finally:
            self.states.give_back(state, worker)

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

    def encode_lists(
        self, texts: Texts, size_t start, size_t end, size_t share, size_t worker=0,
        bint is_all=False
    ) -> list[list[int]]:
        """The ids of texts[start:end) as lists of int; `share` as above.

        If that is all of a batch, their memory serves the next one, up to the limit of caches: lists that several calls
        make are not counted here."""
        cdef TextGroup group = TextGroup()
        cdef bbpe_encode_state *state = self.states.borrow(share, worker)
        cdef size_t count, i, total = 0
        cdef list rows = []
        try:
            while start < end:
                count = group.encode_here(self.states.encoder(), state, texts, start, end)
                self.ints.add_lists(rows, bbpe_encode_state_loan(state).ids, group.c.counts, count)
                start += count
                for i in range(count):
                    total += group.c.counts[i]
            bbpe_encode_state_guard_heap_top(state, is_all and total * sizeof(void *) <= BBPE_ATOMIC_LOAD(&BUDGET.limit))
        finally:
            self.states.give_back(state, worker)
        IntObjects.track_lists(rows)
        return rows

    def to_list(self, const uint32_t[::1] ids not None) -> list[int]:
        """Ids of this encoder, uint32[n], as a list of int."""
        cdef uint32_t highest = 0
        cdef Py_ssize_t i
        for i in range(ids.shape[0]):
            highest = max(highest, ids[i])
        if highest >= self.ints.count:
            raise ValueError(f"id {highest} is none of the {self.ints.count} that the model writes")
        return self.ints.to_list(&ids[0], ids.shape[0]) if ids.shape[0] else []
