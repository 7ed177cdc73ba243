"""MadeStates of an automaton with too many states to make them all: a search makes those it comes to.

A search keeps its rows in memory of one size.  When that is full they are dropped, except the first states and the one
the search is in.  So time is linear in the text, and memory is bounded.

    rows 0 and 1 | states, beginning with the first ones | states before which a match ends
                                                         first_ending
"""

from __future__ import annotations

from array import array
from typing import Generic

from .automaton_states import Determinizer, State, Thread, TooManyStatesError
from .automaton_tables import PackedRows

#: Entries of the rows of a search, each of four bytes, and states whose transitions are kept for the next search.
MOST_ENTRIES, MOST_KEPT = 1 << 20, 1 << 15
#: In place of an entry, and of one at the end of the text: its row is not made yet.
UNMADE, UNMADE_END = 1, 3

#: A transition: the columns of a row, the next state and where a match ends.
Transition = tuple[tuple[int, ...], State[Thread] | None, int]


class StateMaker(Generic[Thread]):
    """Makes the rows of the states of a searcher; any number of searches share it."""

    def __init__(self, searcher: Determinizer[Thread], starts: list[list[State[Thread]]]) -> None:
        self.searcher = searcher
        self.first = list(dict.fromkeys(state for states in starts for state in states))
        self.width = searcher.count + 1
        self.row = self.width * searcher.choices
        self.entries = MOST_ENTRIES
        self.first_ending = self.entries // 2 // self.row * self.row
        if (len(self.first) + 3 + self.row) * self.row > self.first_ending:
            raise TooManyStatesError("too many first states of its automaton")
        self._kept: dict[State[Thread], list[Transition[Thread]]] = {}

    def packed(self, starts: list[list[State[Thread]]], *, nullable: bool) -> PackedRows:
        """Return what a search needs beside the rows."""
        offsets = {state: (2 + number) * self.row for number, state in enumerate(self.first)}
        return PackedRows(
            b"", self.first_ending, tuple(offsets[state] for states in starts for state in states),
            bytes(map(self.is_idle, range(self.width - 1))), self.width, self.entries // self.row, nullable,
            bool(self.searcher.behind), self.searcher.goes_on, self,
        )  # fmt: skip

    def begun(self) -> MadeStates[Thread]:
        """Return the rows of another search."""
        return MadeStates(self)

    def transitions(self, state: State[Thread]) -> list[Transition[Thread]]:
        """Return the transitions of a state."""
        found = self._kept.get(state)
        if found is None:
            found = [
                (tuple(choice + at for choice in choices), new, end)
                for choices, at, new, end in self.searcher.transitions(state)
            ]
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[state] = found
        return found

    def is_idle(self, at: int) -> bool:
        """Return whether no match begins before a character of a class."""
        return all(
            new is None and not end
            for state in self.first
            for columns, new, end in self.transitions(state)
            if columns[0] % self.width == at
        )


class MadeStates(Generic[Thread]):
    """The rows of one search; `entries` is the memory that it reads."""

    def __init__(self, maker: StateMaker[Thread]) -> None:
        self.maker = maker
        self.entries = memoryview(bytearray(4 * maker.entries)).cast("I")
        classes = [UNMADE] * (maker.width - 1)
        self._unmade = array("I", [*classes, UNMADE_END] * maker.searcher.choices)
        self._drop()

    def make(self, at: int) -> tuple[int, bool]:
        """Make the row of a state by its first entry; returns where it is now, and whether all others are dropped."""
        state, ends, dropped = self._states[at], at >= self.maker.first_ending, False
        room = self.maker.row * self.maker.row  # no row leads to more states
        if self._next[0] + room > self.maker.first_ending or self._next[1] + room > len(self.entries):
            self._drop()
            at, dropped = self._place(state, ends), True
        row = array("I", bytes(4 * self.maker.row))
        for columns, new, end in self.maker.transitions(state):
            if new is not None:
                entry = self._place(new, bool(end))
            else:  # no way on, or the end of the text
                is_end = columns[0] % self.maker.width == self.maker.width - 1
                entry = end if is_end else end * self.maker.row
            for column in columns:
                row[column] = entry
        self.entries[at : at + self.maker.row] = row
        return at, dropped

    def _drop(self) -> None:
        self._next = [2 * self.maker.row, self.maker.first_ending]
        self._places: dict[tuple[State[Thread], bool], int] = {}
        self._states: dict[int, State[Thread]] = {}
        for state in self.maker.first:
            self._place(state, ends=False)

    def _place(self, state: State[Thread], ends: bool) -> int:
        """Return the first entry of the row of a state, which is new or known."""
        at = self._places.get((state, ends))
        if at is None:
            at = self._places[state, ends] = self._next[ends]
            self._next[ends] += self.maker.row
            self._states[at] = state
            self.entries[at : at + self.maker.row] = self._unmade
        return at
