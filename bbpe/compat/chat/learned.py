"""The characters of a chat that its assistant wrote, which a model learns.

They are the fields of chosen messages, and the template's literals between two fields of one message: tags of thoughts
and of tool calls.  The header before a message is none of them; the generation prompt tells where a header ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from ...lazy import lazy_re
from ...records import dataclass
from .origins import GENERATED, HEADER, SHIFT

#: The tags before the result of a tool, which no model writes.
_RESULT = lazy_re(r"<\|?tool_(?:response|output|result)")
#: Starts and ends of characters, in order.
Spans: TypeAlias = list[tuple[int, int]]


@dataclass(frozen=True)
class Turn:
    """How a template writes the turns of the assistant.

    `begins` is its header, the beginning of the generation prompt, and `opens` the token that any header begins with;
    both are empty where a template has none.  `ends` are the tokens after its texts, and `next_token` finds the next
    special token in a text from a place up to another one: its start and end.
    """

    begins: str
    opens: str
    ends: tuple[str, ...]
    next_token: Callable[[str, int, int], tuple[int, int] | None]

    def end_of(self, text: str, start: int, stop: int) -> tuple[int, int] | None:
        """Return the place of the token that ends a turn, the first one after the text of the assistant."""
        places = [(at, at + len(end)) for end in self.ends if (at := text.find(end, start, stop)) >= 0]
        if places:
            first = min(places)[0]
            return first, max(end for at, end in places if at == first)
        return self.next_token(text, start, stop) if self.opens else None

    def next_header(self, text: str, start: int, stop: int) -> int:
        """Return where the next header begins, or `stop`."""
        at = text.find(self.opens, start, stop) if self.opens else -1
        return stop if at < 0 else at


@dataclass(frozen=True)
class _Region:
    """The text about one message: from the end of the message before to the beginning of the next one.

    `first` and `last` are the beginning and the end of what is of the message itself, its role too.
    """

    message: int
    start: int
    stop: int
    fields: Spans
    first: int
    last: int


def learned_spans(
    text: str, runs: Sequence[tuple[int, int]], chosen: Sequence[bool], turn: Turn, turn_end: bool
) -> Spans:
    """Return the characters that chosen messages wrote."""
    if any(origin & GENERATED for _, origin in runs):
        return _marked_spans(runs, chosen, turn_end)
    regions = list(_regions(runs))
    found = [span for region in regions if chosen[region.message] for span in _written(text, region, turn, turn_end)]
    if turn_end:
        found = sorted([*found, *_empty_turns(text, regions, chosen, turn)])
    spans: Spans = []
    for start, end in found:
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        elif start < end:
            spans.append((start, end))
    return spans


def _regions(runs: Sequence[tuple[int, int]]) -> Iterator[_Region]:
    message, start, begin, first, last = -1, 0, 0, 0, 0
    fields: Spans = []
    for end, origin in runs:
        number = (origin >> SHIFT) - 1
        if number >= 0:
            if number != message:
                if message >= 0:
                    yield _Region(message, start, begin, fields, first, last)
                message, start, fields, first = number, last, [], begin
            if not origin & HEADER:
                fields.append((begin, end))
            last = end
        begin = end
    if message >= 0:
        yield _Region(message, start, begin, fields, first, last)


def _empty_turns(
    text: str, regions: Sequence[_Region], chosen: Sequence[bool], turn: Turn
) -> Iterator[tuple[int, int]]:
    """Yield the ends of turns in which chosen messages wrote nothing, after their headers."""
    if not turn.begins:
        return
    before, start = -1, 0
    for message, first, last in [
        *((region.message, region.first, region.last) for region in regions), (len(chosen), len(text), len(text)),
    ]:  # fmt: skip
        at = start
        for _ in range(sum(chosen[before + 1 : message])):
            header = text.find(turn.begins, at, first)
            if header < 0:
                break
            at = header + len(turn.begins)
            end = turn.end_of(text, at, turn.next_header(text, at, first))
            if end is not None:
                yield at, end[1]
        before, start = max(before, message), last


def _written(text: str, region: _Region, turn: Turn, turn_end: bool) -> Iterator[tuple[int, int]]:
    fields = region.fields
    first = fields[0][0] if fields else region.stop
    header = text.rfind(turn.begins, region.start, first) if turn.begins else -1
    if not fields:
        if header < 0:
            return
        fields = [(header + len(turn.begins),) * 2]
    start = header + len(turn.begins) if header >= 0 else fields[0][0]
    done = fields[0][1]
    for begin, end in fields[1:]:
        at = turn.next_header(text, done, begin)
        result = _RESULT.search(text, done, begin)
        if result is not None and result.start() < at:
            # a template repeats the name of a call with its result, within the turn
            yield start, done + len(text[done : result.start()].rstrip())
            return
        if at < begin and not text.startswith(turn.begins, at):
            # the turn is over, and a header of another one repeats a field of this message
            yield from _ended(text, start, done, at, turn, turn_end)
            again = text.rfind(turn.begins, at, begin)
            if again < 0:
                return
            start = again + len(turn.begins)
        done = end
    yield from _ended(text, start, done, turn.next_header(text, done, region.stop), turn, turn_end)


def _ended(text: str, start: int, done: int, stop: int, turn: Turn, turn_end: bool) -> Iterator[tuple[int, int]]:
    found = turn.end_of(text, done, stop)
    yield start, done if found is None else found[1] if turn_end else found[0]


def _marked_spans(runs: Sequence[tuple[int, int]], chosen: Sequence[bool], turn_end: bool) -> Spans:
    """Return the characters that the template itself marks, of chosen messages."""
    spans: Spans = []
    begin = 0
    messages: list[int] = []
    written = 0
    for end, origin in (*runs, (runs[-1][0], 0)):
        if origin & GENERATED:
            if not messages:
                spans.append((begin, end))
                messages.append(-1)
            spans[-1] = (spans[-1][0], end)
            if origin >> SHIFT:
                messages.append((origin >> SHIFT) - 1)
                written = end
        elif messages:
            if len(messages) > 1 and not turn_end:
                spans[-1] = (spans[-1][0], written)
            if not all(chosen[number] for number in messages if number >= 0):
                spans.pop()
            messages = []
        begin = end
    return spans
