"""Texts -> ids with the places in the text that they come from (csrc/pipeline/token_spans.h)."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from bbpe.lazy import np

from bbpe.core.automaton cimport host_call, host_call_of
from bbpe.core.c_base cimport BBPE_NO_MEMORY, BBPE_OK, bbpe_status
from bbpe.core.c_encode cimport (
    BBPE_ENCODE_SLACK, bbpe_encode_state, bbpe_encode_state_loan, bbpe_encode_stretches,
)
from bbpe.core.call cimport Call, call_view, solve, view_call
from bbpe.core.c_memory cimport bbpe_memory_reserve
from bbpe.core.c_pipeline cimport (
    BBPE_LENGTH_VARIES, BBPE_PIPELINE_FINE, BBPE_STRETCH_NO_ID, bbpe_pipeline_begin, bbpe_pipeline_call,
    bbpe_pipeline_empty, bbpe_pipeline_next, bbpe_pipeline_run, bbpe_span_scratch, bbpe_span_scratch_trim,
    bbpe_span_trim, bbpe_span_trims, bbpe_stretch, bbpe_stretch_source, bbpe_stretch_word_count, bbpe_text_span,
    bbpe_token_blanks, bbpe_token_blanks_of, bbpe_token_extent, bbpe_token_lengths, bbpe_token_lengths_set_bert,
    bbpe_token_spans, bbpe_token_spans_count,
)
from bbpe.core.c_split cimport c_bool
from bbpe.core.c_text cimport (
    BBPE_OFFSETS_CHAR, BBPE_OFFSETS_UTF16, bbpe_offsets_count_overlapping, bbpe_offsets_is_simple, bbpe_offsets_map,
    bbpe_offsets_place,
)
from bbpe.core.encoder cimport Encoder
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.split cimport Splitter
from bbpe.core.status cimport check
from bbpe.core.text_view cimport text_close, text_open, text_view
from bbpe.core.wordpiece cimport WordPiece

from bbpe.errors import VocabularyError

VARIES: int = BBPE_LENGTH_VARIES


cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)


cdef class TokenLengths:
    """For how many bytes of normalized text each id stands.

    `first`: at the beginning of a pretoken, uint32[n] by id; `inside`: elsewhere; VARIES for an unknown token.  `whole`: that
    stands for its pretoken, which may begin with its text, `unknown`; else for a character, with `fuses` for a run of those
    that are not `known`: one bit for each code point, for characters within a pretoken, at its beginning, at its end, and
    alone.  `drops`: those that are not known have no id.  `of_bytes`: each byte is a character.  `extents`, of tokens that
    stand for as many bytes everywhere: the vocabulary's (`TokenTable.extents`).  `bert`: a model that applies BERT's
    rules to stretches itself, or one of words.
    """

    def __cinit__(
        self, const uint32_t[::1] first not None, const uint32_t[::1] inside not None, *, bint whole=False,
        bint fuses=False, bint drops=False, bint of_bytes=False, known: Sequence[bytes] = (),
        bytes unknown=None, WordPiece bert=None, const uint8_t[:, ::1] extents: npt.NDArray[np.uint8] | None = None
    ):
        if first.shape[0] != inside.shape[0] or first.shape[0] == 0:
            raise ValueError(f"{first.shape[0]} and {inside.shape[0]} lengths; expected equally many, and at least one")
        if len(known) != (4 if fuses or drops else len(known) and 4):
            raise ValueError(f"known has {len(known)} sets; expected 4")
        if extents is not None and (extents.shape[0] != first.shape[0] or extents.shape[1] != 2):
            raise ValueError(f"extents have {extents.shape[0]} rows of {extents.shape[1]}; expected {first.shape[0]} of 2")
        self.kept = first, inside, tuple(known), extents, unknown
        self.c.first, self.c.inside, self.c.id_count = &first[0], &inside[0], first.shape[0]
        self.c.whole, self.c.fuses, self.c.drops, self.c.of_bytes = whole, fuses, drops, of_bytes
        if extents is not None:
            self.c.extents = <const bbpe_token_extent *>&extents[0, 0]
        if unknown is not None:
            self.c.unknown, self.c.unknown_size = <const uint8_t *>PyBytes_AS_STRING(unknown), len(unknown)
        if bert is not None and bert.c.is_bert:
            bbpe_token_lengths_set_bert(&self.c, bert.c.rules)
        cdef Py_ssize_t i
        for i in range(len(known)):
            self.c.known[i] = <const uint64_t *>PyBytes_AS_STRING(known[i])

    def knows(self, int code) -> bool:
        """Whether a character is `known` wherever it is in a pretoken, or all are."""
        return all(known[code // 8] >> code % 8 & 1 for known in self.kept[2])


cdef class SpanTrims:
    """How spans lose the blanks of their tokens.

    `blanks`: how many blanks each token begins and ends with, in characters, uint32[n, 2] by id.  `keeps_first`: for each of
    several passes, whether the first token of a text keeps the blanks that it begins with.  `is_added`: 1 for tokens that are
    found in the text and may take blanks of it, uint8[n] by id.
    """

    def __cinit__(
        self, const uint32_t[:, ::1] blanks not None, keeps_first: Sequence[bool], const uint8_t[::1] is_added not None
    ):
        cdef bytes passes = bytes(keeps_first)
        if blanks.shape[1] != 2 or blanks.shape[0] == 0 or is_added.shape[0] != blanks.shape[0]:
            raise ValueError(f"blanks have {blanks.shape[0]} rows of {blanks.shape[1]}; expected at least one of 2")
        self.kept, self.is_added = (blanks, passes), is_added
        self.c.blanks, self.c.id_count = <const bbpe_token_blanks *>&blanks[0, 0], blanks.shape[0]
        self.c.keeps_first, self.c.pass_count = <const uint8_t *>PyBytes_AS_STRING(passes), len(passes)

    def trim(
        self, const uint8_t[::1] data: Buffer, const uint32_t[::1] ids: npt.NDArray[np.uint32],
        int64_t[:, ::1] spans: npt.NDArray[np.int64]
    ) -> None:
        """Trim the spans of a text's ids, bytes of its UTF-8, int64[n, 2], in place."""
        cdef size_t i, n = data.shape[0], count = ids.shape[0]
        cdef const uint8_t *text = &data[0] if n else NULL
        cdef bbpe_text_span span
        cdef bbpe_token_blanks blanks
        if <size_t>spans.shape[0] != count or spans.shape[1] != 2:
            raise ValueError(f"{count} ids have spans of shape {spans.shape[0]}, {spans.shape[1]}; expected one span each")
        for i in range(count):
            span.start, span.end = spans[i, 0], spans[i, 1]
            if ids[i] >= self.c.id_count or not 0 <= span.start <= span.end <= <int64_t>n:
                raise ValueError(f"id {ids[i]} has the span {span.start}, {span.end}; expected one of the text")
            blanks = self.c.blanks[ids[i]]
            if self.is_added[ids[i]]:
                blanks = bbpe_token_blanks_of(text + span.start, <size_t>(span.end - span.start))
            span = bbpe_span_trim(&self.c, text, n, blanks, i == 0, span)
            spans[i, 0], spans[i, 1] = span.start, span.end


cdef class AlignedCall:
    """A pipeline with an encoder, a call of it, and what finds the places that ids come from; immutable, shared by any number of
    threads.  `splitter` finds the pretokens that the pipeline does not, where they are needed.  `slow` makes the call for texts
    of which this one cannot find the places.

    Places are in bytes of a text's UTF-8 or a unit of `map_spans`.  `VocabularyError` when the tokens do not stand for a text.
    """

    def __cinit__(
        self, Call call not None, TokenLengths lengths not None, SpanTrims trims=None,
        Splitter splitter=None, slow: Callable[[], AlignedCall] | None = None
    ):
        self.slow = slow
        self.call, self.lengths, self.trims, self.splitter = call, lengths, trims, splitter
        self.new_array, self.dtype = np.empty, np.dtype(np.int64)

    cpdef tuple encode(self, text: Text, str unit: str):  # -> tuple[list[int], npt.NDArray[np.int64]]
        """The ids of a text, and their starts and ends in it, int64[n, 2]."""
        ids, spans, _ = self._encode(text, unit, False)
        return ids, spans

    def encode_words(self, text: Text, str unit not None) -> tuple[list[int], npt.NDArray[np.int64], list[int]]:
        """The ids of a text, their starts and ends in it, int64[n, 2], and the numbers of their pretokens."""
        return self._encode(text, unit, True)

    cdef tuple _encode(self, text, str unit, bint has_words):
        cdef text_view view
        cdef found_ids found
        cdef bint is_ascii = PyUnicode_Check(text) and PyUnicode_IS_ASCII(text)
        cdef bint is_mapped = unit != "byte" and not is_ascii
        cdef bbpe_encode_state *state
        cdef AlignedCall slow
        memset(&found, 0, sizeof(found))
        found.has_words = has_words
        text_open(&view, text)
        try:
            state = self.call.encoder.states.borrow(view.length)
            try:
                found.memory = &bbpe_encode_state_loan(state).spans
                # of ASCII, characters are bytes, and easier to find unless blanks are trimmed
                found.in_chars = (is_ascii and self.trims is None) or (
                    is_mapped and unit == "char" and PyUnicode_Check(text)
                    and bbpe_offsets_is_simple(view.text.units, view.text.unit_size, view.length))
                if not self._run(state, text, &view, &found):
                    slow = self.slow()
                    return slow._encode(text, unit, has_words)
                if is_mapped and not found.in_chars and found.count:
                    bbpe_offsets_map(
                        view.text.units, view.text.unit_size, view.length,
                        BBPE_OFFSETS_UTF16 if unit == "utf16" else BBPE_OFFSETS_CHAR, &found.memory.spans.start, found.count)
                return self._result(&found)
            finally:
                bbpe_span_scratch_trim(found.memory)
                self.call.encoder.states.give_back(state)
        finally:
            text_close(&view)

    cdef bint _run(self, bbpe_encode_state *state, text, const text_view *view, found_ids *found) except -1:
        """Find the ids and their places; false when `slow` can."""
        cdef bbpe_pipeline_run *run = &bbpe_encode_state_loan(state).run
        cdef const bbpe_span_trims *trims = NULL if self.trims is None else &self.trims.c
        cdef bbpe_status status
        cdef call_view seen
        cdef bint fits = True
        cdef Encoder encoder = self.call.encoder
        cdef Splitter splitter = self.splitter
        cdef host_call host = host_call_of(view.length)
        run.is_done = True
        bbpe_pipeline_empty(run)
        check(bbpe_pipeline_begin(run, view.text.units, view.text.unit_size, view.length))
        while not run.is_done and fits:
            view_call(&seen, self.call, &host)
            seen.c.is_aligned = True
            host.held = let_go(view.length)
            status = _next_round(encoder, splitter, state, &seen.c, &self.lengths.c, trims, found, &fits)
            take_back(host.held)
            check(status)
            if run.problem != BBPE_PIPELINE_FINE:
                solve(run, self.call, &seen, text)
        if not fits and self.slow is None:
            raise VocabularyError("the tokens do not spell the text, so they have no offsets; encode without offsets")
        return fits

    cdef tuple _result(self, const found_ids *found):
        cdef Py_buffer buffer
        cdef size_t i
        spans = self.new_array((found.count, 2), self.dtype)
        if found.count:
            PyObject_GetBuffer(spans, &buffer, PyBUF_SIMPLE)
            memcpy(buffer.buf, found.memory.spans, found.count * sizeof(bbpe_text_span))
            PyBuffer_Release(&buffer)
        words = [found.memory.words[i] for i in range(found.count)] if found.has_words else []
        return self.call.encoder.ints.to_list(found.memory.ids, found.count), spans, words


cdef bbpe_status _next_round(
    Encoder encoder, Splitter splitter, bbpe_encode_state *state, const bbpe_pipeline_call *call,
    const bbpe_token_lengths *lengths, const bbpe_span_trims *trims, found_ids *found, bint *fits
) noexcept nogil:
    """Encode the next stretches of the text that the state's run has."""
    cdef bbpe_pipeline_run *run = &bbpe_encode_state_loan(state).run
    cdef bbpe_status status = bbpe_pipeline_next(run, call)
    cdef size_t i, total = 0
    cdef void *grown
    if status != BBPE_OK or run.problem != BBPE_PIPELINE_FINE or run.count == 0:
        return status
    grown = bbpe_memory_reserve(found.memory.counts, &found.memory.count_capacity, run.count, sizeof(size_t))
    if grown == NULL:
        return BBPE_NO_MEMORY
    found.memory.counts = <size_t *>grown
    for i in range(run.count):
        run.stretches[i].ends_text = True  # each is counted alone
    grown = bbpe_memory_reserve(
        found.memory.ids, &found.memory.capacity, found.count + run.bytes + run.count + BBPE_ENCODE_SLACK, sizeof(uint32_t))
    if grown == NULL:
        return BBPE_NO_MEMORY
    found.memory.ids = <uint32_t *>grown
    status = bbpe_encode_stretches(
        encoder.states.encoder(), state, run.stretches, run.count, found.memory.ids + found.count, found.memory.counts)
    if status != BBPE_OK:
        return status
    for i in range(run.count):
        total += found.memory.counts[i]
    status = _reserve(found, total)
    if status == BBPE_OK:
        status = _put_round(run, lengths, trims, splitter, found, fits)
        bbpe_pipeline_empty(run)
    return status


cdef bbpe_status _reserve(found_ids *found, size_t more) noexcept nogil:
    """Have memory for the spans, and the numbers of pretokens, of more ids."""
    cdef void *spans = bbpe_memory_reserve(
        found.memory.spans, &found.memory.span_capacity, found.count + more + 1, sizeof(bbpe_text_span))
    if spans == NULL:
        return BBPE_NO_MEMORY
    found.memory.spans = <bbpe_text_span *>spans
    cdef void *words
    if found.has_words:
        words = bbpe_memory_reserve(found.memory.words, &found.memory.word_capacity, found.count + more + 1, sizeof(int64_t))
        if words == NULL:
            return BBPE_NO_MEMORY
        found.memory.words = <int64_t *>words
    return BBPE_OK


cdef bbpe_status _split(Splitter splitter, found_ids *found, bbpe_stretch *stretch) noexcept nogil:
    """Let a stretch that the encoder splits have its pretokens."""
    cdef size_t count = 0, start = 0
    cdef c_bool wide = False
    cdef void *grown
    while start < stretch.n:
        grown = bbpe_memory_reserve(found.memory.ends, &found.memory.end_capacity, count + 4096, sizeof(size_t))
        if grown == NULL:
            return BBPE_NO_MEMORY
        found.memory.ends = <size_t *>grown
        count += splitter.fill(
            &splitter.row, stretch.text, start, stretch.n, found.memory.ends + count, found.memory.end_capacity - count, &wide)
        start = found.memory.ends[count - 1]
    if count:
        stretch.pretokens, stretch.pretoken_count = found.memory.ends, count
    return BBPE_OK


cdef bbpe_status _put_round(
    const bbpe_pipeline_run *run, const bbpe_token_lengths *lengths, const bbpe_span_trims *trims, Splitter splitter,
    found_ids *found, bint *fits
) noexcept nogil:
    """Add the spans of the ids of the run's stretches; `fits` is False when they do not stand for a stretch."""
    cdef size_t i, count
    cdef bbpe_stretch stretch
    cdef bbpe_status status
    cdef bint needs_pretokens = found.has_words or lengths.whole or lengths.fuses or lengths.drops
    for i in range(run.count):
        stretch = run.stretches[i]
        count = found.memory.counts[i]
        if needs_pretokens and stretch.pretokens == NULL and splitter is not None:
            status = _split(splitter, found, &stretch)
            if status != BBPE_OK:
                return status
        fits[0] = _put_stretch(run, lengths, trims, &stretch, run.sources + i, count, found)
        if not fits[0]:
            return BBPE_OK
        found.count += count
    return BBPE_OK


cdef bint _put_stretch(
    const bbpe_pipeline_run *run, const bbpe_token_lengths *lengths, const bbpe_span_trims *trims, const bbpe_stretch *stretch,
    const bbpe_stretch_source *source, size_t count, found_ids *found
) noexcept nogil:
    """Add the spans of the next `count` ids; False when they do not stand for the stretch."""
    cdef size_t own = count - (stretch.id != BBPE_STRETCH_NO_ID)  # the last one is of an added token
    cdef size_t counted = 0
    cdef const uint32_t *ids = found.memory.ids + found.count
    cdef bbpe_text_span *spans = found.memory.spans + found.count
    cdef int64_t *words = found.memory.words + found.count if found.has_words else NULL
    if found.in_chars and trims == NULL and words == NULL and bbpe_token_spans_count(
            lengths, stretch, source, run.tokens.text, run.tokens.n, ids, own, &found.place, spans):
        counted = own
    elif not bbpe_token_spans(lengths, stretch, source, run.tokens.text, run.tokens.n, ids, own, spans, words):
        return False
    if own < count:
        spans[own].start, spans[own].end = <int64_t>source.token_start, <int64_t>source.token_end
    if words != NULL:
        _number(stretch, own, count, found)
    if trims != NULL:
        _trim(run, trims, source, own, count, found)
    if found.in_chars and counted < count:
        bbpe_offsets_count_overlapping(
            run.tokens.text, run.tokens.n, &found.place, &found.begun, &spans[counted].start, count - counted)
    return True


cdef void _number(const bbpe_stretch *stretch, size_t own, size_t count, found_ids *found) noexcept nogil:
    """Count the numbers of pretokens of the last `count` ids from the beginning of the text."""
    cdef size_t i
    for i in range(own):
        found.memory.words[found.count + i] += <int64_t>found.word_count
    found.word_count += bbpe_stretch_word_count(stretch)
    if own < count:
        found.memory.words[found.count + own] = <int64_t>found.word_count
        found.word_count += 1


cdef void _trim(
    const bbpe_pipeline_run *run, const bbpe_span_trims *trims, const bbpe_stretch_source *source, size_t own, size_t count,
    found_ids *found
) noexcept nogil:
    """Trim the spans of the last `count` ids, of which the last is that of an added token if there are more than `own`."""
    cdef size_t i, at
    cdef bbpe_token_blanks blanks
    for i in range(count):
        at = found.count + i
        blanks = (trims.blanks[found.memory.ids[at]] if i < own else
                  bbpe_token_blanks_of(source.token, source.token_length))
        found.memory.spans[at] = bbpe_span_trim(trims, run.tokens.text, run.tokens.n, blanks, at == 0, found.memory.spans[at])
