"""The states of a deterministic automaton that finds the matches which a backtracking search finds.

A state is the list of nodes that can be reached, in the order in which a backtracking search tries them (Cox, 2010,
calls them threads).  When a node that ends a match is in the list, the nodes after it are dropped, because the search
prefers that match.  A state is resolved only when the next character, or the end of the text, is known, so conditions
on that character are free.  `$` may also be true before a line feed at the end of the text; its threads wait for one
more character.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import product
from typing import Generic, TypeVar

from .automaton_nodes import MATCH, SEARCH_START, WAITING, Condition, Nodes
from .automaton_tables import TransitionRows
from .character_sets import Partition
from .regex_tree import UnsupportedRegexError

#: The most states and transitions of an automaton, and steps for building it (about 0.4 s), or fewer where a search can
#: make the states that it needs (0.03 s).
MOST_STATES, MOST_TRANSITIONS, MOST_STEPS, FEW_STEPS = 4096, 1_000_000, 1_000_000, 80_000
# duties of a thread
_FREE, _BEFORE_LAST, _AT_END = 0, 1, 2  # none; the next character is a line feed that ends the text; the text ends


class TooManyStatesError(UnsupportedRegexError):
    """An automaton has too many states to make them all."""


Thread = TypeVar("Thread")
#: A state: the conditions on the character before that are true, whether an empty match is refused, and the threads.
State = tuple[int, bool, tuple[Thread, ...]]


class Determinizer(ABC, Generic[Thread]):
    """Builds the states of an automaton; classes of characters are those of `parts`, and the last is the end.

    A symbol is a class, with which lookarounds are true before it: of the first `look_count`, as bits.  Its number is
    the class plus the bits times the number of classes and the end.
    """

    most_steps = MOST_STEPS

    def __init__(self, nodes: Nodes, parts: Partition, look_count: int) -> None:
        self.nodes, self.within = nodes, parts.within
        self.count = len(parts.within[0])
        self.choices = 1 << look_count
        self.asked = sum({1 << found // 2 for found in nodes.found if found >= 0})
        looks = sorted({look for look in nodes.look if look is not None})
        self.behind = [look for look in looks if look[1]]
        self.ahead = [look for look in looks if not look[1]]
        self.waits = any(nodes.ends_line)
        self.goes_on = SEARCH_START in nodes.found
        self.steps = 0
        self.profiles = self.symbols()
        self.befores = [self.before(at) for at in range(self.count + 1)]

    def holds(self, look: Condition, at: int) -> bool:
        """Return whether a condition is true of a class of characters, or of the edge of the text."""
        number, _, edge = look
        if at == self.count:
            return edge
        return self.within[number][at] if number >= 0 else not self.within[-1 - number][at]

    def before(self, at: int) -> int:
        """Return the conditions that are true after a class of characters, or at the beginning, as bits."""
        return sum(self.holds(look, at) << number for number, look in enumerate(self.behind))

    def symbols(self) -> list[tuple[list[int], list[int]]]:
        """Return the symbols grouped by the conditions that are true before them.

        A group has the multiples of the width of a row to which each of its classes is added.
        """
        classes: dict[tuple[int, ...], list[int]] = {}
        for at in range(self.count + 1):
            is_feed = self.waits and at < self.count and self.within[0][at]
            key = (at == self.count, is_feed, *(self.holds(look, at) for look in self.ahead))
            classes.setdefault(key, []).append(at)
        choices: dict[int, list[int]] = {}
        for bits in range(self.choices):
            choices.setdefault(bits & self.asked, []).append(bits * (self.count + 1))
        return list(product(choices.values(), classes.values()))

    def transitions(self, state: State[Thread]) -> Iterator[tuple[list[int], int, State[Thread] | None, int]]:
        """Yield the multiples of the width of a row and a class, the next state there, and where a match ends."""
        for choices, classes in self.profiles:
            threads = self.closed(state, choices[0] + classes[0])
            if classes[0] == self.count:
                yield choices, self.count, None, self.ended(threads)
                continue
            for at, (ends_here, moved) in zip(classes, self.moved(threads, classes), strict=True):
                yield choices, at, (self.befores[at], False, moved) if moved else None, ends_here

    def starts(self, start: int, *, nullable: bool) -> list[list[State[Thread]]]:
        """Return the first states, as `TransitionRows.starts` has them."""
        here = self.goes_on << len(self.behind)  # where the search begins
        kinds = [(here, False), (here, True)] if nullable or self.goes_on else [(here, False)]
        return [
            [(bits | at, refuses, self.first(start)) for bits in self.first_befores(self.befores)]
            for at, refuses in (*kinds, *([(0, False)] if self.goes_on else ()))
        ]

    def rows(self, start: int, *, nullable: bool) -> TransitionRows:
        """Return the transitions of all states that can be reached; raises `TooManyStatesError`."""
        numbers: dict[State[Thread], int] = {}
        width = self.count + 1
        starts = [
            [numbers.setdefault(state, len(numbers)) for state in states]
            for states in self.starts(start, nullable=nullable)
        ]
        table: list[list[tuple[int, int]]] = []
        queue = list(numbers)
        for state in queue:  # grows
            row = [(-1, 0)] * (width * self.choices)
            for choices, at, new, end in self.transitions(state):
                number = -1
                if new is not None:
                    number = numbers.setdefault(new, len(numbers))
                    if number == len(queue):
                        queue.append(new)
                for choice in choices:
                    row[choice + at] = (number, end)
            table.append(row)
            entries = len(numbers) * self.count * self.choices
            if len(numbers) > MOST_STATES or entries > MOST_TRANSITIONS or self.steps > self.most_steps:
                raise TooManyStatesError("too many states of its automaton")
        return TransitionRows(table, starts, self.choices, bool(self.behind), nullable, self.goes_on)

    def first_befores(self, befores: list[int]) -> list[int]:
        """Return the conditions before a first state, by the class of the character before it."""
        return befores

    def is_true(self, node: int, before: int, bits: int, after: int) -> bool:
        """Return whether the condition of a node, if it has one, is true."""
        look, awaited = self.nodes.look[node], self.nodes.found[node]
        if awaited == SEARCH_START:
            return bool(before >> len(self.behind))
        if awaited >= 0:
            return bits >> awaited // 2 & 1 != awaited % 2
        if look is None:
            return True
        return bool(before >> self.behind.index(look) & 1) if look[1] else self.holds(look, after)

    @abstractmethod
    def first(self, start: int) -> tuple[Thread, ...]:
        """Return the threads of a first state."""

    @abstractmethod
    def closed(self, state: State[Thread], symbol: int) -> list[Thread]:
        """Return the threads that read a character or end a match, given the next symbol, in order."""

    @abstractmethod
    def ended(self, threads: list[Thread]) -> int:
        """Return where a match ends at the end of the text: 0 for none, 1 there, 2 before the last line feed."""

    @abstractmethod
    def moved(self, threads: list[Thread], group: list[int]) -> Iterator[tuple[int, tuple[Thread, ...]]]:
        """Yield, for each class of a group, whether a match ends before it, and the threads after it."""


class Searcher(Determinizer[int]):
    """Builds the states of a regex without atomic groups; a thread is three times its node, plus its duty."""

    most_steps = FEW_STEPS

    def first(self, start: int) -> tuple[int, ...]:
        """Return the threads of a first state."""
        return (3 * start,)

    def closed(self, state: State[int], symbol: int) -> list[int]:
        """Return the threads that read a character or end a match, given the next symbol, in order."""
        before, refuses, threads = state
        bits, after = divmod(symbol, self.count + 1)
        stack = [*reversed(threads)]
        seen: set[int] = set()
        found: list[int] = []
        nodes, at_end, at_feed = self.nodes, after == self.count, after < self.count and self.within[0][after]
        while stack:
            thread = stack.pop()
            self.steps += 1
            node, duty = divmod(thread, 3)
            if thread in seen or (duty == _AT_END and not at_end) or (duty == _BEFORE_LAST and not at_feed):
                continue
            seen.add(thread)
            if node == MATCH and duty == _BEFORE_LAST:
                if not refuses:
                    found.append(3 * WAITING + duty)
            elif node <= WAITING:
                if refuses and node == MATCH:
                    continue
                found.append(thread)
                if (node == MATCH or duty == _AT_END) and not nodes.marks:
                    break
            elif nodes.chosen[node] >= 0:
                found.append(thread)
            elif nodes.ends_line[node]:
                if at_end or at_feed:
                    stack.append(3 * nodes.follow[node][0] + (duty if at_end else _BEFORE_LAST))
            elif self.is_true(node, before, bits, after):
                stack += [3 * each + duty for each in reversed(nodes.follow[node])]
        return found

    def ended(self, threads: list[int]) -> int:
        """Return where a match ends at the end of the text: 0 for none, 1 there, 2 before the last line feed."""
        for thread in threads:
            if thread // 3 <= WAITING:
                return 1 if thread // 3 == MATCH else 2
        return 0

    def moved(self, threads: list[int], group: list[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield, for each class of a group, whether a match ends before it, and the threads after it."""
        nodes = self.nodes
        ends_here = int(bool(threads) and threads[-1] // 3 == MATCH)
        readers = threads[:-1] if ends_here else threads
        moves = [
            (
                self.within[nodes.chosen[thread // 3] if thread // 3 > WAITING else 0],
                3 * (nodes.follow[thread // 3][0] if thread // 3 > WAITING else WAITING)
                + (_AT_END if thread % 3 else _FREE),
            )
            for thread in readers
        ]
        self.steps += len(moves) * len(group)
        if len(moves) == 1:
            within, new = moves[0]
            one = (new,)
            for at in group:
                yield ends_here, one if within[at] else ()
            return
        for at in group:
            yield ends_here, tuple(dict.fromkeys([new for within, new in moves if within[at]]))


class Marker(Searcher):
    """Builds the states of a lookaround's automaton: a match may begin anywhere, and each place where one ends counts.

    Its first state is that at the edge of the text, and the threads of a state are in the order of their numbers.
    """

    def __init__(self, nodes: Nodes, start: int, parts: Partition, look_count: int) -> None:
        super().__init__(nodes, parts, look_count)
        self.start = start

    def first_befores(self, befores: list[int]) -> list[int]:
        """Return the conditions at the edge of the text alone."""
        return befores[-1:]

    def closed(self, state: State[int], symbol: int) -> list[int]:
        """Return the threads as for a search; the one that ends a match comes last."""
        return sorted(super().closed(state, symbol), reverse=True)

    def moved(self, threads: list[int], group: list[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield what a search does, with a thread that begins there."""
        for ends_here, moved in super().moved(threads, group):
            yield ends_here, tuple(sorted({*moved, 3 * self.start}))
