"""Texts that pass the pipeline (csrc/pipeline/compiled.h) -> ids: one nogil section a call."""
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset

from bbpe.lazy import np

from bbpe.core.automaton cimport host_call, host_call_of
from bbpe.core.budget cimport BUDGET
from bbpe.core.c_base cimport BBPE_ATOMIC_LOAD, bbpe_status
from bbpe.core.c_encode cimport (
    bbpe_encode_piped, bbpe_encode_state, bbpe_encode_state_guard_heap_top, bbpe_encode_state_loan, bbpe_encode_text,
    bbpe_encode_want,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.c_pipeline cimport (
    BBPE_PIPELINE_REFUSED, bbpe_pipeline_run,
)
from bbpe.core.column cimport Column
from bbpe.core.encoder cimport Encoder
from bbpe.core.int_objects cimport IntObjects
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.matcher cimport Policy
from bbpe.core.normalizer cimport Normalizer
from bbpe.core.pre_tokenizer cimport PreTokenizer
from bbpe.core.status cimport check
from bbpe.core.text_group cimport TextGroup
from bbpe.core.text_view cimport text_close, text_open, text_view

from bbpe.errors import SpecialTokenError
from bbpe.text import text_bytes


cdef class Pipeline:
    """The steps that a tokenizer applies to each text before its model; immutable, shared by any number of threads.

    `prefix`: a piece of text between tokens that is not empty and does not begin with it gets it, with `prefix_first` only
    one that begins with the first character of the text, or what it became.  `finds_head`: a rule asks for that, and the
    normalizer may drop the first character or make several of it.  `unmarks`: U+2581 becomes a blank before the prefix, with
    `unmarks_pretokens` in pretokens.  `replaces_invalid`: bytes that are not UTF-8 become U+FFFD.  `normalizer` comes before
    all of these, and `pre_tokenizer` after the prefix.
    """
    def __cinit__(
        self, *, bytes prefix not None=b"", bint prefix_first=False, bint finds_head=False, bint unmarks=False,
        bint unmarks_pretokens=False, bint replaces_invalid=False, Normalizer normalizer=None, PreTokenizer pre_tokenizer=None
    ):
        self.prefix = prefix
        self.c.prefix, self.c.prefix_length = <const unsigned char *><const char *>self.prefix, len(prefix)
        self.c.prefix_first, self.c.unmarks, self.c.unmarks_pretokens = prefix_first, unmarks, unmarks_pretokens
        self.c.finds_head, self.c.replaces_invalid = finds_head, replaces_invalid
        self.normalizer, self.pre_tokenizer = normalizer, pre_tokenizer
        if normalizer is not None:
            self.c.normalizer = &normalizer.c
        if pre_tokenizer is not None:
            self.c.pre_tokenizer = &pre_tokenizer.c

    def splitting(self, PreTokenizer pre_tokenizer not None) -> Pipeline:
        """Return a pipeline with these steps and another pre-tokenizer."""
        return Pipeline(
            prefix=self.prefix, prefix_first=self.c.prefix_first, finds_head=self.c.finds_head,
            unmarks=self.c.unmarks, unmarks_pretokens=self.c.unmarks_pretokens, replaces_invalid=self.c.replaces_invalid,
            normalizer=self.normalizer, pre_tokenizer=pre_tokenizer)


cdef class Call:
    """A pipeline, the tokens that a call looks for in the text and in the text as normalized, those that it refuses, and the
    ids around those of each text; immutable, shared by any number of threads."""
    def __cinit__(
        self, Pipeline pipeline not None, *, Policy tokens=None, Policy normalized=None, Policy refused=None,
        before: Sequence[int] = (), after: Sequence[int] = ()
    ):
        self.pipeline, self.tokens, self.normalized, self.refused = pipeline, tokens, normalized, refused
        self.before_count, self.after_count = len(before), len(after)
        self.around = <uint32_t *>bbpe_memory_new(self.before_count + self.after_count, sizeof(uint32_t))
        if self.around == NULL:
            raise MemoryError("bbpe could not allocate memory")
        for i, token_id in enumerate((*before, *after)):
            self.around[i] = token_id
            self.highest = max(self.highest, self.around[i])

    def __dealloc__(self):
        bbpe_memory_free(self.around)


cdef void view_call(call_view *self, Call call, host_call *host) noexcept:
    memset(self, 0, sizeof(call_view))
    self.c.pipeline, self.c.host = &call.pipeline.c, host
    if call.tokens is not None:
        self.tokens = call.tokens.search()
        self.c.tokens = &self.tokens
    if call.normalized is not None:
        self.normalized = call.normalized.search()
        self.c.normalized = &self.normalized
    if call.refused is not None:
        self.refused = call.refused.search()
        self.c.refused = &self.refused
    self.c.before, self.c.before_count = call.around, call.before_count
    self.c.after, self.c.after_count = call.around + call.before_count, call.after_count


cdef int solve(const bbpe_pipeline_run *run, Call call, const call_view *view, object text) except -1:
    """Make what a search needs, or raise the error about a token that is refused."""
    cdef Policy policy = (call.tokens if run.problem_search == &view.tokens else
                          call.normalized if run.problem_search == &view.normalized else call.refused)
    if run.problem != BBPE_PIPELINE_REFUSED:
        return policy.make_linear()
    token = bytes(text_bytes(text)[run.refused_start:run.refused_end]).decode("utf-8", "replace")
    raise SpecialTokenError(
        f"the text holds the disallowed special token {token!r} at byte {run.refused_start}; "
        f"pass allowed_special={{{token!r}}} to encode it as a special token, "
        "or leave it out of disallowed_special to encode it as plain text")


cdef class Piped:
    """An encoder whose texts pass a pipeline; `id_count` is above all ids, those of special and added tokens too."""
    def __cinit__(self, Encoder encoder not None, size_t id_count):
        self.encoder, self.ints = encoder, IntObjects(max(id_count, encoder.model.written_count))

    cdef int _encode(
        self, bbpe_encode_state *state, Call call, const bbpe_encode_text *texts, const size_t *lengths, size_t count,
        size_t total, const bbpe_encode_want *want, size_t *counts, object given, size_t first
    ) except -1:
        """Encode texts, which have `total` code units.  They are `given`, or those of a batch from `first` on, for errors."""
        cdef bbpe_status status
        cdef size_t failed = 0
        cdef call_view view
        cdef host_call host = host_call_of(total)
        if call.highest >= self.ints.count:
            raise ValueError(f"the template has id {call.highest}; expected less than {self.ints.count}")
        encoder = self.encoder.states.encoder()
        while True:
            view_call(&view, call, &host)
            host.held = let_go(total)
            status = bbpe_encode_piped(encoder, state, &view.c, texts, lengths, count, want, counts, &failed)
            take_back(host.held)
            check(status)
            if failed == count:
                return 0
            solve(
                &bbpe_encode_state_loan(state).run, call, &view,
                given[first + failed] if isinstance(given, (list, Column)) else given)

    cpdef list to_list(self, text: Text, Call call: Call):  # -> list[int]
        """The ids of a text as a list of int."""
        cdef text_view view
        cdef bbpe_encode_state *state = NULL
        cdef bbpe_encode_want want
        cdef size_t count = 0
        want.limit, want.keeps = <size_t>-1, True
        text_open(&view, text)
        try:
            state = self.encoder.states.borrow(view.length)
            self._encode(state, call, &view.text, &view.length, 1, view.length, &want, &count, text, 0)
            return self.ints.to_list(bbpe_encode_state_loan(state).ids, count)
        finally:
            if state != NULL:
                self.encoder.states.give_back(state)
            text_close(&view)

    def to_array(self, text: Text, Call call not None) -> npt.NDArray[np.uint32]:
        """The ids of a text as uint32[n]."""
        return self._array(text, call, <size_t>-1, True)

    def count(self, text: Text, Call call not None, limit: int | None = None) -> int:
        """How many ids a text has; no further than to more than `limit`."""
        return self._array(text, call, <size_t>-1 if limit is None else limit, False)

    cdef object _array(self, text, Call call, size_t limit, bint keeps):
        cdef text_view view
        cdef bbpe_encode_state *state = NULL
        cdef bbpe_encode_want want
        cdef size_t count = 0
        cdef uint32_t[::1] ids
        want.limit, want.keeps = limit, keeps
        text_open(&view, text)
        try:
            state = self.encoder.states.borrow(view.length)
            self._encode(state, call, &view.text, &view.length, 1, view.length, &want, &count, text, 0)
            if not keeps:
                return count
            array = np.empty(count, dtype=np.uint32)
            ids = array
            if count:
                memcpy(&ids[0], bbpe_encode_state_loan(state).ids, count * sizeof(uint32_t))
            return array
        finally:
            if state != NULL:
                self.encoder.states.give_back(state)
            text_close(&view)

    cdef size_t _group(
        self, TextGroup group, bbpe_encode_state *state, Call call, object texts, size_t start, size_t end,
        const bbpe_encode_want *want
    ) except 0:
        """Encode the next texts of a batch; returns how many texts these are.  The numbers of ids are in the group."""
        cdef size_t i
        try:
            group.open(texts, start, end)
            for i in range(group.c.count):
                group.c.texts[i], group.c.lengths[i] = group.c.views[i].text, group.c.views[i].length
            self._encode(
                state, call, group.c.texts, group.c.lengths, group.c.count, group.c.bound, want, group.c.counts, texts,
                start)
            return group.c.count
        finally:
            group.close()

    def lists(
        self, texts: Texts, size_t start, size_t end, Call call not None, size_t share, size_t worker=0,
        bint is_all=False
    ) -> list[list[int]]:
        """The ids of texts[start:end) as lists of int; the worker's share is `Tasks.share`.  `is_all` as in `Encoder`."""
        cdef TextGroup group = TextGroup()
        cdef bbpe_encode_state *state = self.encoder.states.borrow(share, worker)
        cdef bbpe_encode_want want
        cdef size_t count, i, total = 0
        cdef list rows = []
        want.limit, want.keeps = <size_t>-1, True
        try:
            while start < end:
                count = self._group(group, state, call, texts, start, end, &want)
                self.ints.add_lists(rows, bbpe_encode_state_loan(state).ids, group.c.counts, count)
                start += count
                for i in range(count):
                    total += group.c.counts[i]
            bbpe_encode_state_guard_heap_top(state, is_all and total * sizeof(void *) <= BBPE_ATOMIC_LOAD(&BUDGET.limit))
        finally:
            self.encoder.states.give_back(state, worker)
        IntObjects.track_lists(rows)
        return rows

    def rows(
        self, texts: Texts, size_t start, size_t end, Call call not None, bint keeps, size_t share,
        size_t worker=0
    ) -> tuple[list[npt.NDArray[np.uint32]], npt.NDArray[np.int64]]:
        """The ids of texts[start:end), uint32[n] arrays to be joined, if they are wanted, and how many each text has."""
        cdef TextGroup group = TextGroup()
        cdef bbpe_encode_state *state = self.encoder.states.borrow(share, worker)
        cdef bbpe_encode_want want
        cdef size_t count, i, total, at = start
        cdef uint32_t[::1] ids
        cdef list arrays = []
        lengths = np.zeros(end - start, dtype=np.int64)
        cdef int64_t[::1] out = lengths
        want.limit, want.keeps = <size_t>-1, keeps
        try:
            while at < end:
                count = self._group(group, state, call, texts, at, end, &want)
                total = 0
                for i in range(count):
                    out[at - start + i] = <int64_t>group.c.counts[i]
                    total += group.c.counts[i]
                at += count
                if not keeps or total == 0:
                    continue
                array = np.empty(total, dtype=np.uint32)
                ids = array
                memcpy(&ids[0], bbpe_encode_state_loan(state).ids, total * sizeof(uint32_t))
                arrays.append(array)
        finally:
            self.encoder.states.give_back(state, worker)
        return arrays, lengths
