"""The message that each id of a chat belongs to, and whether the id is learned."""
from libc.stdint cimport int32_t, int64_t, uint8_t

from bbpe.lazy import np

from bbpe.core.places import TextRanges

cdef enum:
    TRUSTED = 1
    HEADER = 2
    GENERATED = 4
    SHIFT = 3


cdef tuple RESULTS = tuple([
    f"<{bar}tool_{what}" for bar in ("", "|") for what in ("response", "output", "result")
])


cdef class Turn:
    """How a template writes the turns of the assistant.

    `begins` is its header, and any header begins with the token `opens`; both are empty where a template has none.  `ends` are
    the tokens after its texts, and `next_token` finds the next special token in a part of a text: its start and end.
    """
    cdef str begins, opens
    cdef readonly tuple ends  # stub: tuple[str, ...]
    cdef object next_token

    def __cinit__(
        self, str begins not None, str opens not None, tuple ends not None: tuple[str, ...],
        next_token: Callable[[str, int, int], tuple[int, int] | None]
    ):
        self.begins, self.opens, self.ends, self.next_token = begins, opens, ends, next_token

    cpdef Py_ssize_t next_header(self, str text: str, Py_ssize_t start, Py_ssize_t stop):  # -> int
        """Where the next header begins in a part of a text, or `stop`."""
        cdef Py_ssize_t at = text.find(self.opens, start, stop) if self.opens else -1
        return stop if at < 0 else at

    cdef tuple end_of(self, str text, Py_ssize_t start, Py_ssize_t stop):
        """The place of the token that ends a turn, the first one after the text of the assistant; or `None`."""
        cdef Py_ssize_t at
        cdef tuple found = None
        for end in self.ends:
            at = text.find(<str>end, start, stop)
            if at >= 0 and (found is None or (at, -len(<str>end)) < (found[0], found[0] - found[1])):
                found = at, at + len(<str>end)  # the longest one of the first place
        return self.next_token(text, start, stop) if found is None and self.opens else found


cdef class ChatRuns:
    """The runs of characters of a chat's text, each of one origin: a text from the template, or a field of a message.

    `runs` are the ends of runs with their origins, as bbpe/compat/chat/origins.py has them.
    """
    cdef object _ends, _origins
    cdef const int64_t[::1] ends, origins
    cdef Py_ssize_t count

    def __cinit__(self, tuple runs not None: tuple[tuple[int, int], ...]):
        cdef int64_t[::1] ends, origins
        cdef Py_ssize_t i = 0
        self.count = len(runs)
        self._ends, self._origins = np.empty(self.count, np.int64), np.empty(self.count, np.int64)
        ends, origins = self._ends, self._origins
        for end, origin in runs:
            ends[i], origins[i] = end, origin
            i += 1
        self.ends, self.origins = ends, origins

    def ranges(self) -> TextRanges:
        """The ranges of the text, whose level is 1 for the template's own and else 0."""
        levels = np.empty(self.count, np.uint8)
        cdef uint8_t[::1] out = levels
        cdef Py_ssize_t i
        for i in range(self.count):
            out[i] = self.origins[i] & TRUSTED
        return TextRanges(self._ends, levels)

    def learned(
        self, str text not None, chosen: list[bool], turn: Turn, bint turn_end
    ) -> list[tuple[int, int]]:
        """The characters that chosen messages wrote: starts and ends.

        They are the fields of a message, and what the template writes between two of them; `turn` tells how the turns of the
        assistant begin and end.  A template that marks what the model writes is believed.
        """
        cdef SpanWriter writer = SpanWriter(text, turn, turn_end)
        cdef Py_ssize_t message = -1, before = -1, start = 0, begin = 0, last = 0, number, i
        cdef list fields = []
        for i in range(self.count):
            if self.origins[i] & GENERATED:
                return self._marked(chosen, turn_end)
        for i in range(self.count):
            number = (self.origins[i] >> SHIFT) - 1
            if number >= 0:
                if number != message:
                    if message >= 0 and chosen[message]:
                        writer.write(start, begin, fields)
                    writer.write_empty(last, begin, sum(chosen[before + 1:number]))
                    message, start, fields = number, last, []
                    before = max(before, message)
                if not self.origins[i] & HEADER:
                    fields.append((begin, self.ends[i]))
                last = self.ends[i]
            begin = self.ends[i]
        if message >= 0 and chosen[message]:
            writer.write(start, begin, fields)
        writer.write_empty(last, len(text), sum(chosen[before + 1:]))
        return writer.spans

    cdef list _marked(self, list chosen, bint turn_end):
        """The characters that the template marks, of chosen messages."""
        cdef list spans = []
        cdef Py_ssize_t i, start = -1, begin = 0, written = -1, message
        cdef bint is_chosen = True, is_marked
        for i in range(self.count + 1):
            is_marked = i < self.count and self.origins[i] & GENERATED
            if is_marked and start < 0:
                start, written, is_chosen = begin, -1, True
            elif not is_marked and start >= 0:
                if is_chosen:
                    spans.append((start, begin if turn_end or written < 0 else written))
                start = -1
            if i == self.count:
                break
            begin = self.ends[i]
            message = (self.origins[i] >> SHIFT) - 1
            if is_marked and message >= 0:
                written = begin
                is_chosen = is_chosen and chosen[message]
        return spans

    def rows(
        self, const int64_t[:, ::1] places not None: npt.NDArray[np.int64], list spans not None: list[tuple[int, int]]
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
        """1 for each id that touches a span, and the message of its first character that is of one, or -1."""
        cdef Py_ssize_t n = places.shape[0], i, run = 0, at, span = 0, span_count = len(spans)
        mask, message_of = np.zeros(n, np.uint8), np.empty(n, np.int32)
        bounds = np.array(spans, np.int64).reshape(-1, 2)
        cdef const int64_t[:, ::1] within = bounds
        cdef uint8_t[::1] masks = mask
        cdef int32_t[::1] messages = message_of
        cdef int64_t start, end
        for i in range(n):
            start, end = places[i, 0], places[i, 1]
            while run > 0 and self.ends[run - 1] > start:
                run -= 1
            while run + 1 < self.count and self.ends[run] <= start:
                run += 1
            while span > 0 and within[span - 1, 1] > start:
                span -= 1
            while span < span_count and within[span, 1] <= start:
                span += 1
            masks[i] = span < span_count and within[span, 0] < end
            at = run
            messages[i] = -1
            while at < self.count:
                if self.origins[at] >> SHIFT:
                    messages[i] = <int32_t>((self.origins[at] >> SHIFT) - 1)
                    break
                if self.ends[at] >= end:
                    break
                at += 1
        return mask, message_of


cdef class SpanWriter:
    """Finds what one message after another wrote."""
    cdef str text, begins
    cdef Turn turn
    cdef bint turn_end
    cdef list spans
    cdef Py_ssize_t done  # the end of the last one

    def __cinit__(self, str text not None, Turn turn not None, bint turn_end):
        self.text, self.begins, self.turn = text, turn.begins, turn
        self.turn_end, self.spans, self.done = turn_end, [], -1

    cdef int write(self, Py_ssize_t start, Py_ssize_t stop, list fields) except -1:
        """Add what a message wrote: its `fields`, after the message before, which ends at `start`, and before `stop`."""
        cdef Py_ssize_t first = fields[0][0] if fields else stop, done, begin, end, at, again
        cdef Py_ssize_t header = self.text.rfind(self.begins, start, first) if self.begins else -1
        if not fields and header < 0:
            return 0
        begin = header + len(self.begins) if header >= 0 else first
        done = fields[0][1] if fields else begin
        for next_begin, end in fields[1:]:
            at = self.result_in(done, next_begin)
            if at >= 0:  # a template repeats the name of a call with its result, within the turn
                return self.add_span(begin, done + len(self.text[done:at].rstrip()))
            at = self.turn.next_header(self.text, done, next_begin)
            if at < <Py_ssize_t>next_begin and not self.text.startswith(self.begins, at):
                # the turn is over, and a header of another one repeats a field of this message
                self.add(begin, done, at)
                again = self.text.rfind(self.begins, at, next_begin)
                if again < 0:
                    return 0
                begin = again + len(self.begins)
            done = end
        return self.add(begin, done, self.turn.next_header(self.text, done, stop))

    cdef int add(self, Py_ssize_t begin, Py_ssize_t done, Py_ssize_t stop) except -1:
        """Add the text from `begin` to the end of the turn, which is after `done` and before `stop`."""
        cdef Py_ssize_t end = done
        found = self.turn.end_of(self.text, done, stop)
        if found is not None:
            end = found[1] if self.turn_end else found[0]
        return self.add_span(begin, end)

    cdef int write_empty(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t count) except -1:
        """Add the ends of turns in which so many chosen messages wrote nothing, after their headers."""
        cdef Py_ssize_t header
        if not self.turn_end or not self.begins:
            return 0
        for _ in range(count):
            header = self.text.find(self.begins, start, stop)
            if header < 0:
                break
            start = header + len(self.begins)
            found = self.turn.end_of(self.text, start, self.turn.next_header(self.text, start, stop))
            if found is not None:
                self.add_span(start, found[1])
        return 0

    cdef Py_ssize_t result_in(self, Py_ssize_t start, Py_ssize_t stop) except -2:
        """Where the tag before the result of a tool is, which no model writes; -1 if there is none."""
        if self.text.find("tool_", start, stop) < 0:
            return -1
        return min([at for tag in RESULTS if (at := self.text.find(tag, start, stop)) >= 0], default=-1)

    cdef int add_span(self, Py_ssize_t begin, Py_ssize_t end) except -1:
        if begin < end:
            if begin <= self.done:
                begin = self.spans.pop()[0]
            self.spans.append((begin, end))
            self.done = end
        return 0
