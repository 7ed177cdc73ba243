"""The arrays for an automaton with too many states, which csrc/pipeline/state_maker.c makes as a search needs them."""

from __future__ import annotations

from array import array
from itertools import chain

from ..records import dataclass
from .automaton_nodes import Condition
from .automaton_states import Determinizer, Marker, State, TooManyStatesError
from .automaton_tables import PackedRows

#: Entries of the rows of a search, each of four bytes, and its states.
MOST_ENTRIES, MOST_STATES = 1 << 20, 1 << 14
#: States that a search has room for beside its first ones, at least.
_LEAST_ROOM = 4


@dataclass(frozen=True)
class StateMaker:
    """The nodes of an automaton as arrays of bytes, and what a search needs to make its states.

    `nodes` (int32): seven numbers for each, as in `bbpe_state_node`.  `follow` (int32): the nodes after each.  `within`
    and `holds`: whether a class is in a set, and whether a condition on the next character is true of a class or the
    end.  `befores` and `first_befores` (uint32): the conditions on the character before, as bits, by class and by first
    state.  `first_refuses`: whether a first state refuses an empty match.

    `begins_empty`: a match may be empty where a text begins that is not empty.
    """

    nodes: bytes
    follow: bytes
    within: bytes
    holds: bytes
    befores: bytes
    first_befores: bytes
    first_refuses: bytes
    width: int
    row: int
    entries: int
    first_ending: int
    most_states: int
    start: int
    behind_count: int
    marks: bool
    begins_empty: bool


def made_rows(searcher: Determinizer[int], start: int, *, nullable: bool) -> PackedRows:
    """Return what stands for the rows of a searcher that has too many states to make them all."""
    starts = searcher.starts(start, nullable=nullable)
    first = list(dict.fromkeys(state for states in starts for state in states))
    width, row = searcher.count + 1, (searcher.count + 1) * searcher.choices
    first_ending = MOST_ENTRIES // 2 // row * row
    if (2 + len(first) + _LEAST_ROOM) * row > first_ending:
        raise TooManyStatesError("too many first states of its automaton")
    numbers = {look: number for number, look in enumerate(searcher.ahead)}
    offsets = {state: (2 + number) * row for number, state in enumerate(first)}
    maker = StateMaker(
        *_packed_nodes(searcher, numbers),
        b"".join(bytes(within).ljust(width, b"\0") for within in searcher.within),
        bytes(searcher.holds(look, at) for look in searcher.ahead for at in range(width)),
        array("I", searcher.befores).tobytes(), array("I", [before for before, _, _ in first]).tobytes(),
        bytes(refuses for _, refuses, _ in first), width, row, MOST_ENTRIES, first_ending,
        max(MOST_STATES, len(first) + _LEAST_ROOM), start, len(searcher.behind), isinstance(searcher, Marker),
        _begins_empty(searcher, starts[0][-1]),
    )  # fmt: skip
    return PackedRows(
        b"", first_ending, tuple(offsets[state] for states in starts for state in states), _idle(searcher, first),
        width, MOST_ENTRIES // row, nullable, bool(searcher.behind), searcher.goes_on, maker,
    )  # fmt: skip


def _packed_nodes(searcher: Determinizer[int], ahead: dict[Condition, int]) -> tuple[bytes, bytes]:
    """Return the nodes and those that follow them, as `StateMaker` has them."""
    nodes, rows, follow = searcher.nodes, array("i"), array("i", chain.from_iterable(searcher.nodes.follow))
    at = 0
    for number, after in enumerate(nodes.follow):
        look = nodes.look[number]
        behind = searcher.behind.index(look) if look is not None and look[1] else -1
        rows.extend((nodes.chosen[number], nodes.found[number], behind, -1 if look is None else ahead.get(look, -1)))
        rows.extend((nodes.ends_line[number], at, at + len(after)))
        at += len(after)
    return rows.tobytes(), follow.tobytes()


def _begins_empty(searcher: Determinizer[int], state: State[int]) -> bool:
    """Return whether a match may end before the character after a state."""
    return any(end for _, at, _, end in searcher.transitions(state) if at < searcher.count)


def _idle(searcher: Determinizer[int], first: list[State[int]]) -> bytes:
    """Return for each class whether no match begins before it."""
    idle = bytearray(b"\1" * (searcher.count + 1))
    for state in first:
        for _, at, new, end in searcher.transitions(state):
            idle[at] &= new is None and not end
    return bytes(idle[:-1])
