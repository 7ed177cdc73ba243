"""Chains of steps that split texts into pretokens."""
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from itertools import count

from bbpe.lazy import np

from bbpe.core.automaton cimport Automaton, host_call, host_call_of, host_free
from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_zeroed
from bbpe.core.c_pipeline cimport (
    BBPE_SPLIT_CONTIGUOUS, BBPE_SPLIT_ISOLATED, BBPE_SPLIT_MERGED_WITH_NEXT, BBPE_SPLIT_MERGED_WITH_PREVIOUS,
    BBPE_SPLIT_REMOVED, BBPE_STEP_ALPHABET, BBPE_STEP_BLANKS, BBPE_STEP_LENGTH, BBPE_STEP_MARK, BBPE_STEP_REWRITE,
    BBPE_STEP_SPLIT, bbpe_pre_tokenized, bbpe_pre_tokenizer_init, bbpe_pre_tokenizer_scratch, bbpe_pre_tokenizer_next,
    bbpe_pre_tokenizer_scratch_free, bbpe_pre_tokenizer_split, bbpe_pre_tokenizer_step, bbpe_split_cursor,
)
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.status cimport check, had

# stub: _Step: TypeAlias = tuple[Any, ...]

cdef object _NUMBERS = count(1)  # of pre-tokenizers
cdef dict _BEHAVIORS = {
    "Removed": BBPE_SPLIT_REMOVED,
    "Isolated": BBPE_SPLIT_ISOLATED,
    "MergedWithPrevious": BBPE_SPLIT_MERGED_WITH_PREVIOUS,
    "MergedWithNext": BBPE_SPLIT_MERGED_WITH_NEXT,
    "Contiguous": BBPE_SPLIT_CONTIGUOUS,
}


cdef class PreTokenizer:
    """Splits texts by a chain of steps; immutable, shared by any number of threads.

    A step is a tuple of its kind and its fields:
    `("split", automaton, behavior, inverts)`, as a rule `Split` of the automaton's regex;
    `("length", length, counts_bytes)`, after each `length` characters, or bytes;
    `("blanks",)`, in front of each blank;
    `("rewrite", prefix, only_first, mark)`, with bytes in front of pieces, or only of those that begin within the head of the
    text, and others, unless empty, in place of blanks;
    `("mark", prefix, only_first, mark, drops_space, unmarks)`, the same, and split in front of each mark, with a split at white
    space, which is dropped, before that, and blanks in place of marks after it;
    `("alphabet",)`, the characters of GPT-2's byte alphabet in place of bytes.
    """

    def __cinit__(self, steps: Sequence[_Step]):
        self.steps = tuple(steps)
        self.own = <bbpe_pre_tokenizer_step *>had(bbpe_memory_zeroed(len(self.steps), sizeof(bbpe_pre_tokenizer_step)))
        cdef size_t number = 0
        for step in self.steps:
            _fill(self.own + number, step)
            number += 1
        check(bbpe_pre_tokenizer_init(&self.c, self.own, number, next(_NUMBERS)))

    def __dealloc__(self):
        bbpe_memory_free(self.own)

    def __reduce__(self):
        return PreTokenizer, (self.steps,)

    def split(
        self, data: bytes | bytearray | memoryview, size_t head=1
    ) -> tuple[bytes | bytearray | memoryview, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The text that the spans are in, and their starts and ends in it, int64[n] each.

        The text is `data` itself unless a step writes another one.  `head`: how many bytes it begins with that
        come from the first character of the whole text.
        """
        cdef const uint8_t[::1] view = data
        cdef size_t n = len(view)
        cdef const uint8_t *text = &view[0] if n > 0 else <const uint8_t *>b""
        cdef bbpe_pre_tokenizer_scratch scratch
        cdef bbpe_pre_tokenized result
        cdef bbpe_status status
        cdef host_call host = host_call_of(n)
        memset(&scratch, 0, sizeof(scratch))
        scratch.automaton.host = &host
        try:
            host.held = let_go(n)
            status = bbpe_pre_tokenizer_split(&self.c, &scratch, text, n, head, False, &result)
            take_back(host.held)
            check(status)
            starts, ends = _arrays(&result)
            return (data if result.text == text else (<const char *>result.text)[:result.n]), starts, ends
        finally:
            host_free(&host)
            bbpe_pre_tokenizer_scratch_free(&scratch)


cdef class Batches:
    """The spans of one text in order, in batches of those of about `limit` spans of the first step; for one thread.

    No step rewrites the text.  A first step that is not a split, or merges its matches, makes a batch of all.
    """
    cdef PreTokenizer steps
    cdef const uint8_t[::1] view
    cdef size_t limit
    cdef bbpe_pre_tokenizer_scratch scratch
    cdef bbpe_split_cursor cursor
    cdef host_call host

    def __cinit__(self, PreTokenizer steps not None, data: bytes | bytearray | memoryview, size_t limit):
        self.steps, self.view, self.limit = steps, data, limit
        self.host = host_call_of(len(self.view))
        memset(&self.scratch, 0, sizeof(self.scratch))
        self.scratch.automaton.host = self.scratch.first.host = &self.host
        memset(&self.cursor, 0, sizeof(self.cursor))
        self.cursor.is_over = len(self.view) == 0
        if limit == 0:
            raise ValueError("the limit is 0; expected at least 1")
        if any(step[0] in ("rewrite", "mark", "alphabet") for step in steps.steps):
            raise ValueError("a step rewrites the text; expected steps that split it")

    def __dealloc__(self):
        host_free(&self.host)
        bbpe_pre_tokenizer_scratch_free(&self.scratch)

    def next(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
        """The starts and ends of the next spans, int64[n] each; `None` after the last ones."""
        cdef bbpe_pre_tokenized result
        cdef bbpe_status status
        if self.cursor.is_over:
            return None
        self.host.held = let_go(len(self.view))
        status = bbpe_pre_tokenizer_next(
            &self.steps.c, &self.scratch, &self.cursor, &self.view[0], len(self.view), self.limit, &result
        )
        take_back(self.host.held)
        check(status)
        return _arrays(&result)


cdef tuple _arrays(const bbpe_pre_tokenized *result):
    """The starts and the ends of spans, int64[n] each."""
    cdef size_t i
    starts, ends = np.empty(result.count, np.int64), np.empty(result.count, np.int64)
    cdef int64_t[::1] start_view = starts, end_view = ends
    for i in range(result.count):
        start_view[i], end_view[i] = result.spans[i].start, result.spans[i].end
    return starts, ends


def joined(
    data: bytes | bytearray | memoryview, const int64_t[::1] starts, const int64_t[::1] ends
) -> tuple[bytes, npt.NDArray[np.int64]]:
    """The bytes of spans of a text in one row, and the end of each in it, int64[n].

    The spans are those of `PreTokenizer.split`: in order, and within the text.
    """
    cdef const uint8_t[::1] view = data
    cdef Py_ssize_t i, count = len(starts)
    cdef int64_t total = 0, done = 0
    if len(ends) != count:
        raise ValueError(f"{count} starts and {len(ends)} ends; expected as many")
    ends_in_row = np.empty(count, np.int64)
    cdef int64_t[::1] out = ends_in_row
    for i in range(count):
        if not done <= starts[i] <= ends[i] <= len(view):
            raise ValueError(f"span {i} is {starts[i]} to {ends[i]}; expected spans in order, in {len(view)} bytes")
        done = ends[i]
        total += ends[i] - starts[i]
        out[i] = total
    cdef bytes row = PyBytes_FromStringAndSize(NULL, total)
    cdef char *to = row
    if total == 0:
        return row, ends_in_row
    with nogil:
        for i in range(count):
            memcpy(to, &view[0] + starts[i], <size_t>(ends[i] - starts[i]))
            to += ends[i] - starts[i]
    return row, ends_in_row


cdef int _fill(bbpe_pre_tokenizer_step *to, tuple step) except -1:
    """Read a step; what it points to belongs to the tuple."""
    cdef Automaton automaton
    cdef bytes prefix, mark
    if step[0] == "split":
        automaton = step[1]
        to.kind = BBPE_STEP_SPLIT
        to.split.automaton, to.split.behavior, to.split.inverts = &automaton.c, _BEHAVIORS[step[2]], step[3]
    elif step[0] == "length":
        to.kind, to.length, to.counts_bytes = BBPE_STEP_LENGTH, step[1], step[2]
        if to.length == 0:
            raise ValueError("the length is 0; expected at least 1")
    elif step[0] == "blanks":
        to.kind = BBPE_STEP_BLANKS
    elif step[0] == "rewrite":
        prefix, mark = step[1], step[3]
        to.kind, to.prefix, to.prefix_size = BBPE_STEP_REWRITE, <const uint8_t *><char *>prefix, len(prefix)
        to.only_first, to.mark, to.mark_size = step[2], <const uint8_t *><char *>mark, len(mark)
    elif step[0] == "mark":
        prefix, mark = step[1], step[3]
        if not mark or prefix not in (b"", mark):
            raise ValueError(f"the mark is {mark!r} and the prefix {prefix!r}; expected a mark, and no other prefix")
        to.kind, to.prefix, to.prefix_size = BBPE_STEP_MARK, <const uint8_t *><char *>prefix, len(prefix)
        to.only_first, to.mark, to.mark_size = step[2], <const uint8_t *><char *>mark, len(mark)
        to.drops_space, to.unmarks = step[4], step[5]
    elif step[0] == "alphabet":
        to.kind = BBPE_STEP_ALPHABET
    else:
        raise ValueError(f"the kind of a step is {step[0]!r}; expected split, length, blanks, rewrite, mark or alphabet")
    return 0
