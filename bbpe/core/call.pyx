"""Texts -> ids through the pipeline (csrc/pipeline/compiled.h): every way to encode by the options of a call."""
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from itertools import pairwise

from bbpe.lazy import np

from bbpe.core.automaton cimport host_call, host_call_of, host_free
from bbpe.core.budget cimport BUDGET
from bbpe.core.c_base cimport BBPE_ATOMIC_LOAD, BBPE_OK, bbpe_status
from bbpe.core.c_encode cimport (
    BBPE_ENCODE_SLACK, bbpe_encode_bound, bbpe_encode_call, bbpe_encode_state, bbpe_encode_state_guard_heap_top,
    bbpe_encode_state_loan, bbpe_encode_text, bbpe_encode_want,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.c_pipeline cimport (
    BBPE_PIPELINE_FINE, BBPE_PIPELINE_REFUSED, BBPE_STRETCH_NO_ID, bbpe_pipeline_begin, bbpe_pipeline_call_is_plain,
    bbpe_pipeline_empty, bbpe_pipeline_next, bbpe_pipeline_run, bbpe_stretch, bbpe_stretch_source,
)
from bbpe.core.column cimport Column
from bbpe.core.encoder cimport Encoder
from bbpe.core.int_objects cimport IntObjects
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.matcher cimport Policy, TokenLevels
from bbpe.core.normalizer cimport Normalizer
from bbpe.core.pre_tokenizer cimport PreTokenizer
from bbpe.core.status cimport check, had
from bbpe.core.text_group cimport TextGroup
from bbpe.core.token_table cimport TokenTable
from bbpe.core.text_view cimport text_close, text_open, text_view

from bbpe.errors import SpecialTokenError
from bbpe.text import text_bytes

cdef enum:
    ON_STACK = 512   # ids of a short text need no memory of their own
    FIRST = 1 << 13  # units of text that are looked at anyway when only so many ids are wanted


cdef class Codes:
    """Tokens that only begin a piece of text between other tokens: from `opens` up to the first `closes`, both of which
    are not empty.  `tokens` are those with an id, any other code becomes `unknown`."""

    def __cinit__(
        self, bytes opens not None, bytes closes not None, tokens: Mapping[int, bytes], unsigned unknown
    ):
        self.opens, self.closes, self.tokens = opens, closes, TokenTable(tokens)
        self.c.opens, self.c.opens_length = <const unsigned char *><const char *>self.opens, len(opens)
        self.c.closes, self.c.closes_length = <const unsigned char *><const char *>self.closes, len(closes)
        self.c.tokens, self.c.unknown = &self.tokens.c.tokens, unknown


cdef class Pipeline:
    """The steps that a tokenizer applies to each text before its model; immutable, shared by any number of threads.

    `prefix`: a piece of text between tokens that is not empty and does not begin with it gets it, with `prefix_first` only
    one that begins with the first character of the text, or what it became.  `finds_head`: a rule asks for that, and the
    normalizer may drop the first character or make several of it.  `unmarks`: U+2581 becomes a blank before the prefix, with
    `unmarks_pretokens` in pretokens.  `replaces_invalid`: bytes that are not UTF-8 become U+FFFD.  `normalizer` comes before
    all of these, and `pre_tokenizer` after the prefix.  `fused`: ids in a row that are this one become one.  `codes` come
    first.
    """
    def __cinit__(
        self, *, bytes prefix not None=b"", bint prefix_first=False, bint finds_head=False, bint unmarks=False,
        bint unmarks_pretokens=False, bint replaces_invalid=False, Normalizer normalizer=None, PreTokenizer pre_tokenizer=None,
        fused: int | None = None, Codes codes=None
    ):
        self.prefix = prefix
        self.c.prefix, self.c.prefix_length = <const unsigned char *><const char *>self.prefix, len(prefix)
        self.c.prefix_first, self.c.unmarks, self.c.unmarks_pretokens = prefix_first, unmarks, unmarks_pretokens
        self.c.finds_head, self.c.replaces_invalid = finds_head, replaces_invalid
        self.c.fuses, self.c.fused = fused is not None, fused or 0
        self.normalizer, self.pre_tokenizer = normalizer, pre_tokenizer
        self.codes = codes
        if codes is not None:
            self.c.codes = &codes.c
        if normalizer is not None:
            self.c.normalizer = &normalizer.c
        if pre_tokenizer is not None:
            self.c.pre_tokenizer = &pre_tokenizer.c

    def splitting(self, PreTokenizer pre_tokenizer not None) -> Pipeline:
        """Return a pipeline with these steps and another pre-tokenizer."""
        return Pipeline(
            prefix=self.prefix, prefix_first=self.c.prefix_first, finds_head=self.c.finds_head,
            unmarks=self.c.unmarks, unmarks_pretokens=self.c.unmarks_pretokens, replaces_invalid=self.c.replaces_invalid,
            normalizer=self.normalizer, pre_tokenizer=pre_tokenizer,
            fused=self.c.fused if self.c.fuses else None, codes=self.codes)


cdef class Dropout:
    """Merges that are skipped at random, each with a probability; for one thread, as its numbers go on from text to text."""

    def __cinit__(self, double probability, uint64_t seed):
        self.c.state, self.c.threshold = seed, <uint64_t>(probability * <double>(<uint64_t>1 << 53))


@cython.final
cdef class Call:
    """An encoder, the pipeline before it, and what the options of a call add: the tokens that are looked for in the text and in
    the text as normalized, those that are refused, and the ids around those of each text.  Immutable but for its `dropout`,
    shared by any number of threads."""

    def __cinit__(
        self, Encoder encoder not None, Pipeline pipeline not None, *, Policy tokens=None, Policy normalized=None,
        Policy refused=None, before: Sequence[int] = (), after: Sequence[int] = (), Dropout dropout=None,
        TokenLevels levels=None
    ):
        cdef call_view view
        self.encoder, self.pipeline = encoder, pipeline
        self.tokens, self.normalized, self.refused, self.dropout = tokens, normalized, refused, dropout
        self.levels = levels
        if dropout is not None and encoder.model.view.merges == NULL:
            raise ValueError("dropout skips merges, and this tokenizer's model has none; expected BPE")
        view_call(&view, self, NULL)
        self.is_plain = encoder.splitter is not None and dropout is None and bbpe_pipeline_call_is_plain(&view.c)
        self.is_bare = self.is_plain and not before and not after
        self.is_divided = dropout is None and not pipeline.c.fuses
        self.around = <uint32_t *>had(bbpe_memory_new(len(before) + len(after), sizeof(uint32_t)))
        for i, token_id in enumerate((*before, *after)):
            if not 0 <= token_id < encoder.ints.count:
                raise ValueError(f"the template has id {token_id}; expected less than {encoder.ints.count}")
            self.around[i] = token_id
        self.before_count, self.after_count = len(before), len(after)

    def __dealloc__(self):
        bbpe_memory_free(self.around)

    cdef int encode(
        self, bbpe_encode_state *state, const bbpe_encode_text *texts, const size_t *lengths, size_t count, size_t total,
        const bbpe_encode_want *want, size_t *counts, object given, size_t first
    ) except -1:
        """Encode texts, which have `total` code units.  They are `given`, or those of a batch from `first` on, for errors."""
        cdef bbpe_status status
        cdef size_t failed = 0
        cdef call_view view
        cdef host_call host = host_call_of(total)
        encoder = self.encoder.states.encoder()
        while True:
            view_call(&view, self, &host)
            host.held = let_go(total)
            status = bbpe_encode_call(encoder, state, &view.c, texts, lengths, count, want, counts, &failed)
            take_back(host.held)
            if status != BBPE_OK or failed == count:
                break
            try:
                solve(
                    &bbpe_encode_state_loan(state).run, self, &view,
                    given[first + failed] if isinstance(given, (list, Column)) else given)
            except BaseException:
                host_free(&host)
                raise
        if host.asked != NULL:
            host_free(&host)
        return check(status)

    cpdef list to_list(self, text: Text):  # -> list[int]
        """The ids of a text as a list of int."""
        if self.is_plain:
            return self._plain_list(text)
        return self._one(text, LIST, <size_t>-1)

    cdef list _plain_list(self, text):
        """The same where the encoder gets the text: the ids of a short one need no memory of their own."""
        cdef text_view view
        cdef uint32_t few[ON_STACK]
        cdef uint32_t *ids = few
        cdef size_t count = 0, around = self.before_count + self.after_count, bound
        text_open(&view, text)
        try:
            bound = bbpe_encode_bound(view.text.unit_size, view.length) + around
            if bound + BBPE_ENCODE_SLACK > ON_STACK:
                ids = <uint32_t *>had(bbpe_memory_new(bound + BBPE_ENCODE_SLACK, sizeof(uint32_t)))
            self.encoder.encode_range(&view, 0, view.length, ids + self.before_count, &count)
            if around:
                memcpy(ids, self.around, self.before_count * sizeof(uint32_t))
                memcpy(
                    ids + self.before_count + count, self.around + self.before_count, self.after_count * sizeof(uint32_t))
            return self.encoder.ints.to_list(ids, count + around)
        finally:
            text_close(&view)
            if ids != few:
                bbpe_memory_free(ids)

    def to_array(self, text: Text) -> npt.NDArray[np.uint32]:
        """The ids of a text as uint32[n]."""
        return self.encoder.to_array(text) if self.is_bare else self._one(text, ARRAY, <size_t>-1)

    def count(self, text: Text, limit: int | None = None) -> int:
        """How many ids a text has; no further than to more than `limit`."""
        return self._one(text, COUNT, <size_t>-1 if limit is None else limit)

    cdef object _one(self, text, result_kind kind, size_t limit):
        cdef text_view view
        cdef bbpe_encode_state *state = NULL
        cdef bbpe_encode_want want
        cdef size_t count = 0
        want.limit, want.keeps, want.dropout = limit, kind != COUNT, NULL if self.dropout is None else &self.dropout.c
        text_open(&view, text)
        try:
            # tables for what is looked at, not for all of the text
            state = self.encoder.states.borrow(view.length if limit == <size_t>-1 else min(view.length, FIRST + limit))
            self.encode(state, &view.text, &view.length, 1, view.length, &want, &count, text, 0)
            if kind == COUNT:
                return count
            ids = bbpe_encode_state_loan(state).ids
            return self.encoder.ints.to_list(ids, count) if kind == LIST else array_of(ids, count)
        finally:
            if state != NULL:
                self.encoder.states.give_back(state)
            text_close(&view)

    cdef bbpe_encode_want _want(self, size_t limit, bint keeps) noexcept:
        cdef bbpe_encode_want want
        want.limit, want.keeps, want.dropout = limit, keeps, NULL if self.dropout is None else &self.dropout.c
        return want

    cdef size_t _group(
        self, TextGroup group, bbpe_encode_state *state, object texts, size_t start, size_t end, const bbpe_encode_want *want
    ) except 0:
        """Encode the next texts of a batch; returns how many texts these are.  The numbers of ids are in the group."""
        try:
            group.open(texts, start, end)
            self.encode(
                state, group.c.texts, group.c.lengths, group.c.count, group.c.bound, want, group.c.counts, texts, start)
            PyErr_CheckSignals()
            return group.c.count
        finally:
            group.close()

    def lists(
        self, texts: Texts, size_t start, size_t end, size_t share, size_t worker=0, bint is_all=False
    ) -> list[list[int]]:
        """The ids of texts[start:end) as lists of int; the worker's share is `Tasks.share`.

        If that is all of a batch, their memory serves the next one, up to the limit of caches: lists that several calls
        make are not counted here."""
        cdef TextGroup group = TextGroup()
        cdef bbpe_encode_state *state = self.encoder.states.borrow(share, worker)
        cdef bbpe_encode_want want = self._want(<size_t>-1, True)
        cdef size_t count, i, total = 0
        cdef list rows = []
        try:
            while start < end:
                count = self._group(group, state, texts, start, end, &want)
                self.encoder.ints.add_lists(rows, bbpe_encode_state_loan(state).ids, group.c.counts, count)
                start += count
                for i in range(count):
                    total += group.c.counts[i]
            bbpe_encode_state_guard_heap_top(state, is_all and total * sizeof(void *) <= BBPE_ATOMIC_LOAD(&BUDGET.limit))
        finally:
            self.encoder.states.give_back(state, worker)
        IntObjects.track_lists(rows)
        return rows

    def rows(
        self, texts: Texts, size_t start, size_t end, bint keeps, size_t share, size_t worker=0
    ) -> tuple[list[npt.NDArray[np.uint32]], npt.NDArray[np.int64]]:
        """The ids of texts[start:end), uint32[n] arrays to be joined, if they are wanted, and how many each text has."""
        cdef TextGroup group = TextGroup()
        cdef bbpe_encode_state *state = self.encoder.states.borrow(share, worker)
        cdef bbpe_encode_want want = self._want(<size_t>-1, keeps)
        cdef size_t count, i, total, at = start
        cdef list arrays = []
        lengths = np.zeros(end - start, dtype=np.int64)
        cdef int64_t[::1] out = lengths
        try:
            while at < end:
                count = self._group(group, state, texts, at, end, &want)
                total = 0
                for i in range(count):
                    out[at - start + i] = <int64_t>group.c.counts[i]
                    total += group.c.counts[i]
                at += count
                if keeps and total > 0:
                    arrays.append(array_of(bbpe_encode_state_loan(state).ids, total))
        finally:
            self.encoder.states.give_back(state, worker)
        return arrays, lengths

    def parts(self, text: Text) -> list[tuple[list[bytes], int | None, bytes]]:
        """What the model gets of a text: pretokens, and the id and the text of a special or added token after them, or None."""
        cdef text_view view
        cdef bbpe_encode_state *state = NULL
        cdef bbpe_pipeline_run *run
        cdef call_view seen
        cdef size_t i
        cdef list found = []
        cdef host_call host = host_call_of(0)
        text_open(&view, text)
        host.characters = view.length
        try:
            state = self.encoder.states.borrow(0)
            run = &bbpe_encode_state_loan(state).run
            run.is_done = True
            bbpe_pipeline_empty(run)
            check(bbpe_pipeline_begin(run, view.text.units, view.text.unit_size, view.length))
            while not run.is_done:
                view_call(&seen, self, &host)
                seen.c.with_places = True
                check(bbpe_pipeline_next(run, &seen.c))
                if run.problem != BBPE_PIPELINE_FINE:
                    solve(run, self, &seen, text)
                for i in range(run.count):
                    if run.stretches[i].n or run.stretches[i].id != BBPE_STRETCH_NO_ID:
                        found.append(self._part(run.stretches + i, run.sources + i))
                bbpe_pipeline_empty(run)
            return found
        finally:
            host_free(&host)
            if state != NULL:
                self.encoder.states.give_back(state)
            text_close(&view)

    cdef tuple _part(self, const bbpe_stretch *stretch, const bbpe_stretch_source *source):
        cdef bytes whole = (<const char *>stretch.text)[:stretch.n]
        cdef list pretokens = []
        cdef size_t i, start = 0
        if stretch.pretokens == NULL and stretch.n:
            ends = self.encoder.splitter.spans(whole)
            pretokens = [whole[first:last] for first, last in pairwise(ends.tolist())]
        for i in range(stretch.pretoken_count if stretch.pretokens != NULL else 0):
            pretokens.append(whole[start:stretch.pretokens[i]])
            start = stretch.pretokens[i]
        if stretch.id == BBPE_STRETCH_NO_ID:
            return pretokens, None, b""
        return pretokens, stretch.id, (<const char *>source.token)[:source.token_length]


cdef object array_of(const uint32_t *ids, size_t count):
    """A copy of ids, uint32[count]."""
    cdef uint32_t[::1] out
    array = np.empty(count, dtype=np.uint32)
    if count:
        out = array
        memcpy(&out[0], ids, count * sizeof(uint32_t))
    return array


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
