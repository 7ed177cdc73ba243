"""Texts -> ids with the places in the text that they come from (csrc/pipeline/token_places.h)."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from bbpe.lazy import np

from bbpe.core.automaton cimport host_call, host_call_of, host_free
from bbpe.core.budget cimport keep_freed
from bbpe.core.c_base cimport BBPE_OK, bbpe_status
from bbpe.core.c_encode cimport bbpe_encode_places, bbpe_encode_state, bbpe_encode_state_loan, bbpe_places
from bbpe.core.call cimport Call, call_view, solve, view_call
from bbpe.core.c_pipeline cimport (
    BBPE_LENGTH_VARIES, BBPE_PIPELINE_FINE, bbpe_pipeline_begin, bbpe_pipeline_empty, bbpe_pipeline_run,
    bbpe_place_scratch_trim, bbpe_place_trim, bbpe_place, bbpe_token_blanks, bbpe_token_blanks_of, bbpe_token_extent,
    bbpe_token_lengths_set_bert, bbpe_token_levels, bbpe_token_range,
)
from bbpe.core.c_text cimport BBPE_OFFSETS_CHAR, BBPE_OFFSETS_UTF16, bbpe_offsets_is_simple, bbpe_offsets_map, bbpe_offsets_unit
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.split cimport Splitter
from bbpe.core.status cimport check, had
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


cdef class PlaceTrims:
    """How places lose the blanks of their tokens.

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
        int64_t[:, ::1] places: npt.NDArray[np.int64]
    ) -> None:
        """Trim the places of a text's ids, bytes of its UTF-8, int64[n, 2], in place."""
        cdef size_t i, n = data.shape[0], count = ids.shape[0]
        cdef const uint8_t *text = &data[0] if n else NULL
        cdef bbpe_place place
        cdef bbpe_token_blanks blanks
        if <size_t>places.shape[0] != count or places.shape[1] != 2:
            raise ValueError(f"{count} ids have places of shape {places.shape[0]}, {places.shape[1]}; expected one place each")
        for i in range(count):
            place.start, place.end = places[i, 0], places[i, 1]
            if ids[i] >= self.c.id_count or not 0 <= place.start <= place.end <= <int64_t>n:
                raise ValueError(f"id {ids[i]} has the place {place.start}, {place.end}; expected one of the text")
            blanks = self.c.blanks[ids[i]]
            if self.is_added[ids[i]]:
                blanks = bbpe_token_blanks_of(text + place.start, <size_t>(place.end - place.start))
            place = bbpe_place_trim(&self.c, text, n, blanks, i == 0, place)
            places[i, 0], places[i, 1] = place.start, place.end


cdef class TextRanges:
    """The ranges of a text, one after another: the end of each in characters of a str or in bytes, int64[n], and its level in the
    `TokenLevels` of a call, uint8[n]."""

    def __cinit__(self, const int64_t[::1] ends not None, const uint8_t[::1] levels not None):
        if ends.shape[0] != levels.shape[0]:
            raise ValueError(f"{ends.shape[0]} ends of ranges, and {levels.shape[0]} levels; expected as many")
        self.ends, self.levels = ends, levels

    cdef bbpe_token_range *in_bytes(self, const uint8_t *text, size_t n, size_t length, size_t level_count) except? NULL:
        """The ranges in bytes of a text of so many characters, the caller's to free; NULL of an empty text."""
        cdef size_t count = self.ends.shape[0], i, at = 0
        cdef int64_t passed = 0
        cdef bbpe_token_range *ranges
        for i in range(count):
            if self.levels[i] >= level_count or self.ends[i] < (self.ends[i - 1] if i else 0):
                raise ValueError(f"range {i} ends at {self.ends[i]}, with level {self.levels[i]}; expected rising ends")
        if <size_t>(self.ends[count - 1] if count else 0) != length:
            raise ValueError(f"the ranges end at {self.ends[count - 1] if count else 0}; expected {length}")
        if n == 0:
            return NULL
        ranges = <bbpe_token_range *>had(bbpe_memory_new(count, sizeof(bbpe_token_range)))
        with nogil:
            for i in range(count):
                if n == length:
                    at = <size_t>self.ends[i]
                else:
                    while at < n and (passed < self.ends[i] or (text[at] & 0xC0) == 0x80):
                        passed += (text[at] & 0xC0) != 0x80
                        at += 1
                ranges[i].end, ranges[i].level = at, self.levels[i]
        return ranges


cdef class PlacesCall:
    """A pipeline with an encoder, a call of it, and what finds the places that ids come from; immutable, shared by any number of
    threads.  `splitter` finds the pretokens that the pipeline does not, where they are needed.  `slow` makes the call for texts
    of which this one cannot find the places.

    Places are in bytes of a text's UTF-8 or a unit of `map_places`.  `VocabularyError` when the tokens do not stand for a text.
    """

    def __cinit__(
        self, Call call not None, TokenLengths lengths not None, PlaceTrims trims=None,
        Splitter splitter=None, slow: Callable[[], PlacesCall] | None = None
    ):
        self.slow = slow
        self.call, self.lengths, self.trims, self.splitter = call, lengths, trims, splitter
        memset(&self.rules, 0, sizeof(self.rules))
        self.rules.lengths = &lengths.c
        if trims is not None:
            self.rules.trims = &trims.c
        if splitter is not None:
            self.rules.scheme, self.rules.fill = &splitter.row, splitter.fill
        self.new_array, self.dtype, self.id_dtype = np.empty, np.dtype(np.int64), np.dtype(np.int32)

    cpdef tuple encode(self, text: Text, str unit: str):  # -> tuple[list[int], npt.NDArray[np.int64]]
        """The ids of a text, and their starts and ends in it, int64[n, 2]."""
        ids, places, _ = self._encode(text, unit, False, None, False)
        return ids, places

    def encode_words(
        self, text: Text, str unit not None, TextRanges ranges=None
    ) -> tuple[list[int], npt.NDArray[np.int64], list[int]]:
        """The ids of a text, their starts and ends in it, int64[n, 2], and the numbers of their pretokens."""
        return self._encode(text, unit, True, ranges, False)

    def encode_ranges(
        self, text: Text, TextRanges ranges not None
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The ids of a text in whose ranges the tokens of their levels count, int32[n], and their places, int64[n, 2], in
        characters of a str and in bytes of a bytes-like text."""
        ids, places, _ = self._encode(text, "char" if isinstance(text, str) else "byte", False, ranges, True)
        return ids, places

    cdef tuple _encode(self, text, str unit, bint has_words, TextRanges ranges, bint in_arrays):
        cdef text_view view
        cdef bbpe_places found
        cdef bint is_ascii = PyUnicode_Check(text) and PyUnicode_IS_ASCII(text)
        cdef bint is_mapped = unit != "byte" and not is_ascii
        cdef bbpe_encode_state *state
        cdef PlacesCall slow
        memset(&found, 0, sizeof(found))
        found.has_words = has_words
        text_open(&view, text)
        try:
            state = self.call.encoder.states.borrow(view.length)
            try:
                found.memory = &bbpe_encode_state_loan(state).places
                # of ASCII, characters are bytes, and easier to find unless blanks are trimmed
                found.in_chars = (is_ascii and self.trims is None) or (
                    is_mapped and unit == "char" and PyUnicode_Check(text)
                    and bbpe_offsets_is_simple(view.text.units, view.text.unit_size, view.length))
                if not self._run(state, text, &view, ranges, &found):
                    slow = self.slow()
                    return slow._encode(text, unit, has_words, ranges, in_arrays)
                if is_mapped and not found.in_chars and found.count:
                    bbpe_offsets_map(
                        view.text.units, view.text.unit_size, view.length,
                        BBPE_OFFSETS_UTF16 if unit == "utf16" else BBPE_OFFSETS_CHAR, &found.memory.places.start, found.count)
                return self._result(&found, in_arrays)
            finally:
                bbpe_place_scratch_trim(found.memory)
                self.call.encoder.states.give_back(state)
        finally:
            text_close(&view)

    cdef bint _run(
        self, bbpe_encode_state *state, text, const text_view *view, TextRanges ranges, bbpe_places *found
    ) except -1:
        """Find the ids and their places; false when `slow` can."""
        cdef bbpe_pipeline_run *run = &bbpe_encode_state_loan(state).run
        cdef bbpe_token_range *in_bytes = NULL
        run.is_done = True
        bbpe_pipeline_empty(run)
        check(bbpe_pipeline_begin(run, view.text.units, view.text.unit_size, view.length))
        if ranges is not None:
            in_bytes = ranges.in_bytes(run.tokens.text, run.tokens.n, view.length, self.call.levels.count)
        try:
            return self._run_on(state, text, view, in_bytes, 0 if ranges is None else ranges.ends.shape[0], found)
        finally:
            bbpe_memory_free(in_bytes)

    cdef bint _run_on(
        self, bbpe_encode_state *state, text, const text_view *view, const bbpe_token_range *ranges, size_t range_count,
        bbpe_places *found
    ) except -1:
        cdef bbpe_pipeline_run *run = &bbpe_encode_state_loan(state).run
        cdef bbpe_status status = BBPE_OK
        cdef call_view seen
        cdef host_call host = host_call_of(view.length)
        encoder = self.call.encoder.states.encoder()
        while not run.is_done and not found.is_off:
            view_call(&seen, self.call, &host)
            seen.c.with_places = True
            if ranges != NULL:
                seen.c.in_text = bbpe_token_levels(ranges, range_count, self.call.levels.tokens)
                if self.call.normalized is not None:
                    seen.c.in_normalized = bbpe_token_levels(ranges, range_count, self.call.levels.normalized)
            host.held = let_go(view.length)
            status = bbpe_encode_places(encoder, state, &seen.c, &self.rules, found)
            take_back(host.held)
            if status != BBPE_OK:
                break
            if run.problem != BBPE_PIPELINE_FINE:
                try:
                    solve(run, self.call, &seen, text)
                except BaseException:
                    host_free(&host)
                    raise
        if host.asked != NULL:
            host_free(&host)
        check(status)
        if found.is_off and self.slow is None:
            raise VocabularyError("the tokens do not spell the text, so they have no offsets; encode without offsets")
        return not found.is_off

    cdef tuple _result(self, const bbpe_places *found, bint in_arrays):
        cdef Py_buffer buffer
        cdef size_t i
        # places and ids, here and in the result
        keep_freed(found.count * (2 * sizeof(bbpe_place) + sizeof(uint32_t) + sizeof(void *)))
        places = self.new_array((found.count, 2), self.dtype)
        if found.count:
            PyObject_GetBuffer(places, &buffer, PyBUF_SIMPLE)
            memcpy(buffer.buf, found.memory.places, found.count * sizeof(bbpe_place))
            PyBuffer_Release(&buffer)
        words = [found.memory.words[i] for i in range(found.count)] if found.has_words else []
        if not in_arrays:
            return self.call.encoder.ints.to_list(found.memory.ids, found.count), places, words
        ids = self.new_array(found.count, self.id_dtype)
        if found.count:
            PyObject_GetBuffer(ids, &buffer, PyBUF_SIMPLE)
            memcpy(buffer.buf, found.memory.ids, found.count * sizeof(uint32_t))
            PyBuffer_Release(&buffer)
        return ids, places, words


def map_places(text: Text, int64_t[:, ::1] places not None, str unit not None):
    """Replace places of bytes of a str or bytes-like text's UTF-8, int64[n, 2], whose starts never fall; they may overlap.

    `unit`: "char", an index of a str, or a character of bytes; or "utf16".
    """
    cdef text_view view
    cdef size_t count = places.shape[0]
    cdef bbpe_offsets_unit chosen = BBPE_OFFSETS_UTF16 if unit == "utf16" else BBPE_OFFSETS_CHAR
    if places.shape[1] != 2:
        raise ValueError(f"places have a start and an end, not {places.shape[1]} columns")
    if count == 0 or (isinstance(text, str) and text.isascii()):
        return
    text_open(&view, text)
    with nogil:
        bbpe_offsets_map(view.text.units, view.text.unit_size, view.length, chosen, &places[0, 0], count)
    text_close(&view)
